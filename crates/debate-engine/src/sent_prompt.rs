//! The prompt of a request that is in the log, rendered again. The log keeps a digest of what was sent and not its text:
//! the text follows from the events before it and from the templates, which are this program's. This module reads
//! no store and calls no model.

use std::fmt;
use std::sync::Arc;

use debate_core::call::{Cause, Want};
use debate_core::envelope::Envelope;
use debate_core::event::{CallStarted, KernelEvent, PromptRef};
use debate_core::formats::any::{AnyReplayError, format_of};
use debate_core::record::Record as _;
use debate_prompts::catalog;
use debate_prompts::prompts::{Prompt, RenderError};
use debate_prompts::room::Room;

use crate::engine::Engine;

/// The prompt of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct SentPrompt {
    /// What the log says of it.
    pub sent: PromptRef,
    /// How what is rendered now compares with it.
    pub finding: Finding,
    /// What is rendered now; none where nothing is, or where words that it was made of are gone. Only where the digest
    /// agrees is it what was sent.
    pub rendered: Option<Prompt>,
}

/// How a prompt that is rendered again compares with what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It is what was sent, to the byte.
    Agrees,
    /// There was no prompt: the call failed before one could be made.
    NothingSent,
    /// Words that it was made of were deleted (rule K15).
    WordsDeleted,
    /// It was made of a template that is not this program's.
    OtherTemplate {
        /// The template that this program has instead.
        now: &'static str,
    },
    /// The template has the same name and other words.
    Differs,
    /// This program makes no prompt of it.
    NotRendered(RenderError),
}

impl Finding {
    /// Returns the name used on every interface.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::NothingSent => "nothing_sent",
            Self::WordsDeleted => "words_deleted",
            Self::OtherTemplate { .. } => "other_template",
            Self::Differs => "differs",
            Self::NotRendered(_) => "not_rendered",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agrees => f.write_str("rendered again from the log, digest agrees"),
            Self::NothingSent => f.write_str("no prompt could be made, so nothing was sent"),
            Self::WordsDeleted => {
                f.write_str("words that it was made of were deleted, so it cannot be rendered as it was sent")
            }
            Self::OtherTemplate { now } => write!(
                f,
                "rendered again from the log, digest does not agree: this program has the template {now}"
            ),
            Self::Differs => f.write_str(
                "rendered again from the log, digest does not agree: the words of this program's template are others",
            ),
            Self::NotRendered(why) => write!(f, "this program cannot render it again: {why}"),
        }
    }
}

/// The prompt of a request cannot be looked for.
#[derive(Debug, thiserror::Error)]
pub enum SentPromptError {
    /// The event does not begin a request to a model.
    #[error("{kind} does not begin a request to a model")]
    NoRequest {
        /// What it is.
        kind: String,
    },
    /// The format is not served here.
    #[error("the format {0:?} is not served here")]
    Format(String),
    /// The log does not fold.
    #[error(transparent)]
    Replay(#[from] AnyReplayError),
}

impl Engine {
    /// Renders the prompt of a request again. `log` is all that the debate is folded from up to the event that began the
    /// request, that event included, those shared with parents first.
    ///
    /// # Errors
    /// The last event begins no request, the format is not served here, or the log does not fold.
    pub fn sent_prompt(&self, log: &[Arc<Envelope>]) -> Result<SentPrompt, SentPromptError> {
        let (first, last) = (log.first(), log.last());
        let (first, last) = first.zip(last).ok_or(AnyReplayError::Empty)?;
        let started = started(last).ok_or_else(|| SentPromptError::NoRequest { kind: last.kind.clone() })?;
        let sent = started.prompt.clone();
        if sent == PromptRef::default() {
            return Ok(SentPrompt { sent, finding: Finding::NothingSent, rendered: None });
        }
        let before = &log[..made_at(log, &started)];
        let format = format_of(first).unwrap_or_default();
        let served = self.served_format(&format).ok_or(SentPromptError::Format(format))?;
        let rendered = served.render_again(
            self.shared(),
            before,
            &Want { call: started.call, revision: started.revision },
            Room { input_tokens_max: sent.input_max, output_tokens_max: sent.output_max, keeps_all: false },
        )?;
        let are_words_gone = before.iter().any(|event| event.is_redacted());
        let (finding, rendered) = match rendered {
            Ok((prompt, digest)) if digest == sent.digest => (Finding::Agrees, Some(prompt)),
            Ok((prompt, _)) if catalog::version(prompt.version) != sent.version => {
                (Finding::OtherTemplate { now: prompt.version }, Some(prompt))
            }
            Ok(_) | Err(RenderError::Redacted { .. }) if are_words_gone => (Finding::WordsDeleted, None),
            Ok((prompt, _)) => (Finding::Differs, Some(prompt)),
            Err(why) => (Finding::NotRendered(why), None),
        };
        // With words gone, what another template makes of the rest is no help to anybody.
        let rendered = rendered.filter(|_| finding == Finding::Agrees || !are_words_gone);
        Ok(SentPrompt { sent, finding, rendered })
    }
}

fn started(event: &Envelope) -> Option<CallStarted> {
    match KernelEvent::decode(&event.kind, event.version, &event.body, None) {
        Some(Ok(KernelEvent::CallStarted(started))) => Some(started),
        _ => None,
    }
}

/// Returns how many events there were when the prompt of the last one was made. A request that races another one has the
/// other's prompt, as it was made when that one left.
fn made_at(log: &[Arc<Envelope>], last: &CallStarted) -> usize {
    let before = log.len() - 1;
    if last.cause != Cause::Hedge {
        return before;
    }
    let is_raced = |event: &Arc<Envelope>| {
        started(event).is_some_and(|first| {
            first.cause != Cause::Hedge
                && (&first.call, first.revision, first.turn) == (&last.call, last.revision, last.turn)
        })
    };
    log[..before].iter().rposition(is_raced).unwrap_or(before)
}
