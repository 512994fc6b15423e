//! A reply of a model, read, not yet checked against the debate.

use super::fact::Winner;

/// One reply, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// What a reviewer says, hidden thinking taken out.
    Speech(String),
    /// What the judge finds.
    Judgement(Judgement),
}

/// What the judge finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Whose arguments are better.
    pub winner: Winner,
    /// What the judge says of the reviewer who adds, and of the one who removes.
    pub feedback: [Feedback; 2],
    /// The debate in a sentence or two.
    pub summary: String,
}

/// What the judge says of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    /// How good its arguments are, from 0 to 10; not a number where the reply has none.
    pub argument_quality_score: f64,
    /// Words for what they are.
    pub argument_labels: Vec<String>,
    /// What would improve the reviewer's prompt.
    pub policy_signal: String,
}
