//! What identifies a request to a model: the call, its revision, attempt and turn (rule K2).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::id::{Role, is_name};

/// The repair of an answer that was taken from a reply that the output limit cut (rule K18).
pub const CUT: &str = "cut";

/// Names one question that a debate asks, for the whole life of the debate.
///
/// Written `kind/round/role`, with `/pass` behind it from the second pass on: `argue/2/optimist`.
/// A retry changes the attempt, a re-asked argument (and what was built on it) the revision; never the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    /// The kind of question, such as `argue`; each format has its own.
    pub kind: Cow<'static, str>,
    /// The round or phase it belongs to, from 1.
    pub round: u32,
    /// Who answers, or whom the question is about.
    pub role: Role,
    /// Which of several passes over the same question, from 1.
    pub pass: u32,
}

impl CallKey {
    /// Builds the key of a first pass.
    #[must_use]
    pub const fn new(kind: &'static str, round: u32, role: Role) -> Self {
        Self { kind: Cow::Borrowed(kind), round, role, pass: 1 }
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind, self.round, self.role)?;
        if self.pass > 1 { write!(f, "/{}", self.pass) } else { Ok(()) }
    }
}

/// A text is not the name of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a call such as argue/2/optimist")]
pub struct CallKeyError {
    text: String,
}

impl FromStr for CallKey {
    type Err = CallKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || CallKeyError { text: text.to_owned() };
        let mut parts = text.split('/');
        let (Some(kind), Some(round), Some(role)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(error());
        };
        let pass = parts.next().map_or(Ok(1), str::parse).ok().filter(|pass| *pass > 0).ok_or_else(error)?;
        if parts.next().is_some() || kind.is_empty() || role.is_empty() {
            return Err(error());
        }
        Ok(Self {
            kind: Cow::Owned(kind.to_owned()),
            round: round.parse().map_err(|_| error())?,
            role: role.into(),
            pass,
        })
    }
}

impl Serialize for CallKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let key: Self = text.parse().map_err(serde::de::Error::custom)?;
        if !is_name(&key.kind) || !is_name(key.role.as_str()) {
            return Err(serde::de::Error::custom(CallKeyError { text: text.into_owned() }));
        }
        bounds::counted(key.round).and_then(|_| bounds::counted(key.pass)).map(|_| key)
    }
}

/// One answer of a call that another call sees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InputRef {
    /// Whose answer is seen.
    pub call: CallKey,
    /// Which revision of it stands.
    pub revision: u32,
}

/// A call together with the revision that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Want {
    /// The question.
    pub call: CallKey,
    /// The revision of the question, from 0.
    pub revision: u32,
}

/// One model turn or tool run that should be under way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// A request to a model.
    Turn {
        /// The question and its revision.
        want: Want,
        /// Which turn of it, from 1; more than one only where tools are used.
        turn: u32,
    },
    /// A run of a tool that a model asked for.
    Tool {
        /// The question and its revision.
        want: Want,
        /// The turn that asked for the tool.
        turn: u32,
        /// Which of the turn's tool calls, from 0.
        index: u32,
    },
}

impl Work {
    /// Returns the question that this work belongs to.
    #[must_use]
    pub fn want(&self) -> &Want {
        match self {
            Self::Turn { want, .. } | Self::Tool { want, .. } => want,
        }
    }
}

/// Why a request was sent (rule K2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It had not been asked before.
    First,
    /// The attempt before it was under way when its process went away.
    Lost,
    /// The answer before it failed or was rejected.
    Reask,
    /// It races an attempt that is still open.
    Hedge,
    /// What it was built on has changed.
    Void,
}

impl Cause {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Lost => "lost",
            Self::Reask => "reask",
            Self::Hedge => "hedge",
            Self::Void => "void",
        }
    }
}

/// How an answer ended (rule K18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
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
    /// The provider paused the turn and was not asked to go on.
    Paused,
    /// The provider broke the answer off.
    Failed,
    /// No reason came, or one that is not known.
    Unknown,
}

impl Ended {
    /// Returns the name used in the log and on every interface.
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

/// How much a model thinks before it answers (rule P23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all, or as little as the model allows.
    None,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

impl Effort {
    /// All of them, the least first.
    pub const ALL: [Self; 4] = [Self::None, Self::Low, Self::Medium, Self::High];

    /// Returns the name used in requests and in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What a request leaves to thinking (rule P23).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// How much the model was asked to think; its provider's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Output tokens set aside for it on top of those of the answer.
    #[serde(default)]
    pub tokens: u32,
}

impl Thinking {
    /// Returns whether nothing is said of it.
    #[must_use]
    pub fn is_unset(&self) -> bool {
        *self == Self::default()
    }
}

/// Tokens and calls that were used or are set aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
}

impl Tokens {
    /// Returns so many times as much.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self { input: self.input.saturating_mul(count), output: self.output.saturating_mul(count) }
    }

    /// Returns the sum of both kinds.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
        }
    }
}

/// What is set aside for a request before it is sent: the most that it can use (rule K8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Money in millionths of a US dollar; none where the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

impl Reserved {
    /// What a request can use that is never sent.
    pub const NOTHING: Self = Self { input: 0, output: 0, cost_micros: Some(0) };

    /// Returns the tokens alone.
    #[must_use]
    pub const fn tokens(self) -> Tokens {
        Tokens { input: self.input, output: self.output }
    }
}

impl From<Tokens> for Reserved {
    /// Reserves tokens of a model that has no price.
    fn from(Tokens { input, output }: Tokens) -> Self {
        Self { input, output, cost_micros: None }
    }
}

/// What a provider reported for one request. Unknown stays unknown, never 0 (rule K3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens written, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Tokens of thinking among those written (rule P23).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_written_as_it_is_read_and_passes_count_from_one() {
        for text in ["argue/2/optimist", "synthesise/3/judge/2"] {
            assert_eq!(text.parse::<CallKey>().unwrap().to_string(), text);
        }
        for text in
            ["argue/2", "argue/x/judge", "/1/judge", "argue/1/", "argue/2/judge/0", "argue/2/judge/2/1"]
        {
            assert!(text.parse::<CallKey>().is_err(), "{text}");
        }
    }
}
