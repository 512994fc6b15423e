//! The engine: one owner and one loop per debate, many debates in a process, recovery by replay.
//!
//! It knows no format by name and no rules; it starts what the kernel wants, appends what the kernel decides, and
//! lets people follow, control and check debates. It never touches SQL, wire types or prompts' texts.

pub mod binding;
mod control;
mod driver;
pub mod engine;
mod engine_shared;
mod env;
mod exporting;
mod finding;
mod fork;
mod format_runtime;
mod hedging;
mod in_flight;
mod journal;
mod keeping;
mod leasing;
mod lineage;
mod live;
mod paging;
pub mod policy;
mod pricing;
pub mod redaction;
mod room;
mod schemas;
mod send_time;
pub mod sent_prompt;
mod shared_reads;
pub mod start;
mod tail;
mod telemetry;
mod tenant;
pub mod thinking;
pub mod tools;
mod turn;
pub mod verify;
pub mod watch;

pub use debate_core::prices::{Price, Prices};
pub use debate_llm::fair_semaphore::FairSemaphore;
/// The texts of prompts (rule P24), for interfaces that return them.
pub use debate_prompts::catalog as prompt_catalog;

pub use binding::Unoffered;
pub use control::{Control, ControlError};
pub use driver::{DriveError, Ended};
pub use engine::{Engine, EngineBuilder, LIFECYCLE_KINDS, NotReady};
pub use engine_shared::{HEARTBEAT, Settings};
pub use env::Env;
pub use exporting::{exported_events, exported_streams, withhold_redacted};
pub use fork::{Fork, ForkError};
pub use hedging::{Hedge, Hedging};
pub use journal::LoadError;
pub use leasing::Sharing;
pub use live::Chunk;
pub use paging::{Pages, fitting};
pub use policy::{Accepted, FolderError, PolicyError, Proposed, ReviewersFolder, Window};
pub use redaction::{Redact, Redaction, RedactionError, finish_redactions};
pub use sent_prompt::{Finding, SentPrompt, SentPromptError};
pub use start::{Start, StartError, Started};
pub use tenant::{Resumable, Tenant};
pub use tools::Tool;
pub use verify::{Fault, Verification};
pub use watch::{WatchError, Watched};
