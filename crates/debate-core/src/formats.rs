//! The formats, and the one place that knows them all by name.

pub mod prediction;
