//! What is heard of a debate while it is driven here. Live tokens (rule K10) are pieces of public text while a model
//! speaks. They are not stored; a slow subscriber misses pieces, never events.

use std::sync::{Arc, OnceLock};

use debate_core::event::AttemptRef;
use debate_prompts::prompts::PublicPart;
use debate_prompts::public_text::PublicText;
use tokio::sync::broadcast;

use crate::tail::Tail;

/// Pieces kept for a subscriber that is behind.
const PIECES_KEPT: usize = 256;

/// A piece of public text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Who speaks, in which attempt.
    pub attempt: AttemptRef,
    /// The number of the piece within the attempt, from 1.
    pub number: u32,
    /// The text.
    pub text: String,
}

/// Where one debate's live tokens and its new events go. Costs nothing until somebody listens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Live {
    sender: Arc<OnceLock<broadcast::Sender<Arc<Chunk>>>>,
    pub(crate) tail: Tail,
}

impl Live {
    /// Begins to listen.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Chunk>> {
        self.sender.get_or_init(|| broadcast::Sender::new(PIECES_KEPT)).subscribe()
    }

    /// Returns what turns an attempt's raw pieces into public ones.
    pub(crate) fn voice(&self, attempt: AttemptRef, public: PublicPart) -> PublicTextFilter {
        let text = match public {
            PublicPart::Field(name) => Some(PublicText::field(name)),
            PublicPart::Whole => Some(PublicText::plain()),
            PublicPart::Nothing => None,
        };
        PublicTextFilter { live: self.clone(), attempt, text, unheard: String::new(), number: 0 }
    }

    fn is_heard(&self) -> bool {
        self.sender.get().is_some_and(|sender| sender.receiver_count() > 0)
    }
}

/// One attempt as subscribers hear it.
#[derive(Debug)]
pub(crate) struct PublicTextFilter {
    live: Live,
    attempt: AttemptRef,
    text: Option<PublicText>,
    unheard: String,
    number: u32,
}

impl PublicTextFilter {
    /// Forwards the public part of a raw piece. While no subscriber listens, the piece is only buffered.
    pub(crate) fn push(&mut self, raw: &str) {
        let Some(text) = &mut self.text else { return };
        self.unheard.push_str(raw);
        if self.live.is_heard() {
            let public = text.push(&self.unheard);
            self.unheard.clear();
            self.send(public);
        }
    }

    /// Passes on what was held back until the end.
    pub(crate) fn finish(&mut self) {
        if !self.live.is_heard() {
            return;
        }
        let Some(text) = &mut self.text else { return };
        let mut public = text.push(&self.unheard);
        public.push_str(&text.finish());
        self.send(public);
    }

    fn send(&mut self, text: String) {
        let Some(sender) = self.live.sender.get().filter(|_| !text.is_empty()) else { return };
        self.number += 1;
        let chunk = Chunk { attempt: self.attempt.clone(), number: self.number, text };
        // The last subscriber may be gone; that does not fail the debate.
        let _unheard = sender.send(Arc::new(chunk));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::error::TryRecvError;

    use super::*;

    #[test]
    fn k10_of_live_text_no_more_than_256_pieces_are_kept_for_who_does_not_read() {
        let live = Live::default();
        let mut slow = live.subscribe();
        let attempt =
            AttemptRef { call: "argue/1/optimist".parse().unwrap(), revision: 0, attempt: 1, turn: 1 };
        let mut voice = live.voice(attempt, PublicPart::Whole);
        for _ in 0..1_000 {
            voice.push("words ");
        }
        assert!(matches!(slow.try_recv(), Err(TryRecvError::Lagged(missed)) if missed > 700));
        let kept: Vec<u32> = std::iter::from_fn(|| slow.try_recv().ok()).map(|piece| piece.number).collect();
        let last = voice.number;
        assert_eq!(kept, (last - 255..=last).collect::<Vec<_>>());
    }
}
