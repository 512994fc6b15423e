//! Turns that a provider pauses, as it does while its own tools run for long, and goes on with when it is asked.

use super::answer::Answer;
use super::call::Call;
use crate::{ChatRequest, ChunkSink, Ending, ModelError, ModelErrorKind};

/// How often a paused turn is continued.
const CONTINUED_MAX: u32 = 3;

impl Call<'_> {
    /// Asks, and asks the provider to go on while it pauses; the answer is all that it said.
    pub(super) async fn turn(
        &mut self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<Answer, ModelError> {
        let mut whole = self.answer(request, chunks).await?;
        for _ in 0..CONTINUED_MAX {
            if whole.ending != Some(Ending::Paused) || whole.to_continue.is_empty() {
                break;
            }
            self.so_far.clone_from(&whole.to_continue);
            match self.answer(request, chunks).await {
                Ok(after) => whole.join(after),
                Err(error) => return Err(broken(whole, error)),
            }
        }
        if whole.ending == Some(Ending::Paused) {
            let message = "the provider paused the turn and does not end it";
            let paused = ModelError::new(ModelErrorKind::Truncated, message);
            let stop_reason = whole.stop_reason.take().map(Into::into);
            let ending = Some(Ending::Paused);
            return Err(broken(whole, ModelError { ending, stop_reason, status: Some(200), ..paused }));
        }
        Ok(whole)
    }
}

/// Completes an error with what came before it in the same turn; what all of it used is not known.
fn broken(before: Answer, error: ModelError) -> ModelError {
    let usage = match error.ending {
        Some(Ending::Paused) => before.usage.into(),
        _ => error.usage,
    };
    let text = format!("{}{}", before.text, error.text).into();
    ModelError { text, usage, received_any: true, ..error }
}
