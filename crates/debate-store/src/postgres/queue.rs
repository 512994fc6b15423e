//! Schedules writers. If no write is in progress, the caller writes its append at once; appends that arrive meanwhile
//! wait and are written together. So no append waits for a timer: the next group fills during the sync in progress.
//! Several writers run in parallel only if more waits than makes a good group, and never two of them for one stream.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use debate_core::envelope::StreamId;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::append::{Append, AppendError};
use crate::group::{AppendJob, Group};
use crate::postgres::commit::{Answer, Committer};
use crate::postgres::wakeup::Announcer;

/// Events that make a group worth a writer of its own. Fewer are faster together with the next ones: writers side by
/// side share the syncs, and pay for each statement.
const EVENTS_PER_WRITER: usize = 64;

/// Appends that wait for their turn, and who is writing.
pub(super) struct Queue {
    committer: Committer,
    writers_max: usize,
    announcer: Arc<Announcer>,
    runtime: Handle,
    waiting: Mutex<Waiting>,
    /// Whether no append is being written and none waits.
    is_idle: watch::Sender<bool>,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<AppendJob>,
    /// Events of those that wait.
    events: usize,
    writers: usize,
    /// The streams that are being written.
    streams: HashSet<StreamId>,
    is_closed: bool,
}

/// How an append gets written.
enum Entered {
    /// By its caller, now.
    Now(Append, Turn),
    /// With others, soon.
    Soon(oneshot::Receiver<Answer>),
}

/// The right to write one stream. Dropping it hands it to the appends that wait.
struct Turn {
    queue: Arc<Queue>,
    stream: StreamId,
}

impl Queue {
    /// Creates an empty queue. Must be called on the runtime that its groups are to be written on.
    pub(super) fn new(committer: Committer, writers_max: usize, announcer: Arc<Announcer>) -> Arc<Self> {
        let (runtime, is_idle) = (Handle::current(), watch::Sender::new(true));
        Arc::new(Self { committer, writers_max, announcer, runtime, waiting: Mutex::default(), is_idle })
    }

    /// Writes an append that was checked in itself.
    pub(super) async fn append(self: &Arc<Self>, append: Append) -> Answer {
        let stream = append.stream;
        match self.enter(append)? {
            Entered::Now(append, turn) => {
                let answers = self.write(vec![append]).await;
                drop(turn);
                answers.into_iter().next().unwrap_or(Err(AppendError::Closed))
            }
            Entered::Soon(answer) => answer.await.unwrap_or_else(|_| {
                Err(AppendError::Backend { stream, source: "the writer stopped".into() })
            }),
        }
    }

    /// Refuses appends from now on, finishes those handed over, and ends the connections.
    pub(super) async fn close(&self) {
        self.waiting().is_closed = true;
        // The sender lives as long as this does.
        let _ = self.is_idle.subscribe().wait_for(|is_idle| *is_idle).await;
        self.committer.close().await;
    }

    fn enter(self: &Arc<Self>, append: Append) -> Result<Entered, AppendError> {
        let mut waiting = self.waiting();
        if waiting.is_closed {
            return Err(AppendError::Closed);
        }
        if waiting.writers > 0 {
            let (reply, answer) = oneshot::channel();
            waiting.events += append.envelopes.len();
            waiting.jobs.push_back(AppendJob { append, reply });
            if waiting.events >= EVENTS_PER_WRITER && waiting.writers < self.writers_max {
                self.start_writer(&mut waiting);
            }
            return Ok(Entered::Soon(answer));
        }
        waiting.writers = 1;
        waiting.streams.insert(append.stream);
        self.is_idle.send_replace(false);
        let turn = Turn { queue: Arc::clone(self), stream: append.stream };
        Ok(Entered::Now(append, turn))
    }

    /// Has another writer take what waits, if any of it may be written now.
    fn start_writer(self: &Arc<Self>, waiting: &mut Waiting) {
        if let Some(group) = waiting.gather() {
            waiting.writers += 1;
            self.runtime.spawn(drain(Arc::clone(self), group));
        }
    }

    async fn write(&self, appends: Vec<Append>) -> Vec<Answer> {
        let answers = self.committer.commit(&appends).await;
        let written = appends.iter().zip(&answers).filter_map(|(append, answer)| {
            let last = append.envelopes.last()?;
            answer.as_ref().ok().map(|position| (append.stream, last.seq, *position))
        });
        self.announcer.committed(written);
        answers
    }

    /// Takes the next group after these streams were written; gives the turn up when there is none.
    fn go_on(&self, written: impl IntoIterator<Item = StreamId>) -> Option<Vec<AppendJob>> {
        let mut waiting = self.waiting();
        for stream in written {
            waiting.streams.remove(&stream);
        }
        let group = waiting.gather();
        if group.is_none() {
            waiting.writers -= 1;
            if waiting.writers == 0 {
                self.is_idle.send_replace(true);
            }
        }
        group
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Takes what may be written now and is best written together, in order.
    fn gather(&mut self) -> Option<Vec<AppendJob>> {
        let mut group = Group::default();
        let (mut events, mut kept) = (0, VecDeque::new());
        // An append that waits behind another append to its stream must stay behind it.
        let mut passed_over = HashSet::new();
        while let Some(job) = self.jobs.pop_front() {
            let append = &job.append;
            let is_busy = self.streams.contains(&append.stream) || passed_over.contains(&append.stream);
            if is_busy || (events > 0 && !group.has_room_for(append)) {
                passed_over.insert(append.stream);
                kept.push_back(job);
                continue;
            }
            events += append.envelopes.len();
            group.push(job);
            if events >= EVENTS_PER_WRITER {
                break;
            }
        }
        kept.append(&mut self.jobs);
        self.jobs = kept;
        self.events -= events;
        self.streams.extend(group.jobs.iter().map(|job| job.append.stream));
        (events > 0).then_some(group.jobs)
    }
}

/// Writes group after group until no append waits.
async fn drain(queue: Arc<Queue>, mut group: Vec<AppendJob>) {
    loop {
        let (appends, replies): (Vec<_>, Vec<_>) =
            group.into_iter().map(|job| (job.append, job.reply)).unzip();
        let streams: Vec<StreamId> = appends.iter().map(|it| it.stream).collect();
        let answers = queue.write(appends).await;
        for (reply, answer) in replies.into_iter().zip(answers) {
            // The caller may have stopped waiting.
            let _ = reply.send(answer);
        }
        // Lets callers that append again at once join the group that already waits; it delays no other append.
        tokio::task::yield_now().await;
        match queue.go_on(streams) {
            Some(next) => group = next,
            None => return,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(group) = self.queue.go_on([self.stream]) {
            self.queue.runtime.spawn(drain(Arc::clone(&self.queue), group));
        }
    }
}
