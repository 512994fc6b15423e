//! Describes each event in one line. Every view of events shows the same line.

mod deliberation;
mod investigation;
mod kernel;
mod prediction;
mod review;
mod roundtable;

use debate_core::codec::{self, DecodeError};
use debate_core::debate::Debate;
use debate_core::envelope::Envelope;
use debate_core::event::Event;
use debate_core::format::Format;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::Role;

use crate::page::clipped;

/// The widest text of people or models within a line.
const QUOTE_COLUMNS_MAX: usize = 120;

/// How much an event matters to somebody who follows a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Book-keeping: a question is asked, a reply has arrived.
    Detail,
    /// Somebody did something.
    Step,
    /// Something went wrong and was dealt with.
    Trouble,
    /// The debate as a whole moved on.
    Mark,
}

/// One event, described in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventLine {
    /// How much it matters.
    pub(crate) weight: Severity,
    /// The role that the event is about; `None` if the event is about the debate.
    pub(crate) who: Option<Role>,
    /// What happened.
    pub(crate) text: String,
}

impl EventLine {
    fn new(weight: Severity, who: Option<&Role>, text: impl Into<String>) -> Self {
        Self { weight, who: who.cloned(), text: text.into() }
    }

    /// Returns the line with its subject.
    pub(crate) fn line(&self) -> String {
        match &self.who {
            Some(who) => format!("{who}: {}", self.text),
            None => self.text.clone(),
        }
    }
}

/// A format whose facts can be described.
pub(crate) trait Tell: Format {
    /// Describes a fact of a debate. The debate already includes the fact.
    fn tell(debate: &Debate<Self>, fact: &Self::Fact) -> EventLine;
}

/// Describes a stored event of a debate. The debate already includes the event.
pub(crate) fn tell(debate: &AnyDebate, envelope: &Envelope) -> Result<EventLine, DecodeError> {
    match debate {
        AnyDebate::Prediction(debate) => describe::<Prediction>(debate, envelope),
        AnyDebate::Deliberation(debate) => describe::<Deliberation>(debate, envelope),
        AnyDebate::Roundtable(debate) => describe::<Roundtable>(debate, envelope),
        AnyDebate::Review(debate) => describe::<Review>(debate, envelope),
        AnyDebate::Investigation(debate) => describe::<Investigation>(debate, envelope),
    }
}

fn describe<F: Tell>(debate: &Debate<F>, envelope: &Envelope) -> Result<EventLine, DecodeError> {
    let recorded = codec::decode::<F>(envelope)?;
    Ok(match &recorded.event {
        Event::Opened(_) => {
            let title = F::title(debate.brief()).unwrap_or_else(|| debate_core::prose::REDACTED.to_owned());
            EventLine::new(Severity::Mark, None, format!("opened: {}", quoted(&title)))
        }
        Event::Kernel(event) => kernel::tell(event),
        Event::Fact(fact) => F::tell(debate, fact),
    })
}

/// Returns a text of people or models as a piece of a line.
fn quoted(text: &str) -> String {
    clipped(text, QUOTE_COLUMNS_MAX)
}
