//! A watch over as many connections as it takes: every durable event once and in order (rule K10).

use debate_proto::v1::watch_debate_response::Item;
use debate_proto::v1::{Event, WatchDebateRequest, WatchDebateResponse, WatchKinds};
use tonic::{Code, Status, Streaming};

use crate::{Client, retry};

/// What a watch delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatchOptions {
    /// The last event already seen; 0 for all.
    pub after_seq: u64,
    /// Which events are wanted.
    pub kinds: WatchKinds,
    /// Whether live text is wanted while models speak; it is not stored, and what a cut swallows is gone.
    pub include_tokens: bool,
}

/// A debate that is followed.
#[derive(Debug)]
pub struct Watch {
    client: Client,
    debate_id: String,
    options: WatchOptions,
    last_seq: u64,
    stream: Option<Streaming<WatchDebateResponse>>,
    /// Tries in a row that brought nothing new.
    tries: u32,
    has_ended: bool,
}

impl Watch {
    pub(crate) fn new(client: Client, debate_id: String, options: WatchOptions) -> Self {
        let last_seq = options.after_seq;
        Self { client, debate_id, options, last_seq, stream: None, tries: 0, has_ended: false }
    }

    /// Returns the sequence number of the last event delivered: where another watch could go on.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Connects, unless it is connected. Tries once, so that a server that was never there is reported at once.
    /// [`Watch::next`] connects by itself.
    ///
    /// # Errors
    /// The server refuses the watch, or cannot be reached.
    pub async fn connect(&mut self) -> Result<(), Status> {
        if self.stream.is_none() {
            let WatchOptions { kinds, include_tokens, .. } = self.options;
            let (debate_id, after_seq) = (self.debate_id.clone(), self.last_seq);
            let request = WatchDebateRequest { debate_id, after_seq, kinds: kinds.into(), include_tokens };
            let request = self.client.request(request);
            self.stream = Some(self.client.service().watch_debate(request).await?.into_inner());
        }
        Ok(())
    }

    /// Returns the next thing that happens: an event, or a piece of live text; nothing once the debate has concluded.
    ///
    /// Reconnects after the last event when a connection is cut, and consumes heartbeats. Dropping the future of this call
    /// loses nothing.
    ///
    /// # Errors
    /// The server refuses the watch, or stays away for longer than the client's [`crate::Retry`] allows.
    pub async fn next(&mut self) -> Result<Option<Item>, Status> {
        while !self.has_ended {
            match self.attempt().await {
                Ok(Some(item)) => return Ok(Some(item)),
                Ok(None) => {}
                Err(status) if retry::is_cut(&status) && self.tries < self.client.retry.tries_max => {
                    self.stream = None;
                    let pause = self.client.retry.before(self.tries);
                    self.tries += 1;
                    tracing::warn!(
                        status = status.message(),
                        last_seq = self.last_seq,
                        "the watch was cut and goes on"
                    );
                    tokio::time::sleep(pause).await;
                }
                Err(status) => return Err(status),
            }
        }
        Ok(None)
    }

    /// Returns the next event, leaving out live text.
    ///
    /// # Errors
    /// As [`Watch::next`].
    pub async fn next_event(&mut self) -> Result<Option<Event>, Status> {
        while let Some(item) = self.next().await? {
            if let Item::Event(event) = item {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Takes one message in. Returns `None` if it is not for the caller, or if the stream has ended.
    async fn attempt(&mut self) -> Result<Option<Item>, Status> {
        self.connect().await?;
        let Some(stream) = &mut self.stream else { return Ok(None) };
        let Some(response) = stream.message().await? else {
            self.has_ended = true;
            return Ok(None);
        };
        match response.item {
            Some(Item::Event(event)) => {
                // Where only some kinds are wanted, numbers have holes; they never go back.
                if event.seq <= self.last_seq {
                    return Err(Status::new(Code::DataLoss, "the server sent an event twice"));
                }
                self.last_seq = event.seq;
                self.tries = 0;
                Ok(Some(Item::Event(event)))
            }
            Some(Item::Heartbeat(heartbeat)) => {
                self.last_seq = self.last_seq.max(heartbeat.head_seq);
                self.tries = 0;
                Ok(None)
            }
            Some(item @ (Item::Chunk(_) | Item::AttemptDropped(_))) => Ok(Some(item)),
            None => Ok(None),
        }
    }
}
