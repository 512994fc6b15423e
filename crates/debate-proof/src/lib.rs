//! Proof for auditors (rule K15): what shows, to somebody who trusts neither the store nor its operator, that no debate
//! was changed, cut short or taken away.
//!
//! A [`leaf`] says that a stream stood at a sequence number with a hash. [`leaves`] are all of them, in the order in
//! which they were recorded: a list that only grows, and so a [`tree`] with proofs of inclusion and of consistency. A
//! [`checkpoint`] is the signed root of that tree, a [`note`] in the format of transparency logs, by a [`key`]. A
//! [`bundle`] is debates exact to the byte with what proves them. The bytes of each are specified in `docs/audit.md`.
//!
//! Nothing here reads a file, a clock or a store, or draws a number.

pub mod bundle;
pub mod checkpoint;
mod excerpt;
pub mod key;
pub mod leaf;
pub mod leaves;
pub mod note;
pub mod tree;
