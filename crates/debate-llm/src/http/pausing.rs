//! Turns that a provider pauses, as it does while its own tools run for long, and goes on with when it is
//! asked.

use super::answer::Answer;
use super::call::Call;
use crate::{ChatRequest, ChunkSink, Ending, ModelError, ModelErrorKind, Usage};

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
                Err(error) => return Err(broken(&whole, error)),
            }
        }
        if whole.ending == Some(Ending::Paused) {
            let message = "the provider paused the turn and does not end it";
            let error = ModelError::new(ModelErrorKind::Truncated, message);
            let nothing = Usage::of_nothing().into();
            let stop_reason = whole.stop_reason.take().map(Into::into);
            let paused = ModelError { ending: Some(Ending::Paused), stop_reason, usage: nothing, ..error };
            return Err(broken(&whole, ModelError { status: Some(200), ..paused }));
        }
        Ok(whole)
    }
}

/// Completes an error with what came before it in the same turn.
fn broken(before: &Answer, error: ModelError) -> ModelError {
    let text = format!("{}{}", before.text, error.text).into();
    let usage = before.usage.and(*error.usage).into();
    ModelError { text, usage, received_any: true, ..error }
}
