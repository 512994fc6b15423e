//! A reply of a model to one of the three questions, read but not yet checked against the debate.
//!
//! Outcomes are named by their place in the request (prompts show short aliases); whatever the model named that
//! is none of them is kept as it wrote it, so that the rules can say so.

use serde::{Deserialize, Serialize};

/// One reply, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// An argument.
    Argue(Argument),
    /// Scores of an argument.
    Score(Scores),
    /// The final assessment.
    Synthesise(Synthesis),
}

/// An outcome as a model named it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutcomeRef {
    /// The outcome at this place in the request.
    Known(usize),
    /// None of the request's outcomes; the model's own words.
    Unknown(String),
}

/// An argument as a model made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// What it claims, in one sentence; possibly empty.
    pub claim: String,
    /// The public argument.
    pub argument: String,
    /// The outcome it speaks for.
    pub supports: OutcomeRef,
    /// A probability for each outcome it names.
    pub probabilities: Vec<(OutcomeRef, f64)>,
    /// How sure the role is, meant to be in [0, 1].
    pub confidence: f64,
    /// What it rests on.
    pub evidence_cited: Vec<String>,
    /// Roles it rebuts.
    pub rebuts: Vec<String>,
    /// Earlier points it refers to.
    pub cites: Vec<Citation>,
    /// Past events like this one.
    pub precedents: Vec<Precedent>,
}

/// A reference to an earlier argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The point, such as `r1.optimist`, as the model wrote it.
    pub point: String,
    /// The words that are meant to stand there.
    pub quote: String,
}

/// A past event like the one in question (rule P12).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Precedent {
    /// What happened.
    pub event: String,
    /// When, as the model writes it.
    pub date: String,
    /// How like the question it is, meant to be in [0, 1].
    pub similarity_score: f64,
    /// How it ended.
    pub outcome: String,
    /// Why it matters here.
    pub relevance: String,
}

/// Scores as a model gave them.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// Criterion and score, meant to be in [0, 1].
    pub scores: Vec<(String, f64)>,
    /// Why, for the one who is asked again.
    pub reason: String,
}

/// The final assessment as a model gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Synthesis {
    /// The reasoning in words.
    pub reasoning: String,
    /// A probability for each outcome it names.
    pub probabilities: Vec<(OutcomeRef, f64)>,
    /// How sure the judge is, meant to be in [0, 1].
    pub confidence: f64,
    /// Where the roles differ.
    pub disagreements: Vec<DisagreementText>,
    /// What the debate brought to light.
    pub insights: Vec<InsightText>,
}

/// A disagreement as the judge sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct DisagreementText {
    /// What about.
    pub topic: String,
    /// Role, stance and strength in [0, 1] of each side.
    pub positions: Vec<(String, String, f64)>,
    /// Whether the debate settled it.
    pub resolved: bool,
}

/// An insight as the judge sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct InsightText {
    /// In words.
    pub insight: String,
    /// Who brought it.
    pub source_role: String,
    /// In which round.
    pub round: u32,
    /// `high`, `medium` or `low`, as the model writes it.
    pub impact: String,
    /// Which outcomes it touches.
    pub affected_outcomes: Vec<OutcomeRef>,
}
