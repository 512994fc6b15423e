//! A store in memory, for tests, simulations and trials. It forgets everything when it is dropped.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use debate_core::chain::GENESIS;
use debate_core::envelope::{Envelope, StreamId, StreamKind};
use debate_core::formats::any::format_of;
use debate_core::id::{Seq, Timestamp};

use crate::append::{Append, AppendError};
use crate::archive::{self, Archive, ArchiveError, Archived, Step};
use crate::list::{ListFilter, Listed};
use crate::port::{EventStore, Head, Position, ReadError, RedactError, RequestOwner};
use crate::wake::Wakes;

/// Keeps events in memory, with the semantics of every other store.
pub struct MemoryStore {
    log: Mutex<Log>,
    wakes: Arc<Wakes>,
}

#[derive(Default)]
struct Log {
    /// All events in the order of commits, by index; the position of an event is its index + 1.
    events: BTreeMap<usize, Envelope>,
    /// The index of the next event: those of archived ones are not used again.
    next: usize,
    /// For each stream the indices of its events.
    streams: HashMap<StreamId, Vec<usize>>,
    /// The indices of the first events of debates, in order.
    debates: Vec<usize>,
    requests: HashMap<(String, String), RequestOwner>,
    archived: HashMap<StreamId, Archived>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self { log: Mutex::default(), wakes: Wakes::new(Position::START) }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("events", &self.log().events.len()).finish_non_exhaustive()
    }
}

#[async_trait]
impl EventStore for MemoryStore {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        append.check()?;
        let stream = append.stream;
        let (head, last) = {
            let mut log = self.log();
            let position = log.append(append)?;
            (log.head(stream), position)
        };
        if let Some(head) = head {
            self.wakes.committed(&[(stream, head.seq)], last);
        }
        Ok(last)
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        let log = self.log();
        let indices = log.indices_after(stream, after);
        Ok(indices.iter().take(size(limit)).map(|&index| log.events[&index].clone()).collect())
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        let log = self.log();
        let start = usize::try_from(after.0).unwrap_or(usize::MAX);
        let rest = log.events.range(start..).take(size(limit));
        Ok(rest.map(|(index, envelope)| (position_of(*index), envelope.clone())).collect())
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        Ok(self.log().head(stream))
    }

    async fn heads(&self, after: Option<StreamId>, limit: u32) -> Result<Vec<(StreamId, Head)>, ReadError> {
        let log = self.log();
        let mut streams: Vec<StreamId> = log.streams.keys().copied().collect();
        streams.retain(|stream| after.is_none_or(|after| *stream > after));
        streams.sort_unstable();
        let page = streams.into_iter().take(size(limit));
        Ok(page.filter_map(|stream| Some((stream, log.head(stream)?))).collect())
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        let key = (tenant.to_owned(), request_id.to_owned());
        Ok(self.log().requests.get(&key).copied())
    }

    async fn request_of(&self, stream: StreamId) -> Result<Option<String>, ReadError> {
        let log = self.log();
        let of_stream = log.requests.iter().filter(|(_, owner)| owner.stream == stream);
        Ok(of_stream.map(|((_, request_id), _)| request_id).min().cloned())
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        let log = self.log();
        let mut listed = Vec::new();
        for &index in log.debates.iter().rev() {
            if listed.len() == size(filter.limit) {
                break;
            }
            if filter.before.is_none_or(|before| position_of(index) < before) {
                listed.extend(log.listed(index, &filter));
            }
        }
        Ok(listed)
    }

    async fn find_archived(&self, stream: StreamId) -> Result<Option<Archived>, ReadError> {
        Ok(self.log().archived.get(&stream).cloned())
    }

    async fn list_archived(&self, filter: ListFilter) -> Result<Vec<Archived>, ReadError> {
        let log = self.log();
        let is_wanted = |archived: &&Archived| {
            filter.tenant.as_ref().is_none_or(|tenant| *tenant == archived.tenant)
                && (filter.format.is_none() || filter.format == archived.format)
                && filter.before.is_none_or(|before| archived.position < before)
        };
        let mut found: Vec<Archived> = log.archived.values().filter(is_wanted).cloned().collect();
        found.sort_unstable_by_key(|archived| std::cmp::Reverse(archived.position));
        found.truncate(size(filter.limit));
        Ok(found)
    }

    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError> {
        let mut log = self.log();
        let index =
            seq.0.checked_sub(1).and_then(|before| log.indices_after(stream, Seq(before)).first().copied());
        let index = index.ok_or(RedactError::NotFound { stream, seq })?;
        if let Some(event) = log.events.get_mut(&index) {
            event.prose = None;
        }
        Ok(())
    }

    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError> {
        self.wakes.subscribe(stream)?.beyond(after, self.head(stream)).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        self.wakes.subscribe_all()?.beyond(after).await
    }
}

#[async_trait]
impl Archive for MemoryStore {
    async fn archive(
        &self,
        stream: StreamId,
        head: Head,
        bundle: &str,
        at: Timestamp,
    ) -> Result<(), ArchiveError> {
        let mut log = self.log();
        let indices = log.streams.get(&stream).cloned().unwrap_or_default();
        let last = indices.last().map(|index| &log.events[index]);
        let last = last.map(|last| (Head { seq: last.seq, hash: last.hash }, last.kind.clone()));
        let archived = log.archived.get(&stream).cloned();
        match archive::decide_archive(stream, head, bundle, archived, last)? {
            Step::Done => return Ok(()),
            Step::Go => {}
        }
        let Some(first) = indices.first().and_then(|index| log.events.get(index)).cloned() else {
            return Err(ArchiveError::NotFound(stream));
        };
        let archived = Archived {
            stream,
            head,
            bundle: bundle.to_owned(),
            at,
            position: position_of(indices[0]),
            format: format_of(&first),
            tenant: first.tenant,
            opened_at: first.at,
        };
        log.archived.insert(stream, archived);
        log.streams.remove(&stream);
        log.debates.retain(|index| *index != indices[0]);
        log.events.retain(|_, event| event.stream != stream);
        Ok(())
    }

    async fn restore(&self, stream: StreamId, events: Vec<Envelope>) -> Result<(), ArchiveError> {
        let head = archive::check_whole(stream, &events)?;
        let last = {
            let mut log = self.log();
            let there = log.indices_after(stream, Seq(head.seq.0.saturating_sub(1))).first();
            let is_there = there.is_some_and(|index| log.events[index].hash == head.hash);
            match archive::decide_restore(stream, head, log.archived.get(&stream), is_there)? {
                Step::Done => return Ok(()),
                Step::Go => {}
            }
            log.archived.remove(&stream);
            log.put(stream, events)
        };
        self.wakes.committed(&[(stream, head.seq)], last);
        Ok(())
    }
}

impl Log {
    fn append(&mut self, append: Append) -> Result<Position, AppendError> {
        let stored = self.stored_position(&append);
        let request = append.request.as_ref().map(|it| (it.tenant.clone(), it.request_id.clone()));
        if let Some(owner) = request.as_ref().and_then(|key| self.requests.get(key)) {
            let same_body = append.request.as_ref().is_some_and(|it| it.body_hash == owner.body_hash);
            let is_same = same_body && owner.stream == append.stream;
            return stored
                .filter(|_| is_same)
                .ok_or(AppendError::RequestTaken { stream: owner.stream, same_body });
        }
        let last = match stored {
            Some(position) => position,
            None => self.store(&append)?,
        };
        if let (Some(key), Some(request)) = (request, append.request) {
            let owner = RequestOwner { stream: append.stream, body_hash: request.body_hash };
            self.requests.insert(key, owner);
        }
        Ok(last)
    }

    /// Returns where the last of these events stands, if all of them are already there.
    fn stored_position(&self, append: &Append) -> Option<Position> {
        let indices = self.indices_after(append.stream, append.expected);
        append
            .is_stored_as(indices.iter().map(|index| self.events[index].hash))
            .then(|| position_of(indices[append.envelopes.len() - 1]))
    }

    fn store(&mut self, append: &Append) -> Result<Position, AppendError> {
        let (seq, hash) =
            self.head(append.stream).map_or((Seq::START, GENESIS), |head| (head.seq, head.hash));
        if seq == Seq::START && self.archived.contains_key(&append.stream) {
            return Err(AppendError::Archived(append.stream));
        }
        if seq != append.expected {
            return Err(append.conflict(seq));
        }
        append.check_follows(&hash)?;
        Ok(self.put(append.stream, append.envelopes.iter().map(|envelope| Envelope::clone(envelope))))
    }

    /// Adds events behind all others and returns where the last of them stands.
    fn put(&mut self, stream: StreamId, events: impl IntoIterator<Item = Envelope>) -> Position {
        let first = self.next;
        for event in events {
            self.events.insert(self.next, event);
            self.next += 1;
        }
        let added = first..self.next;
        match self.streams.entry(stream) {
            Entry::Occupied(mut indices) => indices.get_mut().extend(added),
            Entry::Vacant(indices) => {
                indices.insert(added.collect());
                if stream.kind == StreamKind::Debate {
                    self.debates.push(first);
                }
            }
        }
        Position(self.next as u64)
    }

    fn head(&self, stream: StreamId) -> Option<Head> {
        let last = self.events.get(self.streams.get(&stream)?.last()?)?;
        Some(Head { seq: last.seq, hash: last.hash })
    }

    fn indices_after(&self, stream: StreamId, after: Seq) -> &[usize] {
        let indices = self.streams.get(&stream).map_or(&[][..], Vec::as_slice);
        let start = usize::try_from(after.0).unwrap_or(usize::MAX).min(indices.len());
        &indices[start..]
    }

    fn listed(&self, first: usize, filter: &ListFilter) -> Option<Listed> {
        let opened = &self.events[&first];
        if filter.tenant.as_ref().is_some_and(|tenant| *tenant != opened.tenant) {
            return None;
        }
        if filter.format.as_ref().is_some_and(|format| format_of(opened).as_ref() != Some(format)) {
            return None;
        }
        let indices = self.indices_after(opened.stream, Seq::START);
        let events = indices.iter().rev().map(|index| &self.events[index]);
        let last_of_kinds = events.clone().find(|it| filter.lifecycle.contains(&it.kind));
        let takes_time = filter.takes_time(last_of_kinds.map(|it| it.at));
        (takes_time && filter.takes_status(last_of_kinds.map(|it| it.kind.as_str()))).then(|| Listed {
            first: opened.clone(),
            last_of_kinds: last_of_kinds.cloned(),
            head: Seq(indices.len() as u64),
            position: position_of(first),
        })
    }
}

fn position_of(index: usize) -> Position {
    Position(index as u64 + 1)
}

fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
