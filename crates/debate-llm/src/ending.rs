//! How an answer ended.

/// How an answer ended (rule K18): the same closed set for every protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The model finished.
    Complete,
    /// The model asks for tools.
    ToolCalls,
    /// The output limit was reached before any of the answer was written: thinking used it up.
    CutInThinking,
    /// The output limit was reached within the answer.
    CutInText,
    /// The model declined, or the provider's filter stopped it.
    Refused,
    /// The provider paused the turn and expects to be asked to go on.
    Paused,
    /// The provider broke the answer off.
    Failed,
    /// No reason came, or one that this program does not know.
    Unknown,
}

impl Ending {
    /// Returns the name under which it is recorded.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ToolCalls => "tool_calls",
            Self::CutInThinking => "cut_in_thinking",
            Self::CutInText => "cut_in_text",
            Self::Refused => "refused",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether the output limit ended the answer.
    #[must_use]
    pub const fn is_cut(self) -> bool {
        matches!(self, Self::CutInThinking | Self::CutInText)
    }
}
