//! Following a debate on a server: its events and, while models speak, live text. The one place of this crate that
//! meets the wire's types.

use debate_client::{Client, WatchOptions, v1};
use debate_core::call::CallKey;
use debate_core::codec;
use debate_core::envelope::{Envelope, SaltedProse, StreamId};
use debate_core::event::{AttemptRef, Forked};
use debate_core::fork::DEPTH_MAX;
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use debate_engine::Chunk;
use debate_proto::v1::audit_service_client::AuditServiceClient;
use debate_proto::v1::watch_debate_response::Item;
use tonic::{Code, Status};

use crate::exit::{End, Failure};
use crate::follow::{Followed, Follower, Teller};

/// Events read at once.
const PAGE: u32 = 1_000;

/// A server to follow debates on.
#[derive(Debug, Clone)]
pub(crate) struct Server(Client);

impl Server {
    /// Builds the way to a server; connects when it is first used.
    pub(crate) fn new(address: &str, token: Option<&str>) -> anyhow::Result<Self> {
        let client = Client::new(address, token);
        Ok(Self(client.map_err(|error| Failure::bad_input(error.to_string()))?))
    }

    /// Follows a debate from after an event until it has concluded; goes on behind the last event seen when it is cut.
    pub(crate) async fn follow(
        &self,
        id: DebateId,
        after: Seq,
        tokens: bool,
        teller: &mut dyn Teller,
    ) -> anyhow::Result<Followed> {
        let options = WatchOptions { after_seq: after.0, include_tokens: tokens, ..WatchOptions::default() };
        let mut watch = self.0.watch(&id.to_string(), options);
        // A server that was never there is a wrong address, not a cut.
        watch.connect().await.map_err(|status| refused(&status))?;
        let seen = if after > Seq::START { self.history(id, after).await? } else { Vec::new() };
        let mut follower = Follower::behind(&seen, teller)?;
        while let Some(item) = watch.next().await.map_err(|status| refused(&status))? {
            match item {
                Item::Event(event) => {
                    let envelope = envelope(id, event)?;
                    if follower.must_inherit(&envelope) {
                        follower.inherit(&self.prefix(&envelope).await?)?;
                    }
                    follower.event(&envelope)?;
                }
                Item::Chunk(piece) => follower.chunk(&chunk(piece)?)?,
                Item::AttemptDropped(_) | Item::Heartbeat(_) => {}
            }
        }
        follower.finish()?.ok_or_else(|| anyhow::anyhow!("debate {id} has no events"))
    }

    /// Reads all that a debate is folded from, up to an event of its own.
    async fn history(&self, id: DebateId, until: Seq) -> anyhow::Result<Vec<Envelope>> {
        let own = self.seen(id, until).await?;
        let mut history = match own.first() {
            Some(first) => self.prefix(first).await?,
            None => Vec::new(),
        };
        history.extend(own);
        Ok(history)
    }

    /// Reads what a fork shares with its parents, given its first event; nothing where it is no fork.
    async fn prefix(&self, first: &Envelope) -> anyhow::Result<Vec<Envelope>> {
        let mut stretches = Vec::new();
        let mut forked = codec::forked(first).transpose()?;
        while let Some(Forked { parent, at, .. }) = forked.take().filter(|_| stretches.len() < DEPTH_MAX) {
            stretches.push((parent, at));
            let first = self.seen(parent, Seq(1)).await?;
            forked = first.first().and_then(codec::forked).transpose()?;
        }
        let mut prefix = Vec::new();
        for (parent, at) in stretches.into_iter().rev() {
            prefix.extend(self.seen(parent, at).await?);
        }
        Ok(prefix)
    }

    /// Reads a debate's own events up to one of them.
    async fn seen(&self, id: DebateId, until: Seq) -> anyhow::Result<Vec<Envelope>> {
        let mut client = AuditServiceClient::new(self.0.channel());
        let mut log: Vec<Envelope> = Vec::new();
        while log.last().map_or(Seq::START, |last| last.seq) < until {
            let after_seq = log.last().map_or(0, |last| last.seq.0);
            let page_size = u32::try_from(until.0 - after_seq).unwrap_or(PAGE).min(PAGE);
            let read = v1::ReadLogRequest { debate_id: id.to_string(), after_seq, page_size };
            let page =
                client.read_log(self.0.request(read)).await.map_err(|status| refused(&status))?.into_inner();
            if page.events.is_empty() {
                let head = page.head_seq;
                return Err(Failure::bad_input(format!(
                    "debate {id} is at {head}; there is nothing after {until} yet"
                )));
            }
            for event in page.events {
                log.push(envelope(id, event)?);
            }
        }
        Ok(log)
    }
}

fn refused(status: &Status) -> anyhow::Error {
    let end = match status.code() {
        Code::NotFound => End::NotFound,
        Code::InvalidArgument | Code::OutOfRange => End::BadInput,
        Code::Unavailable | Code::Unknown | Code::Unauthenticated | Code::PermissionDenied => {
            End::Unavailable
        }
        _ => End::Failed,
    };
    let text = if status.message().is_empty() { status.code().description() } else { status.message() };
    Failure { end, text: text.to_owned() }.into()
}

/// Reads an event; its bytes are those that the server has stored.
fn envelope(id: DebateId, event: v1::Event) -> anyhow::Result<Envelope> {
    let at = event.at.unwrap_or_default();
    let digest = |text: &str| text.parse::<Digest>();
    let prose = match (event.prose_json, event.prose_salt) {
        (Some(text), Some(salt)) => {
            let salt = <[u8; 16]>::try_from(salt).map_err(|_| anyhow::anyhow!("a salt has not 16 bytes"))?;
            Some(SaltedProse { salt, text })
        }
        (Some(_), None) | (None, _) => None,
    };
    let prose_digest = if event.prose_digest.is_empty() { None } else { Some(digest(&event.prose_digest)?) };
    Ok(Envelope {
        stream: StreamId::from(id),
        seq: Seq(event.seq),
        kind: event.kind,
        version: u16::try_from(event.version)?,
        at: Timestamp(at.seconds * 1_000 + i64::from(at.nanos) / 1_000_000),
        tenant: event.tenant,
        actor: event.actor,
        trace: (!event.trace.is_empty()).then_some(event.trace),
        body: event.body_json,
        prose,
        prose_digest,
        hash: digest(&event.hash)?,
    })
}

fn chunk(piece: v1::TokenChunk) -> anyhow::Result<Chunk> {
    let call: CallKey = piece.call.parse()?;
    let attempt = AttemptRef { call, revision: piece.revision, attempt: piece.attempt, turn: piece.turn };
    Ok(Chunk { attempt, number: piece.chunk, text: piece.text })
}
