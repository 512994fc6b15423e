//! Where a model answers.

/// Where a model answers (rule K23): of two models with one name, one may be at its provider and one on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: a program makes up the answers.
    Simulated,
    /// At its provider's own address.
    Provider,
    /// On this machine.
    Local,
    /// At any other address.
    Elsewhere,
}
