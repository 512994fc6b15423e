//! The five opening arguments of the example request, asked for exactly as a debate asks.

use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::config::Preset;
use debate_engine::thinking;
use debate_llm::{CallTime, ChatRequest, Message, ReplySchema};
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::{Prompt, Prompts as _, Received, Speaker};

use crate::first_prompts::{self, FirstPrompt};

/// The request whose openings are asked for.
const REQUEST: &str = include_str!("../../../../../examples/ice.json");

/// One opening argument.
pub(super) struct Opening(FirstPrompt<Prediction>);

/// Returns the openings of the example request.
///
/// # Errors
/// The example is broken: a defect of this program.
pub(super) fn openings() -> anyhow::Result<Vec<Opening>> {
    let AcceptedRequest::Prediction(mut accepted) = accept(REQUEST)? else {
        anyhow::bail!("the example is not a prediction");
    };
    accepted.take_preset(Preset::Standard);
    let first = first_prompts::of(&PredictionPrompts, *accepted)?.into_iter();
    Ok(first.map(Opening).collect())
}

impl Opening {
    /// Returns the request, with the limits that a debate sends.
    pub(super) fn request(&self, time: CallTime) -> ChatRequest {
        let Prompt { messages, shape, output_tokens_max, tokens, .. } = &self.0.prompt;
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
        self.0.prompt.tokens + self.0.prompt.output_tokens_max
    }

    /// Returns the most tokens of the visible answer.
    pub(super) fn output_tokens_max(&self) -> u32 {
        self.0.prompt.output_tokens_max
    }

    /// Returns whether a debate could read an answer.
    pub(super) fn is_read(&self, text: &str) -> bool {
        PredictionPrompts.parse(&self.0.visible, &self.0.want, Received::whole(text)).is_ok()
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
