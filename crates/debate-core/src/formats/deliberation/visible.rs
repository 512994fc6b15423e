//! What one call of a deliberation may see. A prompt is rendered from this and cannot show more (rule D4).

use super::config::{Brief, Phase};
use crate::id::{Role, Timestamp};
use crate::prose::Prose;

/// What one call may see.
#[derive(Debug, Clone)]
pub struct Visible {
    /// The subject in people's words.
    pub brief: Prose<Brief>,
    /// What is asked for.
    pub phase: Phase,
    /// Who is to speak.
    pub speaker: Role,
    /// The names of the skills that the speaker is given (rule D8).
    pub skills: Vec<String>,
    /// Whether the provider's own web search is on (rule D9).
    pub searches_web: bool,
    /// What has been said, oldest first.
    pub history: Vec<Remark>,
    /// The moment whose day prompts state (rule K19).
    pub as_of: Timestamp,
    /// The language of answers, a BCP 47 tag; that of the topic where it is absent.
    pub language: Option<String>,
}

/// A contribution as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The phase in which it was made.
    pub phase: Phase,
    /// Who made it.
    pub participant: Role,
    /// The words, unless they were redacted.
    pub content: Option<String>,
}
