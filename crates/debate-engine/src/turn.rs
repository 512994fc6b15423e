//! One model turn: from what a call may see to the command that its reply becomes.

use std::sync::Arc;
use std::time::Duration;

use debate_core::call::{Effort, Ended, Reserved, Thinking, Tokens, Usage, Want, Work};
use debate_core::command::{BeginCall, Command};
use debate_core::debate::Debate;
use debate_core::event::{AttemptRef, FailureKind, PromptRef, ReplyFacts, ReplyProse, WebSource};
use debate_core::format::Format;
use debate_core::id::Digest;
use debate_core::prices::Price;
use debate_core::prose::Prose;
use debate_llm::{CallTime, ChatModel, ChatReply, ChatRequest, Ending, Message, ModelError, ModelErrorKind};
use debate_prompts::catalog;
use debate_prompts::prompts::{Prompt, Prompts, Reading, Received, RenderError, Speaker};
use debate_prompts::room::Room;
use debate_prompts::{again, retry};

use tokio::time::Instant;

use crate::engine_shared::EngineShared;
use crate::live::Live;
use crate::room::Windows;
use crate::send_time::{ChunkForwarder, SendTime};

/// The longest wait that a provider can ask for before its failure counts.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);

/// A request that is ready to leave.
pub(crate) struct Question<F: Format> {
    pub(crate) want: Want,
    pub(crate) visible: F::Visible,
    pub(crate) prompt: Prompt,
    /// The room that the prompt was fitted to.
    pub(crate) room: Room,
    /// The model that is asked.
    pub(crate) model: Arc<dyn ChatModel>,
    /// Whether another model stands in if this one cannot be had.
    pub(crate) has_stand_in: bool,
    /// What the model costs, if that is known.
    pub(crate) price: Option<Price>,
    /// What is left to thinking.
    pub(crate) thinking: Thinking,
    /// Whether no other attempt follows if this one fails.
    pub(crate) is_last: bool,
    pub(crate) request: ChatRequest,
}

/// How a question is asked this time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking<'a> {
    /// For whom.
    pub(crate) tenant: &'a str,
    /// The failures of the question so far.
    pub(crate) failures: u32,
    /// The failures after which it has failed for good.
    pub(crate) attempts_max: u32,
    /// What is left to thinking.
    pub(crate) thinking: Thinking,
    /// When an answer is of no use any more; never when absent.
    pub(crate) give_up_at: Option<Instant>,
}

impl<F: Format> Question<F> {
    /// Builds the request of a rendered prompt.
    pub(crate) fn new(
        want: Want,
        visible: F::Visible,
        (prompt, room): (Prompt, Room),
        (model, has_stand_in): (Arc<dyn ChatModel>, bool),
        shared: &EngineShared,
        asking: Asking<'_>,
    ) -> Self {
        let Asking { tenant, failures, thinking, .. } = asking;
        let time = CallTime { give_up_at: asking.give_up_at, ..shared.settings.call_time };
        let request = ChatRequest {
            tenant: tenant.into(),
            time,
            waits_for_server: !has_stand_in,
            thinking_tokens: thinking.tokens,
            effort: thinking.effort.map(effort_of),
            ..request(&prompt, shared, failures)
        };
        let price = shared.prices.get(model.name());
        let is_last = failures + 1 >= asking.attempts_max;
        Self { want, visible, prompt, room, model, has_stand_in, price, thinking, is_last, request }
    }

    /// Returns the same question for a second request that races the first.
    pub(crate) fn raced(&self) -> Self {
        let request = ChatRequest { race: self.request.race + 1, ..self.request.clone() };
        let (want, visible, prompt) = (self.want.clone(), self.visible.clone(), self.prompt.clone());
        let (model, has_stand_in, price) = (Arc::clone(&self.model), self.has_stand_in, self.price);
        let (room, thinking, is_last) = (self.room, self.thinking, self.is_last);
        Self { want, visible, prompt, room, model, has_stand_in, price, thinking, is_last, request }
    }

    /// Returns what the log says when it is sent; a second request says what must be left for others.
    pub(crate) fn begin(&self, work: &Work, hedge: Option<Reserved>) -> BeginCall {
        BeginCall {
            work: work.clone(),
            hedge,
            model: self.model.name().to_owned(),
            prompt: self.prompt_ref(),
            reserved: self.reserved(),
            thinking: self.thinking,
        }
    }

    /// Returns what the log says of the prompt.
    pub(crate) fn prompt_ref(&self) -> PromptRef {
        PromptRef {
            version: catalog::version(self.prompt.version),
            digest: Digest(self.request.prompt_digest()),
            tokens: self.prompt.tokens,
            omitted: self.prompt.omitted.clone(),
            input_max: self.room.input_tokens_max,
            output_max: self.room.output_tokens_max,
        }
    }

    /// Returns the most that the request can use.
    pub(crate) fn reserved(&self) -> Reserved {
        let output = u64::from(self.prompt.output_tokens_max) + u64::from(self.thinking.tokens);
        let input = self.prompt.tokens.into();
        let cost_micros = self.price.map(|price| price.most(Tokens { input, output }));
        Reserved { input, output, cost_micros }
    }
}

/// Renders the prompt of a question's next turn from the state of its debate, and returns it with what it was rendered
/// from: the same state, templates and room give the same prompt, whenever it is asked for.
pub(crate) fn render<P: Prompts>(
    prompts: &P,
    debate: &Debate<P::Format>,
    want: &Want,
    room: Room,
) -> Result<(<P::Format as Format>::Visible, Prompt), RenderError> {
    let call = debate.call(&want.call).filter(|call| call.revision == want.revision);
    let visible = P::Format::visible(debate, want);
    let turns = call.map_or(&[][..], |call| &call.turns);
    let unusable = call.and_then(|call| call.unusable.as_ref()).map(Prose::shown);
    let reason_tokens = unusable.flatten().map_or(0, |failure| again::tokens(&failure.message));
    let rendered = prompts.render_within(&visible, want, turns, room.without(reason_tokens));
    let mut prompt = rendered.map_err(|error| match error {
        RenderError::OverBudget { version, tokens, budget } => {
            let (tokens, budget) =
                (tokens.saturating_add(reason_tokens), budget.saturating_add(reason_tokens));
            RenderError::OverBudget { version, tokens, budget }
        }
        error => error,
    })?;
    if let Some(tokens) = P::Format::asking(debate.config(), &want.call).output_tokens {
        prompt.output_tokens_max = room.output(tokens);
    }
    if let Some(unusable) = unusable {
        let failure = unusable.ok_or(RenderError::Redacted { version: prompt.version })?;
        retry::ask_again(&mut prompt, &failure.message);
    }
    Ok((visible, prompt))
}

/// Returns the request of a rendered prompt; `failures` are those of this question so far.
pub(crate) fn request(prompt: &Prompt, shared: &EngineShared, failures: u32) -> ChatRequest {
    let messages = prompt.messages.iter().map(|message| match message.speaker {
        Speaker::System => Message::system(Arc::clone(&message.text)),
        Speaker::User => Message::user(Arc::clone(&message.text)),
        Speaker::Assistant => Message::assistant(Arc::clone(&message.text)),
    });
    ChatRequest {
        schema: prompt.shape.as_ref().map(|shape| shared.schemas.of(shape)),
        attempt: failures,
        input_tokens: Some(prompt.tokens),
        web_search: prompt.web_search,
        web_searches_max: prompt.web_searches_max,
        ..ChatRequest::new(messages.collect(), prompt.output_tokens_max, shared.settings.call_time)
    }
}

/// Calls a model and reads its reply. Forwards the text to the subscribers and records the send time.
pub(crate) async fn ask<P: Prompts>(
    prompts: &P,
    question: &Question<P::Format>,
    attempt: AttemptRef,
    (live, send_time): (&Live, &SendTime),
    windows: &Windows,
) -> Command<P::Format> {
    let mut voice = live.voice(attempt.clone(), question.prompt.public);
    let mut ear = ChunkForwarder { voice: &mut voice, send_time };
    let answered = question.model.complete(&question.request, &mut ear).await;
    voice.finish();
    match answered {
        Ok(reply) => read(prompts, question, attempt, reply),
        Err(error) => {
            if let ModelErrorKind::WindowExceeded { window: Some(tokens) } = error.kind {
                windows.learn(question.model.name(), tokens);
            }
            // Asked again at once, a provider that wants to be left alone would use up the question's attempts.
            let wait = error.retry_after().filter(|_| error.should_ask_again() && !question.has_stand_in);
            if let Some(wait) = wait {
                tokio::time::sleep(wait.min(RETRY_AFTER_MAX)).await;
            }
            failed(attempt, &error, question.price)
        }
    }
}

fn read<P: Prompts>(
    prompts: &P,
    question: &Question<P::Format>,
    attempt: AttemptRef,
    reply: ChatReply,
) -> Command<P::Format> {
    let mut facts = facts_of(&reply, question.price);
    let fail = |failure, reply_facts, message: String, text| Command::FailCall {
        attempt: attempt.clone(),
        failure,
        reply: reply_facts,
        message,
        text: Some(text),
    };
    match reply.ending {
        Ending::Refused => {
            return fail(FailureKind::Refused, facts, "the provider's filter cut it".into(), reply.text);
        }
        Ending::CutInThinking => {
            let message = cut_in_thinking(question);
            return fail(FailureKind::Truncated, facts, message, reply.text);
        }
        // Adapters end these as errors; what comes so all the same is no whole answer.
        Ending::Paused | Ending::Failed | Ending::Unknown => {
            let message = format!("the answer ended with {:?}", reply.stop_reason.as_deref().unwrap_or(""));
            return fail(FailureKind::Truncated, facts, message, reply.text);
        }
        Ending::CutInText | Ending::Complete | Ending::ToolCalls => {}
    }
    let is_cut = reply.ending == Ending::CutInText;
    let received = Received { text: &reply.text, is_cut, is_last: question.is_last };
    match prompts.parse(&question.visible, &question.want, received) {
        Ok(Reading::Answer { answer, repairs }) => {
            facts.repairs = repairs;
            let prose = prose_of(reply);
            Command::FinishCall { attempt, reply: facts, prose, answer }
        }
        Ok(Reading::Tools(tools)) => {
            let prose = prose_of(reply);
            Command::AnswerTurn { attempt, reply: facts, prose, tools }
        }
        Err(error) => {
            let kind = if is_cut { FailureKind::Truncated } else { FailureKind::Unreadable };
            fail(kind, facts, error.why, reply.text)
        }
    }
}

/// Says that thinking used up the limit of an answer, and what helps.
fn cut_in_thinking<F: Format>(question: &Question<F>) -> String {
    let limit = question.prompt.output_tokens_max + question.thinking.tokens;
    format!(
        "thinking used up the limit of {limit} output tokens before the answer began; \
         raise options.limits.thinking_tokens_each or lower options.effort"
    )
}

fn effort_of(effort: Effort) -> debate_llm::Effort {
    match effort {
        Effort::None => debate_llm::Effort::None,
        Effort::Low => debate_llm::Effort::Low,
        Effort::Medium => debate_llm::Effort::Medium,
        Effort::High => debate_llm::Effort::High,
    }
}

fn prose_of(reply: ChatReply) -> ReplyProse {
    let page = |source: debate_llm::WebSource| {
        let debate_llm::WebSource { url, title, cited_text } = source;
        WebSource { url, title, cited_text }
    };
    let web_sources = reply.web_sources.into_iter().map(page).collect();
    ReplyProse { text: reply.text, reasoning: reply.reasoning, web_sources }
}

pub(crate) fn facts_of(reply: &ChatReply, price: Option<Price>) -> ReplyFacts {
    let usage = usage_of(reply.usage);
    ReplyFacts {
        usage,
        cost_micros: price.and_then(|price| price.of(&usage)),
        latency_ms: u64::try_from(reply.latency.as_millis()).unwrap_or(u64::MAX),
        wire_retries: reply.wire_retries,
        provider_tool_runs: u32::try_from(reply.tool_calls.iter().filter(|call| call.by_provider).count())
            .unwrap_or(u32::MAX),
        web_sources: u32::try_from(reply.web_sources.len()).unwrap_or(u32::MAX),
        request_id: reply.request_id.clone(),
        digest: Digest::of_text(&reply.text),
        ended: Some(ended_of(reply.ending)),
        stop_reason: reply.stop_reason.clone(),
        repairs: Vec::new(),
        begun: false,
    }
}

fn ended_of(ending: Ending) -> Ended {
    match ending {
        Ending::Complete => Ended::Complete,
        Ending::ToolCalls => Ended::ToolCalls,
        Ending::CutInThinking => Ended::CutInThinking,
        Ending::CutInText => Ended::CutInText,
        Ending::Refused => Ended::Refused,
        Ending::Paused => Ended::Paused,
        Ending::Failed => Ended::Failed,
        Ending::Unknown => Ended::Unknown,
    }
}

fn usage_of(usage: debate_llm::Usage) -> Usage {
    Usage { input: usage.input, output: usage.output, cached: usage.cached, reasoning: usage.reasoning }
}

fn failed<F: Format>(attempt: AttemptRef, error: &ModelError, price: Option<Price>) -> Command<F> {
    let usage = usage_of(*error.usage);
    Command::FailCall {
        attempt,
        failure: failure_of(&error.kind),
        reply: ReplyFacts {
            usage,
            cost_micros: price.and_then(|price| price.of(&usage)),
            wire_retries: error.wire_retries.into(),
            request_id: error.request_id.as_deref().map(str::to_owned),
            ended: error.ending.map(ended_of),
            stop_reason: error.stop_reason.as_deref().map(str::to_owned),
            begun: error.received_any,
            ..ReplyFacts::default()
        },
        message: error.to_string(),
        text: Some(error.text.to_string()).filter(|text| !text.is_empty()),
    }
}

pub(crate) fn failure_of(kind: &ModelErrorKind) -> FailureKind {
    match kind {
        ModelErrorKind::RateLimited { .. }
        | ModelErrorKind::Overloaded { .. }
        | ModelErrorKind::CircuitOpen { .. } => FailureKind::Overloaded,
        ModelErrorKind::Server { .. }
        | ModelErrorKind::Connection
        | ModelErrorKind::StreamError
        // The next attempt is fitted to the window that the error names (R12).
        | ModelErrorKind::WindowExceeded { window: Some(_) }
        | ModelErrorKind::Cancelled => FailureKind::Unavailable,
        ModelErrorKind::Timeout(_) => FailureKind::Timeout,
        ModelErrorKind::Auth
        | ModelErrorKind::UnknownModel
        | ModelErrorKind::QuotaExhausted
        | ModelErrorKind::BadRequest
        | ModelErrorKind::WindowExceeded { window: None } => FailureKind::Denied,
        ModelErrorKind::Malformed | ModelErrorKind::TooLarge => FailureKind::Unreadable,
        ModelErrorKind::Truncated => FailureKind::Truncated,
        ModelErrorKind::Refused => FailureKind::Refused,
    }
}
