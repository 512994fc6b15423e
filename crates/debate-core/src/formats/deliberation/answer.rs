//! A reply of a model, read: free text, hidden thinking taken out, not yet checked against the debate.

/// One reply, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What a participant says.
    Contribution(String),
    /// What the orchestrator sums up.
    Consensus(String),
}
