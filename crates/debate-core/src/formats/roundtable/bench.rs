//! Benchmarks of roundtables (rule T11): scenarios, what their logs measure, and how two ways of running one compare. Pure:
//! the caller runs the debates and passes in their logs.

mod comparison;
mod metrics;
mod scenario;

pub use comparison::{Comparison, Delta, Recommendation, Terms, Trigger, TriggerRule, compare, reductions};
pub use metrics::{ConsensusMetrics, ContentMetrics, InteractionMetrics, LatencyMetrics, Metrics};
pub use scenario::{Scenario, check, read};
