//! Clients: they start debates, and follow each to its end with its hash chain checked event by event, through every
//! interruption.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use debate_core::chain::ChainCheck;
use debate_core::envelope::{Envelope, SaltedProse, StreamId};
use debate_core::event::Concluded;
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use debate_core::record::Body as _;
use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use tokio::sync::watch;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use v1::watch_debate_response::Item;

/// Streams on one connection.
const STREAMS: usize = 200;

/// Connections to one server, taken in turn.
#[derive(Clone)]
pub(crate) struct Connections(Arc<[Channel]>);

impl Connections {
    /// Connects for so many streams at once.
    pub(crate) async fn open(address: &str, streams: usize) -> Result<Self> {
        let mut channels = Vec::new();
        for _ in 0..streams.div_ceil(STREAMS) {
            channels.push(Endpoint::from_shared(address.to_owned())?.connect().await?);
        }
        Ok(Self(channels.into()))
    }

    pub(crate) fn client(&self, number: usize) -> DebateServiceClient<Channel> {
        DebateServiceClient::new(self.0[number % self.0.len()].clone())
    }

    /// Starts a debate of five roles over three rounds.
    pub(crate) async fn start(&self, number: usize) -> Result<String> {
        let outcome = |id: &str| v1::Outcome { id: id.to_owned(), ..Default::default() };
        let question = format!("Will the harbour freeze before January {number}?");
        let roles = ["optimist", "pessimist", "contrarian", "historian", "judge"];
        let prediction = v1::DebateRequest {
            task_id: format!("load-{number}"),
            prediction_context: Some(v1::PredictionContext {
                task: Some(prost_types::Value::from(question)),
                outcomes: vec![outcome("yes"), outcome("no")],
                ..Default::default()
            }),
            config: Some(v1::DebateConfig {
                rounds: Some(3),
                roles: roles.map(str::to_owned).to_vec(),
                ..Default::default()
            }),
            options: None,
        };
        let format = Some(v1::start_debate_request::Format::Prediction(prediction));
        let request_id = format!("start-{}", STARTS.fetch_add(1, Ordering::Relaxed));
        let start = v1::StartDebateRequest { request_id, format };
        let mut tries = 1;
        let started = loop {
            match self.client(number).start_debate(start.clone()).await {
                // The same request opens nothing twice.
                Err(status) if may_pass(&status) && tries < TRIES_MAX => tries += 1,
                started => break started?,
            }
            tokio::time::sleep(PAUSE).await;
        };
        Ok(started.into_inner().debate.context("a debate was started")?.id)
    }
}

/// Requests that start debates.
static STARTS: AtomicUsize = AtomicUsize::new(0);

/// How often in a row something is tried whose connection ends, and the pause between.
const TRIES_MAX: u32 = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// Returns whether it may be asked again: the connection ended (with a cause) and not the server, or there were more requests
/// in a minute than may come (RESOURCE_EXHAUSTED).
pub(crate) fn may_pass(status: &Status) -> bool {
    std::error::Error::source(status).is_some() || status.code() == Code::ResourceExhausted
}

/// What all subscribers of a run have seen together.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) events: AtomicUsize,
    pub(crate) bytes: AtomicUsize,
    pub(crate) resumed: AtomicUsize,
    pub(crate) attached: AtomicUsize,
}

/// One who follows a debate.
pub(crate) struct Subscriber {
    pub(crate) debate: DebateId,
    /// Where the server is; it may come back elsewhere.
    pub(crate) server: watch::Receiver<Connections>,
    pub(crate) number: usize,
    pub(crate) seen: Arc<Seen>,
    /// After how many events it goes away each time, and comes back.
    pub(crate) leaves_after: Option<usize>,
}

/// How a look at a stream ended.
enum Look {
    Concluded,
    Interrupted(Status),
    Left,
}

impl Subscriber {
    /// Follows the debate until it has concluded; returns its last event's number and hash.
    pub(crate) async fn follow(mut self) -> Result<(Seq, Digest)> {
        let mut check = ChainCheck::new(StreamId::from(self.debate));
        let mut tries = 0;
        loop {
            let server = self.server.borrow_and_update().clone();
            let before = check.head().0;
            match self.look(&server, &mut check).await? {
                Look::Concluded => return Ok(check.head()),
                // Its connection has had enough, which opens another one, or the server ends, and the next is awaited.
                Look::Interrupted(status) => {
                    tries = if check.head().0 > before { 1 } else { tries + 1 };
                    let next = tokio::time::timeout(PAUSE, self.server.changed()).await;
                    if tries == TRIES_MAX || matches!(next, Ok(Err(_))) {
                        return Err(status.into());
                    }
                }
                Look::Left => {}
            }
            self.seen.resumed.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn look(&self, server: &Connections, check: &mut ChainCheck) -> Result<Look> {
        let watch = v1::WatchDebateRequest {
            debate_id: self.debate.to_string(),
            after_seq: check.head().0.0,
            ..Default::default()
        };
        let mut stream = match server.client(self.number).watch_debate(watch).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => return interrupted(status),
        };
        self.seen.attached.fetch_add(1, Ordering::Relaxed);
        let mut events = 0;
        loop {
            let message = match stream.message().await {
                Ok(Some(message)) => message,
                Ok(None) => bail!("the stream of {} ended before the debate", self.debate),
                Err(status) => return interrupted(status),
            };
            let Some(Item::Event(event)) = message.item else { continue };
            self.seen.bytes.fetch_add(prost::Message::encoded_len(&event), Ordering::Relaxed);
            let envelope = envelope(self.debate, event)?;
            check.push(&envelope)?;
            self.seen.events.fetch_add(1, Ordering::Relaxed);
            events += 1;
            if envelope.kind == Concluded::KIND {
                return Ok(Look::Concluded);
            }
            if self.leaves_after == Some(events) {
                return Ok(Look::Left);
            }
        }
    }
}

/// Tells an interruption from a failure.
fn interrupted(status: Status) -> Result<Look> {
    let may_resume = [Code::Unavailable, Code::Unknown, Code::Cancelled, Code::Aborted, Code::Internal];
    if may_resume.contains(&status.code()) || may_pass(&status) {
        return Ok(Look::Interrupted(status));
    }
    Err(status.into())
}

/// Reads an event as it is stored, to the byte.
fn envelope(debate: DebateId, event: v1::Event) -> Result<Envelope> {
    let at = event.at.unwrap_or_default();
    let prose = match (event.prose_json, event.prose_salt) {
        (Some(text), Some(salt)) => Some(SaltedProse { salt: salt.as_slice().try_into()?, text }),
        (Some(_), None) | (None, _) => None,
    };
    let prose_digest = Some(event.prose_digest).filter(|digest| !digest.is_empty());
    Ok(Envelope {
        stream: StreamId::from(debate),
        seq: Seq(event.seq),
        kind: event.kind,
        version: u16::try_from(event.version)?,
        at: Timestamp(at.seconds * 1_000 + i64::from(at.nanos) / 1_000_000),
        tenant: event.tenant,
        actor: event.actor,
        trace: Some(event.trace).filter(|trace| !trace.is_empty()),
        body: event.body_json,
        prose,
        prose_digest: prose_digest.map(|digest| digest.parse()).transpose()?,
        hash: event.hash.parse()?,
    })
}
