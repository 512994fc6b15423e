//! The five opening arguments of the example request, asked for exactly as a debate asks.

use debate_core::call::Want;
use debate_core::debate::Debate;
use debate_core::event::Opened;
use debate_core::format::Format;
use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::prediction::Prediction;
use debate_core::prose::Prose;
use debate_engine::{Surroundings, thinking};
use debate_llm::{CallTime, ChatRequest, Message, ReplySchema};
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::{Prompt, Prompts as _, Received, Speaker};

/// The request whose openings are asked for.
const REQUEST: &str = include_str!("../../../../../examples/ice.json");

/// One opening argument.
pub(super) struct Opening {
    want: Want,
    visible: <Prediction as Format>::Visible,
    prompt: Prompt,
}

/// Returns the openings of the example request.
///
/// # Errors
/// The example is broken: a defect of this program.
pub(super) fn openings() -> anyhow::Result<Vec<Opening>> {
    let AcceptedRequest::Prediction(accepted) = accept(REQUEST)? else {
        anyhow::bail!("the example is not a prediction");
    };
    let surroundings = Surroundings::real();
    let now = surroundings.now();
    let opened = Opened::<Prediction> {
        format: Prediction::NAME.to_owned(),
        debate: surroundings.debate_id(),
        request_digest: accepted.digest,
        limits: accepted.limits,
        config: accepted.config,
        prose: Prose::new(accepted.brief),
    };
    let mut debate = Debate::opened(&opened, now);
    for event in opened.decide(now)?.iter().skip(1) {
        debate.apply(now, event)?;
    }
    let opening = |want: Want| {
        let visible = Prediction::visible(&debate, &want);
        let prompt = PredictionPrompts.render(&visible, &want, &[])?;
        Ok(Opening { want, visible, prompt })
    };
    debate.wanted_work().iter().map(|work| opening(work.want().clone())).collect()
}

impl Opening {
    /// Returns the request, with the limits that a debate sends.
    pub(super) fn request(&self, time: CallTime) -> ChatRequest {
        let Prompt { messages, shape, output_tokens_max, tokens, .. } = &self.prompt;
        let messages = messages.iter().map(|message| match message.speaker {
            Speaker::System => Message::system(message.text.clone()),
            Speaker::User => Message::user(message.text.clone()),
            Speaker::Assistant => Message::assistant(message.text.clone()),
        });
        let schema = shape.as_ref().map(|shape| ReplySchema::new(shape.name, (*shape.schema).clone()));
        ChatRequest {
            schema,
            thinking_tokens: thinking::ROOM_DEFAULT,
            input_tokens: Some(*tokens),
            waits_for_server: false,
            ..ChatRequest::new(messages.collect(), *output_tokens_max, time)
        }
    }

    /// Returns the most tokens of the prompt and of its visible answer.
    pub(super) fn tokens_max(&self) -> u32 {
        self.prompt.tokens + self.prompt.output_tokens_max
    }

    /// Returns the most tokens of the visible answer.
    pub(super) fn output_tokens_max(&self) -> u32 {
        self.prompt.output_tokens_max
    }

    /// Returns whether a debate could read an answer.
    pub(super) fn is_read(&self, text: &str) -> bool {
        PredictionPrompts.parse(&self.visible, &self.want, Received::whole(text)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k22_doctor_asks_for_the_five_openings_of_the_example() {
        let openings = openings().unwrap();
        assert_eq!(openings.len(), 5);
        for opening in &openings {
            let request = opening.request(CallTime::default());
            assert!(request.schema.is_some() && request.input_tokens.unwrap() > 300, "{request:?}");
            assert!(opening.output_tokens_max() >= 200 && !opening.is_read("ready"));
        }
    }
}
