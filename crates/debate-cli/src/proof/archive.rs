//! The archive: a folder of bundles, one for each debate that was taken out of a store; and a store together with it.
//!
//! A bundle is named by its debate and last event, so that a debate that grew after it was restored gets another one.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use debate_core::codec::{self, MISSING_PROSE};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::fork::DEPTH_MAX;
use debate_core::id::Seq;
use debate_engine::withhold_redacted;
use debate_proof::bundle::BundleCheck;
use debate_store::{
    Append, AppendError, Archived, EventStore, Head, ListFilter, Listed, Position, ReadError, RedactError,
    RequestOwner,
};

use super::bundle_file::BundleLines;
use crate::exit::{self, Failure};

/// Archived debates listed at once.
const PAGE: u32 = 1_000;

/// Returns the name of the bundle of a debate that ends with an event.
pub(crate) fn bundle_name(stream: StreamId, head: Seq) -> String {
    format!("{}-{head}.bundle", stream.id)
}

/// Returns where the bundle of an archived debate is.
///
/// # Errors
/// The name that the store gives for the bundle is not that of a file in the folder. The author of the store may have
/// chosen it.
pub(crate) fn bundle_path(folder: &Path, archived: &Archived) -> anyhow::Result<PathBuf> {
    let name = Path::new(&archived.bundle);
    if name.file_name() != Some(name.as_os_str()) {
        return Err(Failure::fault(format!("{} is no bundle's name", archived.bundle)));
    }
    Ok(folder.join(name))
}

/// Returns all archived debates of a store.
pub(crate) async fn all(store: &dyn EventStore) -> Result<BTreeMap<StreamId, Archived>, ReadError> {
    let mut filter = ListFilter { limit: PAGE, ..ListFilter::default() };
    let mut all = BTreeMap::new();
    loop {
        let page = store.list_archived(filter.clone()).await?;
        let Some(last) = page.last() else { return Ok(all) };
        filter.before = Some(last.position);
        all.extend(page.into_iter().map(|archived| (archived.stream, archived)));
    }
}

/// Reads the events of an archived debate, which must be those that were archived; words whose deletion is on record are left
/// out, though somebody put them there (rule K15).
///
/// # Errors
/// Its bundle cannot be read, has a fault, does not end where the debate did, or lacks words.
pub(crate) fn events(folder: &Path, archived: &Archived) -> anyhow::Result<Vec<Envelope>> {
    let path = bundle_path(folder, archived)?;
    let fault = |what: String| Failure::fault(format!("{}: {what}", path.display()));
    let mut lines = BundleLines::open(&path)?;
    let mut check = BundleCheck::new(None, None);
    let mut events = Vec::new();
    let other_end =
        || fault(format!("the debate in it does not end with event {}, as archived", archived.head.seq));
    while let Some(line) = lines.next()? {
        let event = check.push(line).map_err(|error| fault(error.to_string()))?;
        // A fork's bundle holds what it was forked from too.
        let Some(event) = event.filter(|event| event.stream == archived.stream) else { continue };
        // No more is held than was archived, whatever is in the file.
        if event.seq > archived.head.seq {
            return Err(other_end());
        }
        events.push(event);
    }
    let report = check.finish().map_err(|error| fault(error.to_string()))?;
    if let Some(found) = report.streams.iter().find_map(|stream| stream.fault.as_ref()) {
        return Err(fault(found.to_string()));
    }
    let head = events.last().map(|last| Head { seq: last.seq, hash: last.hash });
    if head != Some(archived.head) {
        return Err(other_end());
    }
    withhold_redacted(&mut events);
    match codec::taken(&events) {
        None => Ok(events),
        Some(seq) => Err(fault(format!("event {seq}: {MISSING_PROSE}"))),
    }
}

/// A store whose archived debates are read from the archive, as if they were in it. What it reads is checked.
#[derive(Debug)]
pub(crate) struct WithArchive {
    live: Arc<dyn EventStore>,
    folder: PathBuf,
    shelf: Mutex<Shelf>,
}

/// The debates that were read last, the latest at the end.
type Shelf = VecDeque<(StreamId, Arc<[Envelope]>)>;

impl WithArchive {
    /// Puts a store and its archive together.
    pub(crate) fn new(live: Arc<dyn EventStore>, folder: &Path) -> Self {
        Self { live, folder: folder.to_owned(), shelf: Mutex::default() }
    }

    /// Fetches a debate from the archive, if that is where it is.
    async fn fetch(&self, stream: StreamId) -> Result<Option<Arc<[Envelope]>>, ReadError> {
        let Some(archived) = self.live.find_archived(stream).await? else { return Ok(None) };
        let shelved = self.shelf().iter().find(|(it, _)| *it == stream).map(|(_, events)| Arc::clone(events));
        if shelved.is_some() {
            return Ok(shelved);
        }
        let events: Arc<[Envelope]> = events(&self.folder, &archived)
            .map_err(|error| ReadError::Corrupt {
                position: archived.position,
                what: format!("it is archived, and its bundle cannot be used: {}", exit::one_line(&error)),
            })?
            .into();
        let mut shelf = self.shelf();
        // A fork is read with all that it was forked from.
        if shelf.len() > DEPTH_MAX {
            shelf.pop_front();
        }
        shelf.push_back((stream, Arc::clone(&events)));
        Ok(Some(events))
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl EventStore for WithArchive {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        self.live.append(append).await
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        let page = self.live.read(stream, after, limit).await?;
        if !page.is_empty() || self.live.head(stream).await?.is_some() {
            return Ok(page);
        }
        let Some(events) = self.fetch(stream).await? else { return Ok(page) };
        let after = usize::try_from(after.0).unwrap_or(usize::MAX);
        Ok(events.iter().skip(after).take(limit as usize).cloned().collect())
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        self.live.read_all(after, limit).await
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        match self.live.head(stream).await? {
            Some(head) => Ok(Some(head)),
            None => Ok(self.live.find_archived(stream).await?.map(|archived| archived.head)),
        }
    }

    async fn heads(&self, after: Option<StreamId>, limit: u32) -> Result<Vec<(StreamId, Head)>, ReadError> {
        let mut heads: BTreeMap<StreamId, Head> = self.live.heads(after, limit).await?.into_iter().collect();
        let archived = all(&*self.live).await?;
        let archived = archived.into_iter().filter(|(stream, _)| after.is_none_or(|after| *stream > after));
        heads.extend(archived.map(|(stream, archived)| (stream, archived.head)));
        Ok(heads.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect())
    }

    fn is_in_place(&self) -> bool {
        self.live.is_in_place()
    }

    async fn ready(&self) -> Result<(), ReadError> {
        self.live.ready().await
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        self.live.find_request(tenant, request_id).await
    }

    async fn request_of(&self, stream: StreamId) -> Result<Option<String>, ReadError> {
        self.live.request_of(stream).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        self.live.list(filter).await
    }

    async fn find_archived(&self, stream: StreamId) -> Result<Option<Archived>, ReadError> {
        self.live.find_archived(stream).await
    }

    async fn list_archived(&self, filter: ListFilter) -> Result<Vec<Archived>, ReadError> {
        self.live.list_archived(filter).await
    }

    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError> {
        self.live.redact(stream, seq).await
    }

    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError> {
        self.live.wait(stream, after).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        self.live.wait_all(after).await
    }
}
