//! The limits on every size in a request (rule K12), in one place. Lengths of text are in characters unless said
//! otherwise; what a debate may spend has its defaults in [`crate::limits`].

use std::ops::RangeInclusive;

use serde_json::{Value, json};

pub use crate::bounds::ROUNDS;
pub use crate::id::NAME_CHARS_MAX;

/// Bytes of a whole request.
pub const REQUEST_BYTES_MAX: usize = 1024 * 1024;
/// How deep objects and lists may be nested.
pub const NESTING_MAX: usize = 64;
/// Violations that are listed; the rest is counted.
pub const VIOLATIONS_MAX: usize = 100;
/// Bytes of a violation's path; what goes beyond is left out.
pub const PATH_BYTES_MAX: usize = 500;
/// Bytes of a violation's reason, which may tell words of the request; what goes beyond is left out.
pub const REASON_BYTES_MAX: usize = 2_000;

/// The caller's id of the task.
pub const TASK_ID_CHARS_MAX: usize = 256;
/// Bytes of the task, which is kept verbatim.
pub const TASK_BYTES_MAX: usize = 64 * 1024;
/// The question as it is put to the roles; a longer one is cut.
pub const QUESTION_CHARS_MAX: usize = 2_000;
/// The topic of a debate without a task.
pub const TOPIC_CHARS_MAX: usize = 8_000;
/// A one-line name for people, such as an outcome's label or a variable's name.
pub const LABEL_CHARS_MAX: usize = 500;
/// A text of a brief: a description, a finding, a highlight, a gap.
pub const TEXT_CHARS_MAX: usize = 4_000;
/// Texts in one list of a brief.
pub const TEXTS_MAX: usize = 100;

/// The possible answers of a question.
pub const OUTCOMES_MAX: usize = 50;
/// The id of an outcome.
pub const OUTCOME_ID_CHARS_MAX: usize = 128;
/// Variables that matter.
pub const KEY_VARIABLES_MAX: usize = 100;
/// Who takes part in one debate.
pub const PARTICIPANTS_MAX: usize = 20;
/// Skills that one speaker is given.
pub const SKILLS_MAX: usize = 20;
/// Models that stand in for each other.
pub const MODELS_MAX: usize = 5;
/// Criteria by which arguments are scored.
pub const CRITERIA_MAX: usize = 10;
/// Bands of one criterion's rubric.
pub const RUBRIC_BANDS_MAX: usize = 10;
/// What a band of a rubric means.
pub const RUBRIC_CHARS_MAX: usize = 300;
/// A persona's system prompt; longer ones leave no room in an argument's 600 tokens (rule P15).
pub const PERSONA_CHARS_MAX: usize = 1_200;
/// Where a persona leans, or what it looks for.
pub const LEANING_CHARS_MAX: usize = 300;
/// The heaviest weight of a criterion; all weights are above 0.
pub const WEIGHT_MAX: f64 = 1_000.0;

/// Rounds of one roundtable: so many that every response of them fits a prompt, shortened.
pub const ROUNDTABLE_ROUNDS: RangeInclusive<u64> = 1..=10;
/// Rounds that are added to a concluded debate at once.
pub const ROUNDS_ADDED: RangeInclusive<u64> = ROUNDTABLE_ROUNDS;
/// The question that added rounds deal with.
pub const FOCUS_CHARS_MAX: usize = 2_000;
/// Tokens of one response at a roundtable.
pub const RESPONSE_TOKENS: RangeInclusive<u64> = 256..=8_192;
/// Sources that one response names.
pub const CITATIONS_MAX: usize = 50;
/// Tool calls of one response.
pub const TOOL_CALLS: RangeInclusive<u64> = 0..=20;
/// Rounds over which an exit rule looks.
pub const EXIT_ROUNDS: RangeInclusive<u64> = 1..=20;

/// Operations of one critique, or of one conflict.
pub const OPERATIONS_MAX: usize = 100;
/// Conflicts between critiques, as given by a caller.
pub const CONFLICTS_MAX: usize = 100;
/// Pairs of one review that debate.
pub const PAIRS: RangeInclusive<u64> = 1..=10;
/// How often a judge looks at the same.
pub const JUDGE_PASSES: RangeInclusive<u64> = 1..=2;

/// Tokens of one reply to an argument call.
pub const ARGUMENT_TOKENS: RangeInclusive<u64> = 50..=4_000;
/// The most tokens of one visible answer of a kind of call.
pub const OUTPUT_TOKENS: RangeInclusive<u64> = 50..=32_000;
/// Tokens that all calls of a debate may think.
pub const THINKING_TOKENS: RangeInclusive<u64> = 0..=TOKENS_MAX;
/// Wall time of one debate in milliseconds: a tenth of a second to an hour.
pub const DEADLINE_MS: RangeInclusive<u64> = 100..=3_600_000;
/// Requests to models in one debate.
pub const CALLS: RangeInclusive<u64> = 1..=10_000;
/// Tokens of one debate, in or out.
pub const TOKENS_MAX: u64 = 100_000_000;
/// Money of one debate in millionths of a US dollar: up to a million dollars.
pub const COST_MICROS: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// Failed attempts at one question.
pub const ATTEMPTS: RangeInclusive<u64> = 1..=10;
/// Starts of one call, whatever their cause (rule K2).
pub const STARTS: RangeInclusive<u64> = 1..=20;

/// Returns the JSON schema of a whole number within limits.
#[must_use]
pub fn whole_schema(range: &RangeInclusive<u64>) -> Value {
    json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() })
}
