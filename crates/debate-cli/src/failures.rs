//! The failures of a debate, with the messages that reported them.

use std::collections::BTreeMap;

use debate_core::envelope::Envelope;
use debate_core::event::{FailureKind, KernelEvent};
use debate_core::prose::REDACTED;
use debate_core::record::Record as _;

use crate::page::clipped;

/// The widest message.
const MESSAGE_COLUMNS_MAX: usize = 300;

/// Failed attempts, counted by what was said of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    counted: BTreeMap<String, (u64, FailureKind)>,
}

impl Failures {
    /// Returns what failed in a log.
    pub(crate) fn of<'a>(log: impl IntoIterator<Item = &'a Envelope>) -> Self {
        let mut failures = Self::default();
        log.into_iter().for_each(|envelope| failures.note(envelope));
        failures
    }

    /// Notes an event, if it is a failure.
    pub(crate) fn note(&mut self, envelope: &Envelope) {
        let prose = envelope.prose.as_ref().map(|prose| prose.text.as_str());
        let event = KernelEvent::decode(&envelope.kind, envelope.version, &envelope.body, prose);
        let Some(Ok(KernelEvent::AttemptFailed(failed))) = event else { return };
        let message = failed.prose.shown().map_or(REDACTED, |prose| prose.message.as_str());
        let message = clipped(message, MESSAGE_COLUMNS_MAX);
        self.counted.entry(message).or_insert((0, failed.failure)).0 += 1;
    }

    /// Returns one line for each kind of failure, the most frequent first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let counted = self.by_count().into_iter();
        let line = |(message, count, kind)| format!("{count} × {}: {}", name(kind), bare(message, kind));
        counted.map(line).collect()
    }

    /// Returns what was said of the most frequent failure.
    pub(crate) fn commonest(&self) -> Option<&str> {
        self.by_count().first().map(|(message, ..)| *message)
    }

    fn by_count(&self) -> Vec<(&str, u64, FailureKind)> {
        let counted = self.counted.iter().map(|(message, (count, kind))| (message.as_str(), *count, *kind));
        let mut counted: Vec<_> = counted.collect();
        counted.sort_by_key(|(message, count, _)| (std::cmp::Reverse(*count), *message));
        counted
    }
}

/// Returns a message without the kind of failure at its beginning. Views show the kind next to the message.
pub(crate) fn bare(message: &str, kind: FailureKind) -> &str {
    message.strip_prefix(name(kind)).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message)
}

/// Returns a kind of failure in words.
pub(crate) fn name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unreadable => "unreadable",
        FailureKind::Unusable => "unusable",
        FailureKind::Refused => "refused",
        FailureKind::Truncated => "truncated",
        FailureKind::Timeout => "timeout",
        FailureKind::Overloaded => "overloaded",
        FailureKind::Unavailable => "unavailable",
        FailureKind::Denied => "denied",
        FailureKind::StartsExhausted => "started too often",
        FailureKind::BudgetExhausted => "budget used up",
    }
}
