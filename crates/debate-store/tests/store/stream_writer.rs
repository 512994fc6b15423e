//! Writes well-formed events, chained as the engine chains them.

use debate_core::chain::{ChainBreak, ChainCheck, GENESIS, hash_of};
use debate_core::envelope::{Envelope, SaltedProse, StreamId, StreamKind};
use debate_core::id::{Digest, Seq, Timestamp};
use debate_store::{Append, EventStore, Position};
use uuid::Uuid;

/// Writes one stream and knows where it stands.
#[derive(Clone)]
pub(crate) struct StreamWriter {
    pub(crate) stream: StreamId,
    pub(crate) tenant: String,
    pub(crate) head: Seq,
    hash: Digest,
}

impl StreamWriter {
    /// Starts a debate's stream with this number as its id.
    pub(crate) fn new(id: u128) -> Self {
        Self::of_kind(StreamKind::Debate, id)
    }

    pub(crate) fn of_kind(kind: StreamKind, id: u128) -> Self {
        let stream = StreamId { kind, id: Uuid::from_u128(id) };
        Self { stream, tenant: String::new(), head: Seq::START, hash: GENESIS }
    }

    pub(crate) fn with_tenant(mut self, tenant: &str) -> Self {
        tenant.clone_into(&mut self.tenant);
        self
    }

    /// Writes the next event.
    pub(crate) fn event(&mut self, kind: &str, body: &str) -> Envelope {
        self.sealed(kind, body, None)
    }

    /// Writes the next event with prose.
    pub(crate) fn event_with_prose(&mut self, kind: &str, body: &str, text: &str) -> Envelope {
        let salt = [u8::try_from(self.head.0 % 251).unwrap(); 16];
        self.sealed(kind, body, Some(SaltedProse { salt, text: text.to_owned() }))
    }

    /// Writes the next events, numbered in their bodies.
    pub(crate) fn events(&mut self, count: usize) -> Vec<Envelope> {
        (0..count).map(|_| self.event("noted", &format!("{{\"n\":{}}}", self.head.0 + 1))).collect()
    }

    /// Wraps the next events into an append.
    pub(crate) fn append(&mut self, count: usize) -> Append {
        let expected = self.head;
        Append::new(self.stream, expected, self.events(count))
    }

    fn sealed(&mut self, kind: &str, body: &str, prose: Option<SaltedProse>) -> Envelope {
        let seq = self.head.next();
        let mut envelope = Envelope {
            stream: self.stream,
            seq,
            kind: kind.to_owned(),
            version: 1,
            at: Timestamp(1_700_000_000_000 + i64::try_from(seq.0).unwrap()),
            tenant: self.tenant.clone(),
            actor: "engine".to_owned(),
            trace: None,
            body: body.to_owned(),
            prose_digest: prose.as_ref().map(SaltedProse::digest),
            prose,
            hash: Digest::default(),
        };
        envelope.hash = hash_of(&self.hash, &envelope);
        self.head = seq;
        self.hash = envelope.hash;
        envelope
    }
}

/// Reads a whole stream.
pub(crate) async fn read_stream(store: &dyn EventStore, stream: StreamId) -> Vec<Envelope> {
    store.read(stream, Seq::START, u32::MAX).await.unwrap()
}

/// Waits until all events up to a position can be read.
pub(crate) async fn settled(store: &dyn EventStore, position: Position) {
    store.wait_all(Position(position.0 - 1)).await.unwrap();
}

/// Checks a stream's chain and returns where it ends, or the first break.
pub(crate) async fn verify(store: &dyn EventStore, stream: StreamId) -> Result<Seq, ChainBreak> {
    let mut check = ChainCheck::new(stream);
    for envelope in read_stream(store, stream).await {
        check.push(&envelope)?;
    }
    Ok(check.head().0)
}
