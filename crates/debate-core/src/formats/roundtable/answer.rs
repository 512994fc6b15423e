//! A reply of a model, read, not yet checked against the debate.

use super::agent::Stance;

/// One reply, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The stance it takes, where it names one.
    pub stance: Option<Stance>,
    /// The position in a sentence or two.
    pub position: String,
    /// The reasons for it.
    pub reasoning: String,
    /// How sure the agent is, as stated.
    pub confidence: f64,
    /// The sources it names.
    pub citations: Vec<String>,
}
