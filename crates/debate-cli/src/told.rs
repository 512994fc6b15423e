//! Events in words: one line for each, the same wherever events are shown.

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

/// One event in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// How much it matters.
    pub(crate) weight: Severity,
    /// Whom it is about; nobody where it is about the debate.
    pub(crate) who: Option<Role>,
    /// What happened.
    pub(crate) text: String,
}

impl Told {
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

/// A format whose facts can be told.
pub(crate) trait Tell: Format {
    /// Tells a fact of a debate that it was folded into already.
    fn tell(debate: &Debate<Self>, fact: &Self::Fact) -> Told;
}

/// Tells a stored event of a debate that it was folded into already.
pub(crate) fn tell(debate: &AnyDebate, envelope: &Envelope) -> Result<Told, DecodeError> {
    match debate {
        AnyDebate::Prediction(debate) => told::<Prediction>(debate, envelope),
        AnyDebate::Deliberation(debate) => told::<Deliberation>(debate, envelope),
        AnyDebate::Roundtable(debate) => told::<Roundtable>(debate, envelope),
        AnyDebate::Review(debate) => told::<Review>(debate, envelope),
        AnyDebate::Investigation(debate) => told::<Investigation>(debate, envelope),
    }
}

fn told<F: Tell>(debate: &Debate<F>, envelope: &Envelope) -> Result<Told, DecodeError> {
    let recorded = codec::decode::<F>(envelope)?;
    Ok(match &recorded.event {
        Event::Opened(_) => {
            let title = F::title(debate.brief()).unwrap_or_else(|| debate_core::prose::REDACTED.to_owned());
            Told::new(Severity::Mark, None, format!("opened: {}", quoted(&title)))
        }
        Event::Kernel(event) => kernel::tell(event),
        Event::Fact(fact) => F::tell(debate, fact),
    })
}

/// Returns a text of people or models as a piece of a line.
fn quoted(text: &str) -> String {
    clipped(text, QUOTE_COLUMNS_MAX)
}
