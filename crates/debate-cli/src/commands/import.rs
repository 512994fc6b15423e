//! `debate import`: brings debates of a bundle into a store.

use std::collections::BTreeSet;
use std::path::PathBuf;

use debate_core::codec;
use debate_core::counted::counted;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Digest, Seq};
use debate_engine::{LIFECYCLE_KINDS, RedactionError, finish_redactions};
use debate_proof::bundle::BundleCheck;
use debate_store::{Append, AppendError, EVENTS_PER_APPEND_MAX, EventStore, RequestKey};
use serde::Deserialize;

use super::print;
use super::verify::bundle;
use crate::args::Options;
use crate::exit::{End, Failure};
use crate::proof::bundle_file::BundleLines;
use crate::proof::keys;
use crate::store;

/// The most bytes of texts that go into the store together, unless one event has more.
const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bring the debates of a bundle into the store
///
/// The whole bundle is verified first; nothing is imported from one with a fault. Debates that the store has already are
/// left as they are; where it has other events under the same id, it keeps them, takes the other debates and ends with code 4.
/// Debates that have not ended go on where a server opens the store, and words whose deletion the bundle records are deleted
/// where the store has them: import what you trust.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate import all.bundle --key audit.pub
  debate --store sqlite://restored.sqlite import debate.bundle")]
pub(crate) struct Import {
    /// The bundle
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Public key, or a file with it, that must have signed the bundle's checkpoint
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl Import {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let key = self.key.as_deref().map(keys::verifier).transpose()?;
        let checked = bundle::check(&self.file, key, None).await?;
        if !checked.is_sound() {
            checked.tell(false)?;
            print("nothing was imported\n")?;
            return Ok(End::Fault);
        }
        let store = store::open(&options.store, options.durability.into()).await?;
        let imported = self.import(&**store.events()).await;
        store.close().await;
        let Imported { streams, events, going_on, deleted, .. } = imported?;
        let path = self.file.display();
        let unsigned = match checked.not_wholly_signed() {
            0 => String::new(),
            unsigned => format!("; {} not wholly signed", counted(unsigned, "debate is", "debates are")),
        };
        let debates = counted(streams, "debate", "debates");
        let events = counted(events, "event is", "events are");
        let going_on = match going_on.len() {
            0 => String::new(),
            open => format!(
                "; {} not ended and will go on where a server opens the store",
                counted(open, "debate has", "debates have")
            ),
        };
        let deleted = match deleted {
            0 => String::new(),
            some => format!("; the words of {} are deleted, as it records", counted(some, "event", "events")),
        };
        print(&format!("{path}: {debates}, {events} in the store{unsigned}{going_on}{deleted}\n"))?;
        Ok(End::Done)
    }

    async fn import(&self, store: &dyn EventStore) -> anyhow::Result<Imported> {
        let mut imported = Imported::default();
        let stored = self.store(store, &mut imported).await;
        // Also where it ended early: asked again, it would end there again.
        imported.finish_redactions(store).await;
        stored?;
        imported.end()
    }

    async fn store(&self, store: &dyn EventStore, imported: &mut Imported) -> anyhow::Result<()> {
        let mut lines = BundleLines::open(&self.file)?;
        // Checked again: the file may have changed meanwhile.
        let mut check = BundleCheck::new(None, None);
        let mut batch = Batch::default();
        while let Some(line) = lines.next()? {
            let found = check.push(line).map_err(|error| Failure::fault(error.to_string()))?;
            let Some(envelope) = found else { continue };
            if imported.must_finish_before(&envelope) {
                batch.offer(store).await?;
                imported.finish_redactions(store).await;
            }
            imported.count(&envelope);
            let request = check.request_id().filter(|_| envelope.seq == Seq(1)).map(str::to_owned);
            batch.push(store, envelope).await?;
            batch.opened_by(request);
        }
        imported.others = batch.flush(store).await?;
        let report = check.finish().map_err(|error| Failure::fault(error.to_string()))?;
        if report.is_sound() { Ok(()) } else { Err(Failure::fault("the bundle changed meanwhile")) }
    }
}

/// What a bundle brought.
#[derive(Debug, Default)]
struct Imported {
    streams: usize,
    events: usize,
    /// The debates that a server goes on with, for the operator's money.
    going_on: BTreeSet<StreamId>,
    /// Events of one stream that record that words were deleted, which the store may have yet.
    records: Vec<Seq>,
    records_of: Option<StreamId>,
    /// The events whose words the store had, and has no longer.
    deleted: usize,
    /// Why words may still be there.
    not_deleted: Option<RedactionError>,
    /// The debates of which the store has other events, in the order of the bundle.
    others: Vec<Other>,
}

/// Says that the store has other events of a stream, which it keeps.
#[derive(Debug)]
pub(super) struct Other {
    stream: StreamId,
    pub(super) why: String,
}

impl Imported {
    fn count(&mut self, envelope: &Envelope) {
        self.streams += usize::from(envelope.seq == Seq(1));
        self.events += 1;
        if codec::redacted(envelope).is_some() {
            self.records_of = Some(envelope.stream);
            self.records.push(envelope.seq);
        }
        match envelope.kind.as_str() {
            "paused" | "concluded" => {
                self.going_on.remove(&envelope.stream);
            }
            kind if LIFECYCLE_KINDS.contains(&kind) => {
                self.going_on.insert(envelope.stream);
            }
            _ => {}
        }
    }

    /// Returns whether words are to be deleted before the next event is taken, lest records of deletions pile up.
    fn must_finish_before(&self, next: &Envelope) -> bool {
        self.records.len() == EVENTS_PER_APPEND_MAX
            || self.records_of.is_some_and(|stream| stream != next.stream)
    }

    /// Ends the import: with a fault where the store has other events of a debate.
    fn end(mut self) -> anyhow::Result<Self> {
        if let Some(error) = self.not_deleted.take() {
            return Err(error.into());
        }
        match &self.others[..] {
            [] => Ok(self),
            [other] => Err(Failure::fault(&other.why)),
            [first, more @ ..] => {
                let more = counted(more.len(), "more debate", "more debates");
                Err(Failure::fault(format!("{}; so it is with {more}", first.why)))
            }
        }
    }

    /// Deletes the words of which it records that they were deleted. Where that fails the next are deleted all the same.
    async fn finish_redactions(&mut self, store: &dyn EventStore) {
        let records = std::mem::take(&mut self.records);
        let Some(stream) = self.records_of.take() else { return };
        match finish_redactions(store, stream, &records).await {
            Ok(deleted) => self.deleted += deleted,
            Err(error) => _ = self.not_deleted.get_or_insert(error),
        }
    }
}

/// Events of one stream that go into the store together, and of which streams before it the store has others.
#[derive(Debug, Default)]
pub(super) struct Batch {
    events: Vec<Envelope>,
    /// The bytes of their texts.
    bytes: usize,
    request: Option<RequestKey>,
    others: Vec<Other>,
}

impl Batch {
    /// Adds the next event, unless the store has others of its stream. What is full, or of another stream, is stored before.
    pub(super) async fn push(&mut self, store: &dyn EventStore, envelope: Envelope) -> anyhow::Result<()> {
        let bytes = envelope.text_bytes();
        let has_room = self.events.last().is_none_or(|last| last.stream == envelope.stream)
            && self.events.len() < EVENTS_PER_APPEND_MAX
            && self.bytes + bytes <= BATCH_BYTES_MAX;
        if !has_room {
            self.offer(store).await?;
        }
        if self.others.last().is_none_or(|other| other.stream != envelope.stream) {
            self.bytes += bytes;
            self.events.push(envelope);
        }
        Ok(())
    }

    /// Says which request opened the stream whose first event was just added (rule K11). It stands for the body that the
    /// event tells of; an event that tells of none was opened by none.
    fn opened_by(&mut self, request_id: Option<String>) {
        let (Some(request_id), Some(first)) = (request_id, self.events.last()) else { return };
        let tenant = first.tenant.clone();
        self.request = request_digest(first).map(|body_hash| RequestKey { tenant, request_id, body_hash });
    }

    /// Stores what is left; returns the streams of which the store has other events, in their order.
    pub(super) async fn flush(&mut self, store: &dyn EventStore) -> anyhow::Result<Vec<Other>> {
        self.offer(store).await?;
        Ok(std::mem::take(&mut self.others))
    }

    /// Stores what is not there yet, unless the store has other events of the stream.
    async fn offer(&mut self, store: &dyn EventStore) -> anyhow::Result<()> {
        let (mut events, request) = (std::mem::take(&mut self.events), self.request.take());
        self.bytes = 0;
        let Some(stream) = events.first().map(|first| first.stream) else { return Ok(()) };
        let conflict = format!("the store has other events in {stream}");
        let head = store.head(stream).await?.map_or(Seq::START, |head| head.seq);
        if let Some(last) = events.iter().rev().find(|event| event.seq <= head) {
            // The chain says that all before are the same where this one is.
            let there = store.read(stream, Seq(last.seq.0 - 1), 1).await?;
            if there.first().is_none_or(|there| there.hash != last.hash) {
                self.others.push(Other { stream, why: format!("{conflict}; it keeps them") });
                return Ok(());
            }
        }
        events.retain(|event| event.seq > head);
        if events.is_empty() {
            return Ok(());
        }
        let mut append = Append::new(stream, head, events);
        append.request = request.filter(|_| head == Seq::START);
        let mut appended = store.append(append.clone()).await;
        if let Err(AppendError::RequestTaken { .. }) = appended {
            append.request = None;
            appended = store.append(append).await;
        }
        match appended {
            Ok(_) => {}
            Err(error @ (AppendError::Conflict { .. } | AppendError::Invalid(_))) => {
                self.others.push(Other { stream, why: format!("{conflict}: {error}") });
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Returns the digest of the request that the first event of a stream tells of, and reads nothing else of it.
fn request_digest(first: &Envelope) -> Option<Digest> {
    #[derive(Deserialize)]
    struct Opened {
        request_digest: Digest,
    }
    serde_json::from_str::<Opened>(&first.body).ok().map(|opened| opened.request_digest)
}

#[cfg(test)]
mod tests {
    use debate_core::chain::{GENESIS, hash_of};
    use debate_core::formats::any::format_of;
    use debate_store::MemoryStore;

    use super::super::verify::fold::tests::{event, stream};
    use super::super::verify::forks::tests::bundle;
    use super::*;

    #[test]
    fn a_bundle_may_have_every_id_that_a_request_may_have() {
        assert_eq!(debate_proof::bundle::REQUEST_ID_BYTES_MAX, debate_grpc::REQUEST_ID_CHARS_MAX);
    }

    #[test]
    fn of_a_first_event_nothing_is_kept_but_what_is_looked_for() {
        let digest = Digest([7; 32]);
        // No tree of JSON has such a number.
        let body = format!(r#"{{"format": "review", "request_digest": "{digest}", "list": [1e999]}}"#);
        let first = Envelope { body, ..event(stream(1)) };
        assert_eq!((format_of(&first).as_deref(), request_digest(&first)), (Some("review"), Some(digest)));
    }

    /// Imports a bundle whose last line is none; returns the error, and the store that it was brought into.
    async fn broken_off(events: &[Envelope]) -> (String, MemoryStore) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.bundle");
        let mut lines = bundle(events);
        *lines.last_mut().unwrap() = "no line of a bundle".to_owned();
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let store = MemoryStore::new();
        let error = Import { file: path, key: None }.import(&store).await.unwrap_err().to_string();
        (error, store)
    }

    #[tokio::test]
    async fn k15_of_a_bundle_that_is_imported_a_stream_is_stored_when_the_next_one_begins() {
        let (error, store) = broken_off(&[event(stream(1)), event(stream(2))]).await;
        assert!(error.starts_with("line 6"), "{error}");
        assert_eq!(store.head(stream(1)).await.unwrap().map(|head| head.seq), Some(Seq(1)));
    }

    #[tokio::test]
    async fn of_a_bundle_that_is_imported_no_more_than_16_mib_wait_to_be_stored() {
        assert_eq!(BATCH_BYTES_MAX, 16 << 20);
        let (store, mut batch, mut before) = (MemoryStore::new(), Batch::default(), GENESIS);
        let mut events = Vec::new();
        // A stranger's text may be long where one of ours is short.
        for (seq, body, actor, stored) in [
            (1, BATCH_BYTES_MAX, 0, None),
            (2, 5, 0, Some(1)),
            (3, 0, BATCH_BYTES_MAX - 5, Some(1)),
            (4, 1, 0, Some(3)),
        ] {
            let [body, actor] = [body, actor].map(|bytes| " ".repeat(bytes));
            let mut event = Envelope { seq: Seq(seq), kind: String::new(), actor, body, ..event(stream(1)) };
            event.hash = hash_of(&before, &event);
            before = event.hash;
            events.push(event.clone());
            batch.push(&store, event).await.unwrap();
            assert_eq!(store.head(stream(1)).await.unwrap().map(|head| head.seq.0), stored, "{seq}");
        }
        // So it is with a bundle.
        let (error, store) = broken_off(&events[..2]).await;
        assert!(error.starts_with("line 5"), "{error}");
        assert_eq!(store.head(stream(1)).await.unwrap().map(|head| head.seq), Some(Seq(1)));
    }

    #[tokio::test]
    async fn k15_of_records_that_words_were_deleted_no_more_are_kept_than_of_one_stream_and_at_most_1_000() {
        let mut events = Vec::new();
        for (number, records) in [(1, 1_001), (2, 3), (3, 0)] {
            let mut before = GENESIS;
            for seq in 1..=records + 1 {
                let (kind, body) = if seq == 1 { ("opened", "{}") } else { ("redacted", "{\"seq\":1}") };
                let (kind, body) = (kind.to_owned(), body.to_owned());
                let mut event = Envelope { seq: Seq(seq), kind, body, ..event(stream(number)) };
                event.hash = hash_of(&before, &event);
                before = event.hash;
                events.push(event);
            }
        }
        for (end, kept) in [(1_001, 1_000), (1_002, 1), (1_006, 3), (1_007, 0)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("it.bundle");
            std::fs::write(&path, bundle(&events[..end]).join("\n") + "\n").unwrap();
            let (store, mut imported) = (MemoryStore::new(), Imported::default());
            Import { file: path, key: None }.store(&store, &mut imported).await.unwrap();
            assert_eq!((imported.records.len(), imported.events), (kept, end));
        }
    }
}
