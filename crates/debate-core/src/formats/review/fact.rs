//! What a review debate adds to the log: speeches, judgements, pairs that failed, and why no pair debated.

use serde::{Deserialize, Serialize};

use super::config::{Side, Skip, Speech};
use crate::call::CallKey;
use crate::id::Role;
use crate::prose::Prose;
use crate::{body, bounds, records};

records! {
    /// The domain facts of a review debate.
    pub enum Fact {
        /// No pair debates (rule V1).
        ReviewSkipped(ReviewSkipped),
        /// A reviewer spoke (rule V3).
        SpeechMade(SpeechMade),
        /// The judge looked at a pair (rule V4).
        PairJudged(PairJudged),
        /// A pair cannot go on; the others do (rule V3).
        PairFailed(PairFailed),
    }
}

/// No pair debates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewSkipped {
    /// Why.
    pub why: Skip,
    /// How many conflicts there are.
    pub conflicts: u32,
    /// How many start a debate.
    pub min_conflicts_to_trigger: u32,
}
body!(ReviewSkipped, "review_skipped");

/// A reviewer spoke.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpeechMade {
    /// The pair, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub pair: u32,
    /// What the reviewer does.
    pub speech: Speech,
    /// On which side.
    pub side: Side,
    /// Who spoke.
    pub role: Role,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// How many sentences were said; two to three are asked for.
    pub sentences: u32,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<SpeechProse>,
}
body!(SpeechMade, "speech_made", prose: SpeechProse);

/// The words of a speech.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpeechProse {
    /// What was said.
    pub text: String,
}

/// Who wins a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// The reviewer who adds.
    RoleA,
    /// The reviewer who removes.
    RoleB,
    /// Neither.
    Tie,
}

impl Winner {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RoleA => "role_a",
            Self::RoleB => "role_b",
            Self::Tie => "tie",
        }
    }

    /// Returns the side that wins; none for a tie.
    #[must_use]
    pub const fn side(self) -> Option<Side> {
        match self {
            Self::RoleA => Some(Side::A),
            Self::RoleB => Some(Side::B),
            Self::Tie => None,
        }
    }
}

/// The judge looked at a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairJudged {
    /// The pair, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub pair: u32,
    /// Which of the judge's passes, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub pass: u32,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// Whose arguments are better.
    pub winner: Winner,
    /// What is said of the reviewer who adds.
    pub role_a: Verdict,
    /// What is said of the reviewer who removes.
    pub role_b: Verdict,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<JudgementProse>,
}
body!(PairJudged, "pair_judged", prose: JudgementProse);

impl PairJudged {
    /// Returns what is said of a side.
    #[must_use]
    pub const fn verdict(&self, side: Side) -> &Verdict {
        match side {
            Side::A => &self.role_a,
            Side::B => &self.role_b,
        }
    }
}

/// What the judge says of one side, as far as it is fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// How good its arguments are, from 0 to 10.
    pub argument_quality_score: f64,
    /// Words for what they are: small letters, digits and hyphens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argument_labels: Vec<String>,
}

/// The words of a judgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgementProse {
    /// What would improve the prompt of the reviewer who adds.
    pub signal_a: String,
    /// What would improve the prompt of the reviewer who removes.
    pub signal_b: String,
    /// The debate in a sentence or two.
    pub summary: String,
}

impl JudgementProse {
    /// Returns what would improve the prompt of a side.
    #[must_use]
    pub fn signal(&self, side: Side) -> &str {
        match side {
            Side::A => &self.signal_a,
            Side::B => &self.signal_b,
        }
    }
}

/// A pair cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairFailed {
    /// The pair, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub pair: u32,
    /// The question that has no answer.
    pub call: CallKey,
}
body!(PairFailed, "pair_failed");
