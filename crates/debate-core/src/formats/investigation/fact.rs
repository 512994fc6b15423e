//! What an investigation adds to the log. The messages of the roles are prose, whole; what the fold needs of them are
//! facts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::answer::{
    Act, Challenge, ChallengeKind, Conclusion, Convergence, Expected, HypothesisText, Report, Stance, Status,
    StatusUpdate, Verdict,
};
use super::evidence::{Check, EvidenceKind};
use crate::call::{CallKey, InputRef};
use crate::id::Role;
use crate::prose::Prose;
use crate::{body, bounds, records};

records! {
    /// The domain facts of an investigation.
    pub enum Fact {
        /// The lead set up hypotheses.
        HypothesesProposed(HypothesesProposed),
        /// An investigator reported, or answered challenges.
        EvidenceReported(EvidenceReported),
        /// The devil's advocate challenged a hypothesis.
        ChallengeRaised(ChallengeRaised),
        /// The synthesizer said where things stand.
        StatusUpdated(StatusUpdated),
        /// Somebody broke a rule of the protocol.
        ViolationFound(ViolationFound),
        /// A round is over.
        RoundSummarised(RoundSummarised),
        /// The synthesizer ruled.
        VerdictRendered(VerdictRendered),
        /// The lead conveyed the conclusion.
        ConclusionConveyed(ConclusionConveyed),
    }
}

/// The lead set up hypotheses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HypothesesProposed {
    /// The revision of the question, from 0.
    pub revision: u32,
    /// How many can be tested; they are numbered from 1.
    pub count: u32,
    /// How many were refused: they cannot be tested, or are too many (rule I3).
    pub refused: u32,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<ProposalProse>,
}
body!(HypothesesProposed, "hypotheses_proposed", prose: ProposalProse);

/// The words of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalProse {
    /// The hypotheses, by number.
    pub hypotheses: Vec<HypothesisText>,
    /// Those that were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<HypothesisText>,
}

/// When in a round an investigator speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// First, with what it found.
    Report,
    /// After the challenges, with its answers to them.
    Respond,
}

/// An investigator reported, or answered challenges (rule I5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceReported {
    /// The round, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// When in the round.
    pub stage: Stage,
    /// Who.
    pub investigator: Role,
    /// The number of the hypothesis.
    pub hypothesis: u32,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// How the investigator sees its hypothesis.
    pub status: Status,
    /// How sure it says it is, in [0, 10].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<f64>,
    /// The confidence before this message, in [0, 10].
    pub before: f64,
    /// The confidence that counts after it, in [0, 10]: without evidence it cannot rise (rule I2).
    pub confidence: f64,
    /// What it brings, evidence for the hypothesis first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceFact>,
    /// How it meets challenges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responses: Vec<ResponseFact>,
    /// The message.
    #[serde(skip)]
    pub prose: Prose<Report>,
}
body!(EvidenceReported, "evidence_reported", prose: Report);

/// One piece of evidence, without its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceFact {
    /// Its number among all that was brought on this hypothesis, from 1.
    pub number: u32,
    /// Whether it speaks for the hypothesis.
    pub supports: bool,
    /// What it points to; none where that is nothing concrete, so that it does not count (rule I2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<EvidenceKind>,
    /// What a look at the real thing has shown (rule I10).
    pub check: Check,
}

impl EvidenceFact {
    /// Returns whether it counts (rule I2).
    #[must_use]
    pub fn counts(&self) -> bool {
        self.kind.is_some() && self.check != Check::Refuted
    }
}

/// How a challenge is met, without words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseFact {
    /// The challenge.
    pub challenge: ChallengeId,
    /// How it is met.
    pub stance: Stance,
}

/// Names a challenge for the life of its debate; written `C1.2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChallengeId {
    /// The round in which it was raised, from 1.
    pub round: u32,
    /// Its place among those of the round, from 1.
    pub number: u32,
}

impl fmt::Display for ChallengeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "C{}.{}", self.round, self.number)
    }
}

/// A text does not name a challenge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a challenge such as C1.2")]
pub struct ChallengeIdError {
    text: String,
}

impl FromStr for ChallengeId {
    type Err = ChallengeIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.trim().strip_prefix(['C', 'c']).and_then(|rest| rest.split_once('.'));
        let parsed = numbers.and_then(|(round, number)| {
            Some(Self { round: round.trim().parse().ok()?, number: number.trim().parse().ok()? })
        });
        parsed.ok_or_else(|| ChallengeIdError { text: text.to_owned() })
    }
}

impl Serialize for ChallengeId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChallengeId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id: Self = String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)?;
        bounds::counted(id.round).map(|_| id)
    }
}

/// The devil's advocate challenged a hypothesis (rule I6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChallengeRaised {
    /// Its name.
    pub id: ChallengeId,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// The number of the hypothesis; none where there is no such hypothesis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<u32>,
    /// What it is about.
    pub kind: ChallengeKind,
    /// The kind of answer that would do.
    pub expects: Expected,
    /// How much of its counter-evidence is concrete.
    pub counter_evidence: u32,
    /// Whether it is to be answered; one that is not is ignored, with a violation that says why.
    pub stands: bool,
    /// The message.
    #[serde(skip)]
    pub prose: Prose<Challenge>,
}
body!(ChallengeRaised, "challenge_raised", prose: Challenge);

/// The synthesizer said where things stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusUpdated {
    /// The round, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// The hypothesis that leads, as the synthesizer sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leading: Option<u32>,
    /// How near the end is, as the synthesizer sees it.
    pub convergence: Convergence,
    /// Challenges that were answered validly; they stay answered (rule I6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<ChallengeId>,
    /// The message.
    #[serde(skip)]
    pub prose: Prose<StatusUpdate>,
}
body!(StatusUpdated, "status_updated", prose: StatusUpdate);

/// A way to break the protocol (rule I9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// Adverse evidence was left out of a report and shown by a challenge (rule I5).
    HiddenEvidence,
    /// A claim has nothing concrete to show (rule I2), or a challenge no reason (rule I6).
    NoEvidence,
    /// A role did what is another's (rule I1).
    OutOfRole,
    /// A valid challenge was not answered.
    ChallengeRefused,
    /// A challenge repeats one that was answered (rule I6).
    ChallengeRepeated,
    /// A challenge tells an investigator what another one said (rule I4).
    IndependenceBroken,
    /// The last word names no hypothesis (rule I7).
    ConvergenceBroken,
}

impl Violation {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HiddenEvidence => "hidden_evidence",
            Self::NoEvidence => "no_evidence",
            Self::OutOfRole => "out_of_role",
            Self::ChallengeRefused => "challenge_refused",
            Self::ChallengeRepeated => "challenge_repeated",
            Self::IndependenceBroken => "independence_broken",
            Self::ConvergenceBroken => "convergence_broken",
        }
    }

    /// Returns what follows from it (rule I9).
    #[must_use]
    pub const fn consequence(self) -> Consequence {
        match self {
            Self::HiddenEvidence => Consequence::HypothesisUntrusted,
            Self::NoEvidence | Self::ChallengeRepeated => Consequence::ClaimIgnored,
            Self::OutOfRole | Self::IndependenceBroken => Consequence::ActRefused,
            Self::ChallengeRefused => Consequence::ConfidenceLowered,
            Self::ConvergenceBroken => Consequence::EndedByLead,
        }
    }
}

/// What follows from breaking the protocol (rule I9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// The hypothesis does not count any more.
    HypothesisUntrusted,
    /// The claim does not count.
    ClaimIgnored,
    /// The act has no effect, and the role that did it is informed.
    ActRefused,
    /// The hypothesis loses 1 of 10.
    ConfidenceLowered,
    /// The debate ends with the hypothesis that stands strongest.
    EndedByLead,
}

impl Consequence {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HypothesisUntrusted => "hypothesis_untrusted",
            Self::ClaimIgnored => "claim_ignored",
            Self::ActRefused => "act_refused",
            Self::ConfidenceLowered => "confidence_lowered",
            Self::EndedByLead => "ended_by_lead",
        }
    }
}

/// A role broke a rule of the protocol (rule I9). The lead is informed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ViolationFound {
    /// The answer in which it shows.
    pub shown_by: InputRef,
    /// Who broke the rule.
    pub by: Role,
    /// Which.
    pub violation: Violation,
    /// What follows from it.
    pub consequence: Consequence,
    /// The act that was out of role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<Act>,
    /// The hypothesis that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<u32>,
    /// The challenge that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<ChallengeId>,
}
body!(ViolationFound, "violation_found");

impl ViolationFound {
    /// Returns a violation with its consequence.
    pub(super) fn new(call: &CallKey, revision: u32, by: Role, violation: Violation) -> Self {
        Self {
            shown_by: InputRef { call: call.clone(), revision },
            by,
            violation,
            consequence: violation.consequence(),
            act: None,
            hypothesis: None,
            challenge: None,
        }
    }
}

/// A round is over: how the hypotheses stand, and by how much the first leads (rule I7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundSummarised {
    /// The round, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// How the hypotheses stand, by number.
    pub standings: Vec<Standing>,
    /// The strongest that is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leading: Option<u32>,
    /// By how much it leads over the second, of 10.
    pub lead: f64,
}
body!(RoundSummarised, "round_summarised");

/// How a hypothesis stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its number.
    pub hypothesis: u32,
    /// Who investigates it.
    pub investigator: Role,
    /// How its investigator sees it.
    pub status: Status,
    /// The confidence that counts, in [0, 10]: what was reported, less what refusals cost (rule I9).
    pub confidence: f64,
    /// Rounds in which a valid challenge to it was refused.
    pub refusals: u32,
    /// Challenges to it that are open, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_challenges: Vec<ChallengeId>,
    /// Whether it counts (rule I5).
    pub trusted: bool,
}

/// Who named the hypothesis of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedBy {
    /// The synthesizer.
    Synthesizer,
    /// No role: it is the hypothesis with the strongest standing.
    Standing,
}

impl NamedBy {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Synthesizer => "synthesizer",
            Self::Standing => "standing",
        }
    }
}

/// The synthesizer ruled (rule I7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictRendered {
    /// The last round.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// The hypothesis that is named.
    pub hypothesis: u32,
    /// Who named it.
    pub named_by: NamedBy,
    /// How sure the synthesizer is, in [0, 10]; none where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Whether more would have to be known.
    pub needs_more_information: bool,
    /// The numbers of the evidence that it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_for: Vec<u32>,
    /// The numbers of the evidence that speaks against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_against: Vec<u32>,
    /// The message.
    #[serde(skip)]
    pub prose: Prose<Verdict>,
}
body!(VerdictRendered, "verdict_rendered", prose: Verdict);

/// The lead conveyed the conclusion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConclusionConveyed {
    /// The last round.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// How many violations were reported to it (rule I9).
    pub violations_told: u32,
    /// The message.
    #[serde(skip)]
    pub prose: Prose<Conclusion>,
}
body!(ConclusionConveyed, "conclusion_conveyed", prose: Conclusion);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_named_as_it_is_read() {
        let id = ChallengeId { round: 2, number: 11 };
        assert_eq!(" c2.11 ".parse(), Ok(id));
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["C2", "2.1", "Cx.1", ""] {
            assert!(text.parse::<ChallengeId>().is_err(), "{text}");
        }
    }

    #[test]
    fn i9_every_violation_has_the_consequence_of_the_table() {
        use Consequence::{ActRefused, ClaimIgnored, ConfidenceLowered, EndedByLead, HypothesisUntrusted};
        let table = [
            (Violation::HiddenEvidence, HypothesisUntrusted),
            (Violation::NoEvidence, ClaimIgnored),
            (Violation::OutOfRole, ActRefused),
            (Violation::ChallengeRefused, ConfidenceLowered),
            (Violation::ChallengeRepeated, ClaimIgnored),
            (Violation::IndependenceBroken, ActRefused),
            (Violation::ConvergenceBroken, EndedByLead),
        ];
        for (violation, consequence) in table {
            assert_eq!(violation.consequence(), consequence, "{}", violation.as_str());
        }
    }
}
