//! Who writes when. An append that finds nobody writing is written at once, by its caller; what arrives meanwhile waits
//! and is written together. So nobody waits for a timer: the sync under way is what fills the next group.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::append::{Append, AppendError};
use crate::group::{AppendJob, Group};
use crate::postgres::commit::{Answer, Committer};
use crate::postgres::wakeup::Announcer;

/// Appends that wait for their turn, and whether somebody is writing.
pub(super) struct Queue {
    committer: Committer,
    announcer: Arc<Announcer>,
    runtime: Handle,
    waiting: Mutex<Waiting>,
    /// Whether nobody writes and nobody waits.
    is_idle: watch::Sender<bool>,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<AppendJob>,
    is_writing: bool,
    is_closed: bool,
}

/// How an append gets written.
enum Entered {
    /// By its caller, now.
    Now(Append, Turn),
    /// With others, soon.
    Soon(oneshot::Receiver<Answer>),
}

/// The right to write. Whoever drops it hands it to those who wait.
struct Turn(Arc<Queue>);

impl Queue {
    /// Creates an empty queue. Must be called on the runtime that its groups are to be written on.
    pub(super) fn new(committer: Committer, announcer: Arc<Announcer>) -> Arc<Self> {
        let (runtime, is_idle) = (Handle::current(), watch::Sender::new(true));
        Arc::new(Self { committer, announcer, runtime, waiting: Mutex::default(), is_idle })
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
        if waiting.is_writing {
            let (reply, answer) = oneshot::channel();
            waiting.jobs.push_back(AppendJob { append, reply });
            return Ok(Entered::Soon(answer));
        }
        waiting.is_writing = true;
        self.is_idle.send_replace(false);
        Ok(Entered::Now(append, Turn(Arc::clone(self))))
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

    /// Takes what waits and can be committed together; gives the turn up when nothing does.
    fn gather(&self) -> Option<Vec<AppendJob>> {
        let mut waiting = self.waiting();
        let mut group = Group::default();
        while let Some(job) = waiting.jobs.pop_front() {
            if !group.jobs.is_empty() && !group.has_room_for(&job.append) {
                waiting.jobs.push_front(job);
                break;
            }
            group.push(job);
        }
        if group.jobs.is_empty() {
            waiting.is_writing = false;
            self.is_idle.send_replace(true);
            return None;
        }
        Some(group.jobs)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes group after group until nobody waits.
async fn drain(queue: Arc<Queue>, mut group: Vec<AppendJob>) {
    loop {
        let (appends, replies): (Vec<_>, Vec<_>) =
            group.into_iter().map(|job| (job.append, job.reply)).unzip();
        let answers = queue.write(appends).await;
        for (reply, answer) in replies.into_iter().zip(answers) {
            // Nobody may be waiting any more.
            let _ = reply.send(answer);
        }
        match queue.gather() {
            Some(next) => group = next,
            None => return,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(group) = self.0.gather() {
            self.0.runtime.spawn(drain(Arc::clone(&self.0), group));
        }
    }
}
