//! Why a debate stopped, and how whole its outcome is (rules K6, K7).

use serde::{Deserialize, Serialize};

/// The rules that can end a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRule {
    /// The format's last phase is done.
    Concluded,
    /// The participants agree.
    Consensus,
    /// The participants no longer move.
    Convergence,
    /// The participants are sure enough.
    Confidence,
    /// All rounds were held.
    MaxRounds,
    /// Time is up.
    Deadline,
    /// A budget is used up.
    Budget,
    /// Somebody ended it.
    Cancelled,
    /// Too little of it can be had.
    Failed,
}

impl StopRule {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Concluded => "concluded",
            Self::Consensus => "consensus",
            Self::Convergence => "convergence",
            Self::Confidence => "confidence",
            Self::MaxRounds => "max_rounds",
            Self::Deadline => "deadline",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Returns whether it ends a debate before the debate has come to its own end.
    #[must_use]
    pub const fn is_early(self) -> bool {
        match self {
            Self::Concluded | Self::Consensus | Self::Convergence | Self::Confidence | Self::MaxRounds => {
                false
            }
            Self::Deadline | Self::Budget | Self::Cancelled | Self::Failed => true,
        }
    }
}

/// What of a debate's spend is limited (rule K8), named as its limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// Requests to models.
    Calls,
    /// Tokens read by models.
    InputTokens,
    /// Tokens written by models.
    OutputTokens,
    /// Tokens that models think.
    ThinkingTokens,
    /// Money, in millionths of a US dollar.
    CostMicros,
}

impl Budget {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::ThinkingTokens => "thinking_tokens",
            Self::CostMicros => "cost_micros",
        }
    }
}

/// How whole an outcome is. A degraded result never looks like a full one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Completeness {
    /// Nothing is missing.
    Full,
    /// Something is missing; the outcome stands on the rest.
    Partial {
        /// What is missing, such as `historian` or `score/2/optimist`.
        missing: Vec<String>,
        /// Why, one line each.
        why: Vec<String>,
    },
    /// There is too little for an outcome.
    Void {
        /// Why, one line each.
        why: Vec<String>,
    },
}

impl Completeness {
    /// Makes it of what is missing, and why; full where there is neither.
    #[must_use]
    pub fn of(missing: Vec<String>, why: Vec<String>) -> Self {
        if missing.is_empty() && why.is_empty() { Self::Full } else { Self::Partial { missing, why } }
    }

    /// Returns whether both say that the same is missing, however the reasons are worded.
    #[must_use]
    pub fn lacks_the_same(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() && self.missing() == other.missing()
    }

    fn missing(&self) -> &[String] {
        match self {
            Self::Partial { missing, .. } => missing,
            Self::Full | Self::Void { .. } => &[],
        }
    }

    /// Returns the name used on every interface.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial { .. } => "partial",
            Self::Void { .. } => "void",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_what_is_missing_counts_and_not_how_its_reasons_are_worded() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let partial =
            |missing: &[&str], why| Completeness::Partial { missing: texts(missing), why: texts(why) };
        let void = |why| Completeness::Void { why: texts(why) };
        assert!(partial(&["judge"], &["time is up"]).lacks_the_same(&partial(&["judge"], &[])));
        assert!(void(&["no role spoke"]).lacks_the_same(&void(&[])));
        let others = [Completeness::Full, partial(&[], &["time is up"]), partial(&["judge"], &[]), void(&[])];
        for (place, one) in others.iter().enumerate() {
            let same: Vec<_> =
                (0..others.len()).filter(|other| one.lacks_the_same(&others[*other])).collect();
            assert_eq!(same, [place]);
        }
    }
}
