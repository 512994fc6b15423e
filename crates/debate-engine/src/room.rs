//! How a prompt and its answer share the context window of the model that is asked. A model whose window is not known
//! gets prompts as their budgets allow. Reads no server: windows are brought here.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use debate_core::call::{Thinking, Want};
use debate_core::debate::Debate;
use debate_core::event::Event;
use debate_core::format::Format;
use debate_core::id::Timestamp;
use debate_core::request::Violation;
use debate_llm::{ChatModel, Thinks, Window as Limits};
use debate_prompts::prompts::{Prompt, Prompts, RenderError};
use debate_prompts::room::Room;

use crate::engine_shared::EngineShared;
use crate::turn;

/// Tokens of a window that frame the messages of a prompt and end the answer.
const FRAME_TOKENS: u32 = 16;

/// The fewest tokens that are left to a visible answer, where it may have as many.
const ANSWER_TOKENS_MIN: u32 = 200;

/// The fewest tokens by which a prompt that is still too long gets more room.
const STEP_TOKENS: u32 = 32;

/// The share of a window that the first prompts of a debate must leave to what is said later: an eighth.
const LATER_SHARE: u32 = 8;

/// The field of a request that names no model: the model is the process's.
const MODEL: &str = "model";

/// The context windows of models, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Windows(Mutex<HashMap<String, Limits>>);

impl Windows {
    /// Sets the window of a model by its name.
    pub(crate) fn set(&self, model: &str, limits: Limits) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), limits);
    }

    /// Takes in the window that a model's server named when it refused a prompt; a smaller one that is known stays.
    pub(crate) fn learn(&self, model: &str, tokens: u32) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = windows.entry(model.to_owned()).or_insert(tokens.into());
        known.input_and_output = tokens.min(known.input_and_output);
    }

    fn are_unknown(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns the window of a model, if it is known.
    pub(crate) fn of(&self, model: &dyn ChatModel) -> Option<Window> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(model.name()).copied();
        known.map(|Limits { input_and_output, output_max }| Window {
            tokens: input_and_output,
            output_max: output_max.unwrap_or(u32::MAX),
            thinks: model.thinks() == Thinks::Yes,
        })
    }
}

/// The context window of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// The tokens that prompt, thinking and answer have together.
    tokens: u32,
    /// The most tokens of thinking and answer together.
    output_max: u32,
    /// Whether the model is known to think before it answers.
    thinks: bool,
}

impl Window {
    /// Returns the tokens that prompt and visible answer may share, next to at most so many of thinking.
    fn shared(self, thinking: u32) -> u32 {
        // A model that does not think, or may not, needs none set aside; it gets what is left over.
        let thinking = if self.thinks { thinking.min(self.tokens / 4) } else { 0 };
        self.tokens.saturating_sub(FRAME_TOKENS).saturating_sub(thinking)
    }

    /// Returns the thinking for which the window has room next to a prompt and its answer.
    pub(crate) fn thinking(self, prompt: &Prompt, thinking: Thinking) -> Thinking {
        let taken = FRAME_TOKENS.saturating_add(prompt.tokens).saturating_add(prompt.output_tokens_max);
        let left = self.tokens.saturating_sub(taken);
        let left = left.min(self.output_max.saturating_sub(prompt.output_tokens_max));
        Thinking { tokens: thinking.tokens.min(left), ..thinking }
    }

    fn fit<V>(
        self,
        (visible, prompt): (V, Prompt),
        shared: u32,
        render: impl Fn(Room) -> Result<(V, Prompt), RenderError>,
    ) -> Result<(V, Prompt, Room), RenderError> {
        let (whole, cap) = (prompt.tokens, prompt.output_tokens_max);
        let Some(mut split) = Split::of(shared, whole, cap) else {
            return Ok((visible, prompt, Room::default()));
        };
        let answer = cap.min(ANSWER_TOKENS_MIN);
        let mut error = RenderError::OverWindow { version: "", tokens: 0, answer, window: self.tokens };
        // Texts are left out before the answer has less than a quarter.
        for (keeps_all, least) in [(true, cap.min(shared / 4).max(answer)), (false, answer)] {
            let mut next = Some(split);
            while let Some(tried) = next {
                split = tried;
                let room = split.room(whole, cap);
                match render(Room { keeps_all, ..room }) {
                    Ok((visible, prompt)) => return Ok((visible, prompt, room)),
                    Err(RenderError::OverBudget { version, tokens, .. }) => {
                        error = RenderError::OverWindow { version, tokens, answer, window: self.tokens };
                        next = split.grown(shared, tokens, least);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Err(error)
    }
}

/// Renders a prompt so that its model's window, if known, has room for it and its answer; returns the room that it was
/// fitted to. `thinking` is what the model would be left to think.
///
/// # Errors
/// The smallest form of the prompt is too long, or it cannot be rendered at all.
pub(crate) fn fit<V>(
    window: Option<Window>,
    thinking: Thinking,
    render: impl Fn(Room) -> Result<(V, Prompt), RenderError>,
) -> Result<(V, Prompt, Room), RenderError> {
    let (visible, prompt) = render(Room::default())?;
    let Some(window) = window else { return Ok((visible, prompt, Room::default())) };
    let (shared, all) = (window.shared(thinking.tokens), window.shared(0));
    match window.fit((visible, prompt), shared, &render) {
        // Rather no thinking than no answer.
        Err(RenderError::OverWindow { .. }) if shared < all => {
            window.fit(render(Room::default())?, all, render)
        }
        fitted => fitted,
    }
}

/// Returns what is wrong with the models of a debate that starts with these events: a prompt of its first questions does
/// not fit the known window of its model even in its smallest form, or asks for a longer answer than the model gives.
pub(crate) fn violation<P: Prompts>(
    shared: &EngineShared,
    prompts: &P,
    start: &[Event<P::Format>],
    now: Timestamp,
) -> Option<Violation> {
    let [Event::Opened(opened), others @ ..] = start else { return None };
    if shared.windows.are_unknown() {
        return None;
    }
    let mut debate = Debate::opened(opened, now);
    others.iter().try_for_each(|event| debate.apply(now, event)).ok()?;
    debate.wanted_work().iter().find_map(|work| violation_of(shared, prompts, &debate, work.want()))
}

fn violation_of<P: Prompts>(
    shared: &EngineShared,
    prompts: &P,
    debate: &Debate<P::Format>,
    want: &Want,
) -> Option<Violation> {
    let config = debate.config();
    let named = P::Format::models(config, &want.call).first();
    let model = named.and_then(|name| shared.models.get(name)).unwrap_or(shared.models.default_model());
    let window = shared.windows.of(&**model)?;
    let render = |room| turn::render(prompts, debate, want, room);
    // What is said and found later needs room too.
    let later = window.tokens / LATER_SHARE;
    let shared = window.shared(0).saturating_sub(later);
    let whole = render(Room::default()).ok()?;
    let (answer, model) = (whole.1.output_tokens_max, model.name());
    let reason = if answer > window.output_max {
        format!(
            "{} asks for an answer of up to {answer} tokens; {model} gives at most {}: limit `{}` in \
             `output_tokens`, or choose another model",
            whole.1.version, window.output_max, want.call.kind
        )
    } else {
        let error = window.fit(whole, shared, render).err()?;
        let RenderError::OverWindow { version, tokens, answer, window } = error else { return None };
        format!(
            "{version} takes at least {tokens} tokens, its answer {answer} and what is said later {later}; the context \
             window of {model} has {window}: choose a model with a larger one, or say with --context-window what it has"
        )
    };
    let mut fields = P::Format::models_named(config).into_iter();
    let field = fields.find(|(_, name)| Some(name) == named).map_or(MODEL.to_owned(), |(field, _)| field);
    Some(Violation { field, reason })
}

/// What of a window a prompt and its visible answer have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Split {
    input: u32,
    output: u32,
}

impl Split {
    /// Shares tokens between a prompt of `whole` tokens and an answer of at most `cap`; none where both have room.
    ///
    /// The answer gives way first, down to half of the tokens, and then the prompt.
    fn of(shared: u32, whole: u32, cap: u32) -> Option<Self> {
        if whole.saturating_add(cap) <= shared {
            return None;
        }
        let output = shared.saturating_sub(whole).max(cap.min(shared / 2));
        Some(Self { input: shared - output, output })
    }

    /// Takes more from the answer, so that a prompt has room that takes at least `needed`; none where the answer has no
    /// more than `least`.
    fn grown(self, shared: u32, needed: u32, least: u32) -> Option<Self> {
        let most = shared.saturating_sub(least);
        let input = needed.max(self.input.saturating_add(STEP_TOKENS)).min(most);
        (self.input < most).then(|| Self { input, output: shared - input })
    }

    /// Returns the limits that this means for a prompt of `whole` tokens and an answer of at most `cap`.
    fn room(self, whole: u32, cap: u32) -> Room {
        Room {
            input_tokens_max: (self.input < whole).then_some(self.input),
            output_tokens_max: (self.output < cap).then_some(self.output),
            keeps_all: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use debate_prompts::prompts::PublicPart;

    use super::*;

    const THINKING: Thinking = Thinking { effort: None, tokens: 8_192 };

    /// Fits a prompt of `whole` tokens that takes `short` with all its texts cut and `least` without some of them; returns
    /// its room and its thinking.
    fn fitted(
        window: (u32, bool),
        (whole, short, least): (u32, u32, u32),
        cap: u32,
    ) -> Result<(Option<u32>, Option<u32>, u32), RenderError> {
        let (tokens, thinks) = window;
        let window = Window { tokens, output_max: u32::MAX, thinks };
        let render = |room: Room| {
            let budget = room.input(whole);
            let least = if room.keeps_all { short } else { least };
            if budget < least {
                return Err(RenderError::OverBudget { version: "test@1", tokens: least, budget });
            }
            let prompt = Prompt {
                version: "test@1",
                messages: Vec::new(),
                shape: None,
                output_tokens_max: room.output(cap),
                tokens: budget,
                omitted: Vec::new(),
                public: PublicPart::Nothing,
                web_search: false,
                web_searches_max: None,
            };
            Ok(((), prompt))
        };
        let ((), prompt, room) = fit(Some(window), THINKING, render)?;
        let thinking = window.thinking(&prompt, THINKING).tokens;
        assert!(prompt.tokens + prompt.output_tokens_max + thinking + FRAME_TOKENS <= tokens);
        Ok((room.input_tokens_max, room.output_tokens_max, thinking))
    }

    #[test]
    fn p15_window_is_shared_between_prompt_and_answer() {
        for (window, prompt, cap, expected) in [
            // Both have room: thinking gets what is left.
            ((32_768, false), (600, 400, 400), 500, (None, None, 8_192)),
            ((2_048, false), (600, 400, 400), 500, (None, None, 932)),
            ((2_048, true), (600, 400, 400), 500, (None, None, 932)),
            // The answer gives way, down to half of the window.
            ((2_048, false), (900, 400, 400), 2_000, (None, Some(1_132), 0)),
            ((2_048, false), (1_500, 400, 400), 2_000, (Some(1_016), Some(1_016), 0)),
            // Then texts are cut.
            ((4_096, false), (5_000, 400, 400), 2_000, (Some(2_080), None, 0)),
            ((1_024, false), (600, 400, 400), 500, (Some(508), None, 0)),
            // Then the answer gives way again, down to a quarter, and texts are left out.
            ((1_024, false), (900, 600, 600), 500, (Some(600), Some(408), 0)),
            ((1_024, false), (900, 756, 500), 500, (Some(756), Some(252), 0)),
            ((1_024, false), (900, 757, 500), 500, (Some(756), Some(252), 0)),
            // At last the answer has 200 tokens, or all that it may have.
            ((1_024, false), (900, 900, 808), 500, (Some(808), Some(200), 0)),
            ((1_024, false), (900, 858, 858), 150, (Some(858), None, 0)),
            // A model that thinks keeps up to a quarter of the window for it, where a prompt is left.
            ((2_048, true), (1_500, 400, 400), 500, (Some(1_020), None, 512)),
            ((1_024, true), (900, 700, 600), 500, (Some(700), Some(308), 0)),
        ] {
            assert_eq!(fitted(window, prompt, cap), Ok(expected), "{window:?} {prompt:?} {cap}");
        }
    }

    #[test]
    fn p15_prompt_is_refused_where_no_answer_has_room() {
        let error = fitted((1_024, false), (900, 809, 809), 500).unwrap_err();
        assert_eq!(
            error.to_string(),
            "test@1 takes at least 809 tokens and its answer 200; the model's context window has 1024"
        );
        assert!(fitted((0, true), (900, 1, 1), 500).is_err());
    }
}
