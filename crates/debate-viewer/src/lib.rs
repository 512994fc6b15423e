//! The page for people: a list of debates, one debate live or as it was at any event, two debates compared, and what
//! an auditor asks for. The front end is embedded; nothing is fetched from elsewhere.
//!
//! What a page shows is computed from the log through the core, alike for every format; no rule is said again here.
//! It changes no debate, and who looks costs a debate nothing: a page reads the store.

mod assets;
pub mod calibration;
mod calls;
mod debate_page;
mod decision;
mod events;
mod follow;
mod listing;
mod log;
mod log_cache;
mod prompt;
mod proof;
mod refused;
mod report;
mod routes;
mod run_blocking;
mod said;
pub mod wording;

pub use debate_page::DebatePage;
pub use decision::Decision;
pub use log::Log;
pub use prompt::{PromptShown, Rendered, Spoken};
pub use report::Report;
pub use routes::{Viewer, viewer};
