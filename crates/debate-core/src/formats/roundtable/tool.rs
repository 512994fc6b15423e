//! The tools that agents of a roundtable may ask for (rules D9, T4). The process that runs the debate
//! implements them.

use serde::{Deserialize, Serialize};

/// A tool that agents may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Looks for pages of the web.
    SearchWeb,
    /// Looks for what supports or refutes a claim.
    FactCheck,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 2] = [Self::SearchWeb, Self::FactCheck];

    /// Returns the name used in requests, prompts and the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SearchWeb => "search_web",
            Self::FactCheck => "fact_check",
        }
    }

    /// Reads a name back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }
}
