//! What is about to leave: questions, tool runs, and calls that cannot be asked.

use std::sync::Arc;

use debate_core::call::Work;
use debate_core::command::Command;
use debate_core::event::{AttemptRef, CallStarted, Event, FailureKind, KernelEvent, ReplyFacts};
use debate_core::format::Format;
use debate_core::id::Timestamp;

use crate::engine_shared::EngineShared;
use crate::telemetry;
use crate::turn::Question;

/// Work that is about to start.
pub(super) enum PendingCall<F: Format> {
    Turn(Work, Arc<Question<F>>),
    Unaskable(Work, String),
    Tool(Work),
}

impl<F: Format> PendingCall<F> {
    pub(super) fn work(&self) -> &Work {
        match self {
            Self::Turn(work, _) | Self::Unaskable(work, _) | Self::Tool(work) => work,
        }
    }
}

pub(super) fn attempts_of<F: Format>(events: &[Event<F>]) -> Vec<AttemptRef> {
    let started = events.iter().filter_map(|event| match event {
        Event::Kernel(KernelEvent::CallStarted(started)) => Some(started),
        Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
    });
    let attempt = |started: &CallStarted| AttemptRef {
        call: started.call.clone(),
        revision: started.revision,
        attempt: started.attempt,
        turn: started.turn,
    };
    started.map(attempt).collect()
}

pub(super) fn unaskable<F: Format>(attempt: AttemptRef, message: String) -> Command<F> {
    Command::FailCall {
        attempt,
        failure: FailureKind::Denied,
        reply: ReplyFacts::default(),
        message,
        text: None,
    }
}

pub(super) async fn run_tool<F: Format>(
    shared: Arc<EngineShared>,
    (name, arguments): (String, String),
    as_of: Timestamp,
    work: Work,
) -> Command<F> {
    let begun = shared.env.now();
    let timeout = shared.settings.tool_timeout;
    let (ok, result) = shared.tools.run(F::NAME, &name, (&arguments, as_of), timeout).await;
    let latency_ms = shared.env.now().since_ms(begun);
    telemetry::tool_ran(&name, ok, latency_ms);
    Command::FinishTool { work, ok, latency_ms, result }
}
