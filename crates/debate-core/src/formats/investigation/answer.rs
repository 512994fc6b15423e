//! A reply of a model, read: the messages of the protocol (rule I8), not yet checked against the debate.
//!
//! Every text of a message is one line: its readers join lines, so that a message is written and read back without loss.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;

/// One reply, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was asked for.
    pub said: Said,
    /// What else the reply did, each act once (rule I1).
    pub strays: Vec<Act>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Hypotheses of the lead (rule I7).
    Hypotheses(Vec<HypothesisText>),
    /// A report of an investigator, or its answer to challenges.
    Report(Report),
    /// The challenges of the devil's advocate; none where it finds nothing to challenge.
    Challenges(Vec<Challenge>),
    /// Where things stand, by the synthesizer.
    Status(StatusUpdate),
    /// The synthesizer's last word.
    Verdict(Verdict),
    /// What the lead tells those who asked.
    Conclusion(Conclusion),
}

/// Something that a message does, for which a role may or may not be the right one (rule I1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Sets up hypotheses.
    Propose,
    /// Investigates a hypothesis.
    Investigate,
    /// Challenges one.
    Challenge,
    /// Weighs what there is.
    Assess,
    /// Gives the verdict.
    Judge,
    /// Conveys the conclusion.
    Convey,
}

impl Act {
    /// Every act.
    pub const ALL: [Self; 6] =
        [Self::Propose, Self::Investigate, Self::Challenge, Self::Assess, Self::Judge, Self::Convey];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Investigate => "investigate",
            Self::Challenge => "challenge",
            Self::Assess => "assess",
            Self::Judge => "judge",
            Self::Convey => "convey",
        }
    }
}

/// A hypothesis with what would show it to be wrong (rule I3).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HypothesisText {
    /// What is supposed to be the cause.
    pub statement: String,
    /// What can be observed if it is, and cannot if it is not.
    pub prediction: String,
}

/// How an investigator sees its own hypothesis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not settled.
    #[default]
    Investigating,
    /// Evidence speaks for it.
    Supported,
    /// Evidence speaks against it.
    Weakened,
    /// Evidence rules it out.
    Refuted,
}

impl Status {
    /// Every status, the default first.
    pub const ALL: [Self; 4] = [Self::Investigating, Self::Supported, Self::Weakened, Self::Refuted];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Investigating => "investigating",
            Self::Supported => "supported",
            Self::Weakened => "weakened",
            Self::Refuted => "refuted",
        }
    }
}

/// A report of an investigator (rules I5, I8).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The number of the hypothesis, from 1, where the report names one.
    pub hypothesis: Option<u32>,
    /// How the investigator sees it.
    pub status: Status,
    /// How sure it is, in [0, 10]; none where it does not say.
    pub confidence: Option<f64>,
    /// How sure it was before, in [0, 10]; none where it does not say.
    pub confidence_before: Option<f64>,
    /// The finding that matters most.
    pub key_finding: String,
    /// What speaks for the hypothesis.
    pub evidence_for: Vec<Evidence>,
    /// What speaks against it.
    pub evidence_against: Vec<Evidence>,
    /// Answers to challenges.
    pub responses: Vec<Response>,
}

impl Report {
    /// Returns all evidence, that for the hypothesis first, with whether it is for it.
    pub fn evidence(&self) -> impl Iterator<Item = (bool, &Evidence)> {
        let supports = self.evidence_for.iter().map(|evidence| (true, evidence));
        supports.chain(self.evidence_against.iter().map(|evidence| (false, evidence)))
    }
}

/// What an investigator says to a challenge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// The challenge, such as `C1.2`.
    pub challenge: String,
    /// Whether it is answered, granted or refused.
    pub stance: Stance,
    /// The words.
    pub text: String,
}

/// How a challenge is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// With evidence or reasoning on its point.
    Answer,
    /// It is right.
    Concede,
    /// Not at all.
    Refuse,
}

impl Stance {
    /// Every stance.
    pub const ALL: [Self; 3] = [Self::Answer, Self::Concede, Self::Refuse];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Concede => "concede",
            Self::Refuse => "refuse",
        }
    }
}

/// What a challenge is about (rule I6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChallengeKind {
    /// The evidence does not carry what it is said to.
    EvidenceQuality,
    /// The reasoning has a gap.
    LogicFlaw,
    /// Something speaks against it.
    CounterEvidence,
    /// Something else explains it.
    AlternativeExplanation,
}

impl ChallengeKind {
    /// Every kind, as in the protocol.
    pub const ALL: [Self; 4] =
        [Self::EvidenceQuality, Self::LogicFlaw, Self::CounterEvidence, Self::AlternativeExplanation];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EvidenceQuality => "evidence_quality",
            Self::LogicFlaw => "logic_flaw",
            Self::CounterEvidence => "counter_evidence",
            Self::AlternativeExplanation => "alternative_explanation",
        }
    }
}

/// What kind of answer a challenge asks for (rule I6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Evidence that is not on the table yet.
    NewEvidence,
    /// The reasoning spelled out, or mended.
    Reasoning,
    /// An experiment that could go either way.
    Experiment,
    /// The hypothesis or its confidence taken back.
    Withdrawal,
}

impl Expected {
    /// Every kind of answer.
    pub const ALL: [Self; 4] = [Self::NewEvidence, Self::Reasoning, Self::Experiment, Self::Withdrawal];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NewEvidence => "new_evidence",
            Self::Reasoning => "reasoning",
            Self::Experiment => "experiment",
            Self::Withdrawal => "withdrawal",
        }
    }

    /// Returns what a challenge of a kind asks for where it does not say.
    #[must_use]
    pub const fn of(kind: ChallengeKind) -> Self {
        match kind {
            ChallengeKind::EvidenceQuality => Self::NewEvidence,
            ChallengeKind::LogicFlaw | ChallengeKind::CounterEvidence => Self::Reasoning,
            ChallengeKind::AlternativeExplanation => Self::Experiment,
        }
    }
}

/// A challenge of the devil's advocate (rules I6, I8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// The investigator who is to answer.
    pub to: String,
    /// The number of the hypothesis, from 1, where the challenge names one.
    pub hypothesis: Option<u32>,
    /// What it is about.
    pub kind: ChallengeKind,
    /// The reason.
    pub challenge: String,
    /// What speaks against the hypothesis.
    pub counter_evidence: Vec<Evidence>,
    /// The kind of answer that would do.
    pub expects: Expected,
    /// Whether the investigator is said to have hidden that evidence (rule I5).
    pub hidden: bool,
}

/// How near the debate is to its end, as the synthesizer sees it; the engine counts for itself (rule I7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Convergence {
    /// One hypothesis is strong and all challenges to it are answered.
    Strong,
    /// One hypothesis leads clearly.
    Weak,
    /// Neither.
    #[default]
    None,
}

impl Convergence {
    /// Every degree.
    pub const ALL: [Self; 3] = [Self::Strong, Self::Weak, Self::None];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
            Self::None => "none",
        }
    }
}

/// Where things stand after a round (rule I8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusUpdate {
    /// The round, from 1; none where the message does not say.
    pub round: Option<u32>,
    /// The numbers of the hypotheses still in play.
    pub active: Vec<u32>,
    /// The number of the leading one.
    pub leading: Option<u32>,
    /// How near the end is.
    pub convergence: Convergence,
    /// Challenges that were answered validly, such as `C1.2`.
    pub answered: Vec<String>,
    /// Challenges that are still open.
    pub open: Vec<String>,
    /// What the round came to.
    pub summary: String,
}

/// The synthesizer's last word (rule I7).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The number of the hypothesis that is named; none where the reply names none.
    pub hypothesis: Option<u32>,
    /// How sure the synthesizer is, in [0, 10].
    pub confidence: Option<f64>,
    /// Why.
    pub reasoning: String,
    /// Evidence for it by id, such as `H1.E2`.
    pub evidence_for: Vec<String>,
    /// Evidence against it by id.
    pub evidence_against: Vec<String>,
    /// Whether more would have to be known.
    pub needs_more_information: bool,
    /// What is missing.
    pub missing: Vec<String>,
}

/// What the lead tells those who asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The conclusion in a few sentences.
    pub text: String,
    /// What to do next.
    pub next_steps: Vec<String>,
}
