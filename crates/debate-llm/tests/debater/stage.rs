//! Runs a whole debate with the simulated model: kernel, prompts and model, no engine and no store.

use std::sync::Arc;
use std::time::Duration;

use debate_core::call::{Tokens, Usage, Want, Work};
use debate_core::command::{BeginCall, Command};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::event::{
    AttemptRef, Event, FailureKind, KernelEvent, Opened, PromptRef, ReplyFacts, ReplyProse,
};
use debate_core::format::Format;
use debate_core::formats::accept::Accepted;
use debate_core::id::{DebateId, Digest, Timestamp};
use debate_core::prose::Prose;
use debate_llm::{ChatModel, ChatRequest, Debater, Message, ReplySchema, SimulatedModel, debater};
use debate_prompts::prompts::{Prompt, Prompts, Reading, Speaker};
use tokio::runtime::Runtime;
use uuid::Uuid;

const AT: Timestamp = Timestamp(1_770_000_000_000);

/// One question with its answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) want: Want,
    pub(crate) prompt: String,
    pub(crate) tokens_max: u32,
    /// The reply's text, or the kind of the model's error.
    pub(crate) reply: Result<String, &'static str>,
    /// What had to be repaired to read it; the error where it could not be read.
    pub(crate) repairs: Result<Vec<String>, String>,
}

/// A debate that has ended.
#[derive(Debug)]
pub(crate) struct Ended<F: Format> {
    pub(crate) debate: Debate<F>,
    pub(crate) exchanges: Vec<Exchange>,
    /// The rules named in rejections, in order.
    pub(crate) rejections: Vec<Vec<String>>,
}

/// Makes a model of settings such as `simulated:seed=7,refused=0.1`.
pub(crate) fn model(settings: &str) -> SimulatedModel<Debater> {
    debater(settings.parse().unwrap())
}

/// Runs a debate to its end.
pub(crate) fn run<P: Prompts>(
    prompts: &P,
    accepted: &Accepted<P::Format>,
    model: &SimulatedModel<Debater>,
) -> Ended<P::Format> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut stage = Stage::open(accepted);
    for _ in 0..2_000 {
        let work = stage.ended.debate.wanted_work();
        if work.is_empty() {
            break;
        }
        for work in work {
            stage.turn(prompts, work, model, &runtime);
        }
    }
    assert_eq!(stage.ended.debate.lifecycle(), Lifecycle::Concluded, "the debate ends");
    stage.ended
}

struct Stage<F: Format> {
    ended: Ended<F>,
}

impl<F: Format> Stage<F> {
    fn open(accepted: &Accepted<F>) -> Self {
        let opened = Opened::<F> {
            format: F::NAME.to_owned(),
            debate: DebateId(Uuid::nil()),
            request_digest: accepted.digest,
            limits: accepted.limits,
            config: accepted.config.clone(),
            models: None,
            prose: Prose::new(accepted.brief.clone()),
        };
        let mut debate = Debate::opened(&opened, AT);
        let events = opened.decide(AT).unwrap();
        for event in &events[1..] {
            debate.apply(AT, event).unwrap();
        }
        Self { ended: Ended { debate, exchanges: Vec::new(), rejections: Vec::new() } }
    }

    fn decide(&mut self, command: Command<F>) -> Vec<Event<F>> {
        let events = self.ended.debate.decide(AT, command).unwrap();
        for event in &events {
            self.ended.debate.apply(AT, event).unwrap();
            if let Event::Kernel(KernelEvent::AnswerRejected(rejected)) = event {
                self.ended.rejections.push(rejected.rules.clone());
            }
        }
        events
    }

    /// Runs a tool that finds nothing; an equal question that was answered is answered by that.
    fn look_up(&mut self, work: Work) {
        let begun = self.decide(Command::BeginTool(work.clone()));
        if matches!(begun.first(), Some(Event::Kernel(KernelEvent::ToolStarted(_)))) {
            let result = "(simulated) nothing was found".to_owned();
            self.decide(Command::FinishTool { work, ok: true, latency_ms: 1, result });
        }
    }

    fn turn<P: Prompts<Format = F>>(
        &mut self,
        prompts: &P,
        work: Work,
        model: &SimulatedModel<Debater>,
        runtime: &Runtime,
    ) {
        if !self.ended.debate.wanted_work().contains(&work) {
            return;
        }
        let Work::Turn { want, turn } = work.clone() else {
            self.look_up(work);
            return;
        };
        let visible = F::visible(&self.ended.debate, &want);
        let turns = self.ended.debate.call(&want.call).map_or_else(Vec::new, |call| call.turns.clone());
        let prompt = prompts.render(&visible, &want, &turns).unwrap();
        let failures = self.ended.debate.call(&want.call).map_or(0, |call| call.failures);
        let request = request(&prompt, failures);
        let begun = self.decide(Command::BeginCall(BeginCall {
            work,
            hedge: None,
            model: model.name().to_owned(),
            prompt: PromptRef {
                version: prompt.version.to_owned(),
                digest: Digest(request.prompt_digest()),
                tokens: prompt.tokens,
                ..PromptRef::default()
            },
            reserved: Tokens { input: u64::from(prompt.tokens), output: u64::from(prompt.output_tokens_max) }
                .into(),
            thinking: debate_core::call::Thinking::default(),
        }));
        let Some(Event::Kernel(KernelEvent::CallStarted(started))) = begun.first() else { return };
        let attempt =
            AttemptRef { call: want.call.clone(), revision: want.revision, attempt: started.attempt, turn };
        let answered = runtime.block_on(model.complete(&request, &mut |_: &str| {}));
        let fail = |failure, text| Command::FailCall {
            attempt: attempt.clone(),
            failure,
            reply: ReplyFacts::default(),
            message: "it failed".to_owned(),
            text,
        };
        let mut repairs = Ok(Vec::new());
        let reply = answered.map_err(|error| error.kind.label());
        let command = match &reply {
            Err(_) => fail(FailureKind::Refused, None),
            Ok(reply) => {
                let (input, output, cached) = (reply.usage.input, reply.usage.output, reply.usage.cached);
                let facts = ReplyFacts {
                    usage: Usage { input, output, cached, reasoning: None },
                    ..ReplyFacts::default()
                };
                let prose = ReplyProse { text: reply.text.clone(), ..ReplyProse::default() };
                match prompts.parse(&visible, &want, debate_prompts::prompts::Received::whole(&reply.text)) {
                    Ok(Reading::Answer { answer, repairs: repaired }) => {
                        repairs = Ok(repaired);
                        Command::FinishCall { attempt, reply: facts, prose, answer }
                    }
                    Ok(Reading::Tools(tools)) => Command::AnswerTurn { attempt, reply: facts, prose, tools },
                    Err(error) => {
                        repairs = Err(error.why);
                        fail(FailureKind::Unreadable, Some(reply.text.clone()))
                    }
                }
            }
        };
        self.decide(command);
        let shown: Vec<&str> = prompt.messages.iter().map(|message| &*message.text).collect();
        self.ended.exchanges.push(Exchange {
            want,
            prompt: shown.join("\n\n"),
            tokens_max: prompt.output_tokens_max,
            reply: reply.map(|reply| reply.text),
            repairs,
        });
    }
}

/// Makes the request of a prompt.
pub(crate) fn request(prompt: &Prompt, failures: u32) -> ChatRequest {
    let messages = prompt.messages.iter().map(|message| match message.speaker {
        Speaker::System => Message::system(Arc::clone(&message.text)),
        Speaker::User => Message::user(Arc::clone(&message.text)),
        Speaker::Assistant => Message::assistant(Arc::clone(&message.text)),
    });
    ChatRequest {
        schema: prompt.shape.as_ref().map(|shape| ReplySchema::new(shape.name, (*shape.schema).clone())),
        attempt: failures,
        ..ChatRequest::new(messages.collect(), prompt.output_tokens_max, Duration::from_secs(60))
    }
}
