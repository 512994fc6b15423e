//! Replies that were cut, and what is taken of them (rules K18, P27).

mod debates;
mod formats;
mod material;
mod outcomes;
mod partial;
mod reader;
