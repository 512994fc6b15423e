//! What every Rust peer does alike: the 31 calls of a debate, the order in which they may run, the recorded prompts,
//! the loop that keeps so many debates in flight, and measuring the process. It sends nothing itself.

mod arguments;
mod calls;
mod flight;
mod measure;
mod plan;
mod tape;

pub use arguments::Arguments;
pub use calls::{CALLS, Call, ROLES, ROUNDS};
pub use flight::{fly, report};
pub use plan::{Plan, Schedule};
pub use tape::{NUMBER, Recorded, Tape, numbered, with_number};
