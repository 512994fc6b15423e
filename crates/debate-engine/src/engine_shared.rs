//! What all debates of one process share: the store, the model, tools, limits, the way to shut down.

use std::sync::Arc;
use std::time::Duration;

use debate_core::prices::Prices;
use debate_llm::fair_semaphore::FairSemaphore;
use debate_llm::{CallTime, Models};
use debate_store::EventStore;
use tokio_util::sync::CancellationToken;

use crate::env::Env;
use crate::hedging::{Hedging, Races};
use crate::leasing::Leasing;
use crate::policy::OneAtATime;
use crate::room::Windows;
use crate::schemas::Schemas;
use crate::shared_reads::SharedReads;
use crate::thinking::Paces;
use crate::tools::Tools;

/// The longest silence on a stream before a heartbeat, by default.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// The limits of one process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Debates driven at once; more wait their turn, and turns go to the tenants in a ring.
    pub debates_max: usize,
    /// Debates driven or waiting. Once there are so many, only tenants with less than an equal share of them may add
    /// more, so that no tenant is shut out by others; all together have at most twice as many.
    pub debates_held_max: usize,
    /// Requests to models at once; more wait their turn, and turns go to the tenants in a ring.
    pub calls_max: usize,
    /// The time for one request to a model, which begins when it leaves (rule K22).
    pub call_time: CallTime,
    /// The most time for one run of a tool.
    pub tool_timeout: Duration,
    /// The longest silence on a watch before a heartbeat.
    pub heartbeat: Duration,
    /// How slow requests are raced.
    pub hedging: Hedging,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            debates_max: 1_000,
            debates_held_max: 10_000,
            calls_max: 5_000,
            call_time: CallTime::default(),
            tool_timeout: Duration::from_secs(20),
            heartbeat: HEARTBEAT,
            hedging: Hedging::default(),
        }
    }
}

/// What all debates of one process share.
pub(crate) struct EngineShared {
    pub(crate) store: Arc<dyn EventStore>,
    pub(crate) models: Models,
    pub(crate) prices: Prices,
    pub(crate) tools: Tools,
    pub(crate) settings: Settings,
    pub(crate) env: Env,
    pub(crate) actor: String,
    pub(crate) leasing: Option<Leasing>,
    pub(crate) calls: FairSemaphore,
    pub(crate) debates: FairSemaphore,
    pub(crate) schemas: Schemas,
    pub(crate) races: Races,
    pub(crate) paces: Paces,
    pub(crate) windows: Windows,
    pub(crate) reads: SharedReads,
    pub(crate) proposing: OneAtATime,
    pub(crate) shutdown: CancellationToken,
}

impl std::fmt::Debug for EngineShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineShared").field("models", &self.models).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_settings_have_places_for_10_000_debates() {
        assert_eq!(Settings::default().debates_held_max, 10_000);
    }
}
