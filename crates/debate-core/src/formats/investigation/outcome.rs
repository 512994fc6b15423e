//! The result of an investigation.

use serde::Serialize;

use super::answer::{ChallengeKind, Expected, Stance, Status};
use super::config::Language;
use super::evidence::{Check, EvidenceKind};
use super::fact::{ChallengeId, NamedBy, RoundSummarised, Stage};
use crate::call::Tokens;
use crate::id::{DebateId, Role};
use crate::spend::{Cost, is_zero};
use crate::stop::Completeness;

/// The result of an investigation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InvestigationResult {
    /// The debate, a UUID v4.
    pub debate_id: DebateId,
    /// What goes wrong.
    pub problem: String,
    /// The language in which the roles spoke.
    pub language: Language,
    /// When the outcome was reached, ISO 8601 in UTC; empty while the debate runs.
    pub completed_at: String,
    /// The hypothesis that is named as the cause; null where nothing was reported.
    pub verdict: Option<VerdictEntry>,
    /// What the lead tells those who asked; null where it gave no conclusion.
    pub conclusion: Option<ConclusionEntry>,
    /// The hypotheses with how they stand and what was brought, by number.
    pub hypotheses: Vec<HypothesisEntry>,
    /// Every challenge, in order.
    pub challenges: Vec<ChallengeEntry>,
    /// What was broken of the protocol, with what followed, by the answer in which it shows (rule I9).
    pub violations: Vec<ViolationEntry>,
    /// How the hypotheses stood after each round.
    pub rounds: Vec<RoundSummarised>,
    /// Counts and costs.
    pub metadata: Metadata,
    /// Whether anything is missing (rule K6).
    pub completeness: Completeness,
    /// Why it stopped (rule K7); empty while it runs.
    pub stop_reason: String,
    /// Whether any reply came from a simulated model.
    pub simulated: bool,
    /// Whether every request's token usage is known.
    pub usage_complete: bool,
    /// Tokens of thinking among those written: what providers reported, and the room for it where one reported nothing
    /// (rule P23).
    #[serde(skip_serializing_if = "is_zero")]
    pub thinking_tokens: u64,
    /// What it cost, as far as models have prices (rule K8); absent if the cost is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Models that were asked and have no price, where others have one (rule K8).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unpriced_models: Vec<String>,
    /// Whether prose of this debate was deleted.
    pub redacted: bool,
}

/// The hypothesis that is named as the cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictEntry {
    /// Its number.
    pub hypothesis: u32,
    /// Its words.
    pub statement: String,
    /// Who named it.
    pub named_by: NamedBy,
    /// How sure the synthesizer is, in [0, 10]; null where it does not say.
    pub confidence: Option<f64>,
    /// Whether it is the one that led clearly both when that first showed and in the end (rule I7).
    pub confirmed: bool,
    /// Why.
    pub reasoning: String,
    /// Evidence for it by id, such as `H1.E2`: what the synthesizer names, else all that counts.
    pub evidence_for: Vec<String>,
    /// Evidence against it by id.
    pub evidence_against: Vec<String>,
    /// Whether more would have to be known.
    pub needs_more_information: bool,
    /// What is missing.
    pub missing: Vec<String>,
}

/// What the lead tells those who asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConclusionEntry {
    /// The conclusion.
    pub text: String,
    /// What to do next.
    pub next_steps: Vec<String>,
}

/// A hypothesis with how it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HypothesisEntry {
    /// Its number, from 1.
    pub hypothesis: u32,
    /// Who investigates it.
    pub investigator: Role,
    /// What is supposed to be the cause.
    pub statement: String,
    /// By what it can be tested (rule I3).
    pub prediction: String,
    /// How its investigator sees it.
    pub status: Status,
    /// The confidence that counts, in [0, 10].
    pub confidence: f64,
    /// Rounds in which a valid challenge to it was refused.
    pub refusals: u32,
    /// Challenges to it that are open.
    pub open_challenges: Vec<ChallengeId>,
    /// Whether it counts (rule I5).
    pub trusted: bool,
    /// What its investigator said, oldest first.
    pub reports: Vec<ReportEntry>,
    /// All evidence on it, oldest first.
    pub evidence: Vec<EvidenceEntry>,
}

/// What an investigator said once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportEntry {
    /// The round, from 1.
    pub round: u32,
    /// When in the round.
    pub stage: Stage,
    /// How it sees its hypothesis.
    pub status: Status,
    /// The confidence before, in [0, 10].
    pub before: f64,
    /// How sure it says it is; null where it does not.
    pub stated: Option<f64>,
    /// The confidence that counts, before refusals.
    pub confidence: f64,
    /// The finding that matters most.
    pub key_finding: String,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceEntry {
    /// Its id, such as `H1.E2`.
    pub id: String,
    /// Whether it speaks for the hypothesis.
    pub supports: bool,
    /// What it points to; null where that is nothing concrete.
    pub kind: Option<EvidenceKind>,
    /// Where to look it up.
    pub pointer: String,
    /// What stands there.
    pub quote: String,
    /// What it shows.
    pub claim: String,
    /// What a look at the real thing has shown (rule I10).
    pub check: Check,
    /// Whether it is ignored (rule I2).
    pub ignored: bool,
}

/// A challenge with what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChallengeEntry {
    /// Its id.
    pub id: ChallengeId,
    /// The hypothesis; null where there is no such one.
    pub hypothesis: Option<u32>,
    /// What it is about.
    pub kind: ChallengeKind,
    /// The kind of answer that would do.
    pub expects: Expected,
    /// The reason.
    pub challenge: String,
    /// How it was met last; null where it was not.
    pub stance: Option<Stance>,
    /// `open`, `closed` or `ignored`.
    pub state: ChallengeState,
}

/// What became of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChallengeState {
    /// It is to be answered.
    Open,
    /// It was answered validly, or granted.
    Closed,
    /// It breaks the protocol.
    Ignored,
}

impl ChallengeState {
    /// Returns the name used on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Ignored => "ignored",
        }
    }
}

/// What was broken of the protocol, with what followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViolationEntry {
    /// The answer in which it shows, such as `challenge/1/devils_advocate`.
    pub shown_by: String,
    /// Who broke it.
    pub by: Role,
    /// What was broken.
    pub violation: &'static str,
    /// What followed.
    pub consequence: &'static str,
    /// The act that was out of role; null for others.
    pub act: Option<&'static str>,
    /// The hypothesis that it is about.
    pub hypothesis: Option<u32>,
    /// The challenge that it is about.
    pub challenge: Option<ChallengeId>,
}

/// Counts and costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Rounds that were held.
    pub rounds: u32,
    /// Tokens that providers reported; see [`InvestigationResult::usage_complete`].
    pub tokens: Tokens,
    /// Requests sent to models, every cause counted.
    pub calls: u64,
    /// From opening to outcome, in milliseconds.
    pub wall_clock_time_ms: u64,
    /// The models asked, joined by a comma.
    pub model: String,
}
