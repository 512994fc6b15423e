//! Making the request of a question: which model is asked, with how much thinking, within which window and time.

use std::sync::Arc;
use std::time::Duration;

use debate_core::call::Want;
use debate_core::debate::Debate;
use debate_llm::ChatModel;
use debate_prompts::prompts::Prompts;
use tokio::time::Instant;

use super::Driver;
use crate::binding;
use crate::turn::{self, Asking, Question};
use crate::{room, thinking};

/// How long after the deadline a call gives up by itself.
const GRACE: Duration = Duration::from_secs(1);

impl<P: Prompts> Driver<P> {
    /// Returns a request that is ready to leave, or why it cannot be made.
    pub(super) fn question(
        &self,
        debate: &Debate<P::Format>,
        want: &Want,
    ) -> Result<Question<P::Format>, String> {
        let call = debate.call(&want.call).filter(|call| call.revision == want.revision);
        let model = self.model(debate, want, call.map_or(0, |call| call.moves))?;
        let now = self.shared.env.now();
        let thinking = thinking::of(debate, &want.call, &*model.0, (&self.shared.paces, now));
        let window = self.shared.windows.of(&*model.0);
        let render = |room| turn::render(&*self.prompts, debate, want, room);
        let rendered = room::fit(window, thinking, render);
        let (visible, prompt, room) = rendered.map_err(|error| error.to_string())?;
        let until = debate.limits().has_deadline().then(|| self.shared.env.until(debate.deadline_at()));
        let asking = Asking {
            tenant: &self.journal.tenant,
            failures: call.map_or(0, |call| call.failures),
            attempts_max: debate.limits().attempts_max,
            thinking: window.map_or(thinking, |window| window.thinking(&prompt, thinking)),
            // The driver gives up first, at the deadline itself.
            give_up_at: until.map(|until| Instant::now() + until + GRACE),
        };
        Ok(Question::new(want.clone(), visible, (prompt, room), model, &self.shared, asking))
    }

    /// Returns the model that a call is put to after so many others could not be had, and whether yet another stands in.
    fn model(
        &self,
        debate: &Debate<P::Format>,
        want: &Want,
        moves: u32,
    ) -> Result<(Arc<dyn ChatModel>, bool), String> {
        let models = &self.shared.models;
        let named = debate.models_for(&want.call);
        let Some(name) = named.get(moves as usize).or(named.last()) else {
            return Ok((Arc::clone(models.default_model()), false));
        };
        let has_stand_in = named.len() > moves as usize + 1;
        let model = binding::offered(&self.shared, name).cloned();
        let model = model.ok_or_else(|| format!("{name} is not offered by this process"))?;
        Ok((model, has_stand_in))
    }
}
