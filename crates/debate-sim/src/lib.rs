//! The whole system on one thread from one seed: a store that fails, a model that fails, crashes, a second engine on
//! the same log. Every run is checked for what must stay true; a run that breaks it names its seed, and the same seed
//! repeats it exactly.
//!
//! Time is simulated and jumps; nothing here waits, reads a clock or draws a number that does not follow from the seed.

pub mod check;
pub mod clock;
pub mod conduct;
pub mod difference;
pub mod ledger;
pub mod model;
pub mod probe;
pub mod run;
pub mod scenario;
pub mod stage;
pub mod store;
pub mod subject;
pub mod watched;
pub mod world;
pub mod writer;
