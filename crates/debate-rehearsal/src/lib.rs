//! Debates in virtual time: the engine as it is holds whole debates on a clock that stands still while anything runs,
//! so that nothing but schedule, races and latencies counts. Latencies are drawn, answers are made up by the simulated
//! model; no provider is asked and nothing is stored.

mod error;
mod late;
mod latencies;
mod rehearsal;
mod resettable_store;
mod stage;
mod summary;

pub use error::RehearsalError;
pub use late::Late;
pub use latencies::{Latencies, Recorded};
pub use rehearsal::{Rehearsal, RoundtableTools, Way};
pub use stage::{Held, engine, held, open};
pub use summary::{Summary, percentile};
