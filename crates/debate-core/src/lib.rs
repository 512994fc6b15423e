//! The pure kernel of structured debates.

pub mod chain;
pub mod envelope;
pub mod id;
pub mod measures;
