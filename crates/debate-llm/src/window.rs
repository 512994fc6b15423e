//! How much fits into one call of a model.

/// A model's limits of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The most tokens of question and answer together, thinking included.
    pub input_and_output: u32,
    /// The most tokens of an answer, where that is bounded apart.
    pub output_max: Option<u32>,
}

impl From<u32> for Window {
    fn from(input_and_output: u32) -> Self {
        Self { input_and_output, output_max: None }
    }
}
