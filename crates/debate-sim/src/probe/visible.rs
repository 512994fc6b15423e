//! What one call of a probe may see.

use debate_core::call::CallKey;
use debate_core::prose::Prose;

use super::config::Brief;

/// What one call may see.
#[derive(Debug, Clone)]
pub struct Visible {
    /// The subject.
    pub brief: Prose<Brief>,
    /// The question.
    pub call: CallKey,
    /// Answers that it is shown, in order.
    pub seen: Vec<Seen>,
    /// Why the answer before was rejected.
    pub rejection: Prose<String>,
    /// Whether tools may be used.
    pub has_tools: bool,
}

/// An answer as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The question that it answers.
    pub call: CallKey,
    /// The number.
    pub value: u32,
    /// The words, unless they were redacted.
    pub text: Option<String>,
}
