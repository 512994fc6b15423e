//! The formats, and the one place that knows them all by name.

pub mod accept;
pub mod any;
pub mod deliberation;
pub mod investigation;
pub mod moves;
pub mod prediction;
pub mod review;
pub mod roundtable;
