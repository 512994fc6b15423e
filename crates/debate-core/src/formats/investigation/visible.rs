//! What one call of an investigation may see. A prompt is rendered from this and cannot show more (rule I4).

use super::answer::HypothesisText;
use super::config::Language;
use super::fact::{ChallengeRaised, EvidenceReported, Stage, Standing, VerdictRendered, ViolationFound};
use crate::id::{Role, Timestamp};

/// What one call may see.
#[derive(Debug, Clone)]
pub struct Visible {
    /// The language in which the roles speak.
    pub language: Language,
    /// What goes wrong, unless it was redacted.
    pub problem: Option<Subject>,
    /// The round, from 1.
    pub round: u32,
    /// The most rounds.
    pub rounds: u32,
    /// What this role broke before, so that it does better (rule I9).
    pub corrections: Vec<ViolationFound>,
    /// What it is asked, with what it needs for that.
    pub task: Task,
    /// The moment whose day prompts state (rule K19).
    pub as_of: Timestamp,
}

/// The subject, without the hypotheses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What goes wrong.
    pub problem: String,
    /// What is known of it; may be empty.
    pub context: String,
}

/// What is asked.
#[derive(Debug, Clone)]
pub enum Task {
    /// To propose hypotheses, at most so many.
    Propose {
        /// The most.
        hypotheses_max: usize,
    },
    /// To report on a hypothesis, or to answer challenges to it.
    Investigate(Box<InvestigateView>),
    /// To challenge what was reported.
    Challenge {
        /// All hypotheses with what was said of them.
        dossiers: Vec<Dossier>,
        /// What the evidence of challenges may still be compared with.
        looks: Looks,
    },
    /// To say where things stand.
    Status(Vec<Dossier>),
    /// To rule.
    Verdict(Vec<Dossier>),
    /// To convey the conclusion.
    Convey(Box<ConveyView>),
}

/// What an investigator sees: its own hypothesis, its own words, and what was asked about them.
#[derive(Debug, Clone)]
pub struct InvestigateView {
    /// When in the round.
    pub stage: Stage,
    /// Who.
    pub investigator: Role,
    /// The number of its hypothesis.
    pub hypothesis: u32,
    /// The words of its hypothesis, unless they were redacted.
    pub text: Option<HypothesisText>,
    /// What it said so far, oldest first.
    pub messages: Vec<EvidenceReported>,
    /// The challenges to its hypothesis, in order.
    pub challenges: Vec<ChallengeView>,
    /// What may still be looked up.
    pub looks: Looks,
}

/// What may be looked up in a workspace (rule I10).
#[derive(Debug, Clone, Default)]
pub struct Looks {
    /// Model turns that may still ask for tools; none without a workspace.
    pub turns_left: u32,
    /// Evidence that was compared already, as the check was asked for.
    pub checked: Vec<String>,
}

/// A challenge with what became of it.
#[derive(Debug, Clone)]
pub struct ChallengeView {
    /// The challenge.
    pub raised: ChallengeRaised,
    /// Whether it still is to be answered.
    pub is_open: bool,
}

/// All about one hypothesis, for those who may see it.
#[derive(Debug, Clone)]
pub struct Dossier {
    /// How it stands.
    pub standing: Standing,
    /// Its words, unless they were redacted.
    pub text: Option<HypothesisText>,
    /// What its investigator said, oldest first.
    pub messages: Vec<EvidenceReported>,
    /// The challenges to it, in order.
    pub challenges: Vec<ChallengeView>,
}

/// What the lead sees (rules I1, I9).
#[derive(Debug, Clone)]
pub struct ConveyView {
    /// The hypotheses with what was said of them.
    pub dossiers: Vec<Dossier>,
    /// The verdict; none where the synthesizer gave none.
    pub verdict: Option<VerdictRendered>,
    /// The hypothesis that stands strongest.
    pub strongest: Option<u32>,
    /// All violations, in the order of the answers in which they show.
    pub violations: Vec<ViolationFound>,
    /// The rule that ended the debate, as the log names it.
    pub stop: String,
}
