//! What one call of a review debate may see. A prompt is rendered from this and cannot show more.

use super::config::{Brief, Critique, Dispute, Pair, Side, Speech};
use super::fact::SpeechProse;
use crate::id::{Role, Timestamp};
use crate::prose::Prose;

/// What one call may see.
#[derive(Debug, Clone)]
pub struct Visible {
    /// The subject in people's words.
    pub brief: Prose<Brief>,
    /// Which pair it is about, from 1.
    pub number: u32,
    /// Who debates.
    pub pair: Pair,
    /// What has been said, in the order shown.
    pub heard: Vec<Heard>,
    /// What is asked for.
    pub task: Task,
    /// The moment whose day prompts state (rule K19).
    pub as_of: Timestamp,
    /// The language of answers, a BCP 47 tag; that of the original prompt where it is absent.
    pub language: Option<String>,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub enum Task {
    /// A speech.
    Speak {
        /// What the reviewer does.
        speech: Speech,
        /// On which side.
        side: Side,
        /// Why the speech before was rejected.
        rejection: Prose<String>,
    },
    /// A judgement.
    Judge {
        /// The side that is shown first (rule V4).
        first: Side,
    },
}

/// A speech as others see it.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Who spoke.
    pub side: Side,
    /// What the reviewer did.
    pub speech: Speech,
    /// The words.
    pub prose: Prose<SpeechProse>,
}

impl Visible {
    /// Returns what the pair debates, unless it was redacted.
    #[must_use]
    pub fn dispute(&self) -> Option<&Dispute> {
        let place = (self.number as usize).checked_sub(1)?;
        self.brief.shown()?.disputes.get(place)
    }

    /// Returns the critique of a reviewer, unless there is none or it was redacted.
    #[must_use]
    pub fn critique(&self, role: &Role) -> Option<&Critique> {
        self.brief.shown()?.critiques.iter().find(|critique| critique.role == *role)
    }
}
