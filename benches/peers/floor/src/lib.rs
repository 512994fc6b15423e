//! What the floors share.

mod log;

pub use log::Log;
