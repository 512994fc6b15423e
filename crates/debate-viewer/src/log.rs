//! A debate's log as it was read, folded at steps along it, so that any moment of it is near.

use std::sync::Arc;

use debate_core::envelope::{Envelope, StreamId};
use debate_core::formats::any::{AnyDebate, AnyReplayError};
use debate_core::id::{DebateId, Digest, Seq};
use debate_engine::withhold_redacted;

/// Events between two steps. Folding so many is quicker than sending the page that shows them.
const STEP: usize = 128;

/// A debate's log with all that it rests on; of a fork, what it shares with its parents first (rule K14).
#[derive(Debug, Clone)]
pub struct Log {
    id: DebateId,
    events: Vec<Arc<Envelope>>,
    inherited: usize,
    /// The bytes that the events take.
    bytes: usize,
    /// The fold of the first so many events, at growing numbers.
    steps: Vec<(usize, AnyDebate)>,
    last: AnyDebate,
}

impl Log {
    /// Folds a debate's history; words whose redaction is on record are left out, though they be there still (rule K15).
    ///
    /// # Errors
    /// The history is empty, of an unknown format, or does not fold.
    pub fn fold(id: DebateId, mut history: Vec<Envelope>) -> Result<Self, AnyReplayError> {
        withhold_redacted(&mut history);
        let first = AnyDebate::replay(history.get(..1).unwrap_or_default())?;
        let own = StreamId::from(id);
        let inherited = history.iter().take_while(|event| event.stream != own).count();
        let bytes = history.first().map_or(0, bytes_of);
        let mut events = history.into_iter().map(Arc::new);
        let opened = events.next().into_iter().collect();
        let steps = vec![(1, first.clone())];
        let mut log = Self { id, events: opened, inherited, bytes, steps, last: first };
        events.try_for_each(|event| log.push(event))?;
        Ok(log)
    }

    /// Adds the next event.
    pub(crate) fn push(&mut self, event: Arc<Envelope>) -> Result<(), AnyReplayError> {
        self.last.apply(&event)?;
        self.bytes += bytes_of(&event);
        self.events.push(event);
        if self.events.len().is_multiple_of(STEP) {
            self.steps.push((self.events.len(), self.last.clone()));
        }
        Ok(())
    }

    /// Returns the debate as it was after the event `seq` of its own stream.
    pub(crate) fn at(&self, seq: Seq) -> Result<AnyDebate, AnyReplayError> {
        let wanted = self.count(seq);
        if wanted == self.events.len() {
            return Ok(self.last.clone());
        }
        let place = self.steps.partition_point(|(count, _)| *count <= wanted).saturating_sub(1);
        let (folded, debate) = &self.steps[place];
        let mut debate = debate.clone();
        for event in self.events.iter().take(wanted).skip(*folded) {
            debate.apply(event)?;
        }
        Ok(debate)
    }

    /// Returns which debate this is.
    pub(crate) const fn id(&self) -> DebateId {
        self.id
    }

    /// Returns the last event's place and hash.
    #[must_use]
    pub fn head(&self) -> (Seq, Digest) {
        self.events.last().map_or((Seq::START, Digest::default()), |last| (last.seq, last.hash))
    }

    /// Returns the state that the last event led into.
    pub(crate) fn state(&self) -> &'static str {
        self.last.lifecycle().as_str()
    }

    /// Returns the events up to `seq`, those shared with parents first.
    pub(crate) fn until(&self, seq: Seq) -> &[Arc<Envelope>] {
        &self.events[..self.count(seq)]
    }

    /// Returns the events of the debate's own stream.
    pub(crate) fn own(&self) -> &[Arc<Envelope>] {
        &self.events[self.inherited..]
    }

    /// Returns how many events are shared with parents; 0 unless it is a fork.
    pub(crate) const fn inherited(&self) -> usize {
        self.inherited
    }

    /// Returns how many bytes the events take.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns how many events lie behind the event `seq`, itself and those shared with parents included.
    fn count(&self, seq: Seq) -> usize {
        let own = usize::try_from(seq.0).unwrap_or(usize::MAX).max(1);
        self.inherited.saturating_add(own).min(self.events.len())
    }
}

/// Returns how many bytes an event takes: its texts, and what is around them.
fn bytes_of(event: &Envelope) -> usize {
    event.text_bytes() + size_of::<Envelope>()
}
