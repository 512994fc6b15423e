//! Roundtables as tools of the Model Context Protocol (rule T12), over stdio and, behind the server's auth layer, over HTTP.
//!
//! Everything goes through a caller's session, as it does over gRPC and REST: nothing here knows the engine or the store, and
//! nothing is kept between two requests. What a tool takes and gives stands in one table, `tools.rs`.

mod arguments;
mod carrying;
mod following;
mod layers;
mod logs;
mod server;
mod tools;

pub use server::{INTERFACE, Roundtables, StreamError, mount, serve_stdio, serve_stream};
