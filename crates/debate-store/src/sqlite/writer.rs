//! The one task that writes. What queues up while the disk is busy is the next group.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Seq, Timestamp};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Row as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::append::AppendError;
use crate::archive::ArchiveError;
use crate::group::{AppendJob, Group};
use crate::port::{BoxError, Head, RedactError};
use crate::sqlite::FileLock;
use crate::sqlite::commit::{Committer, Written};
use crate::sqlite::poll::Cursor;
use crate::sqlite::read::integer;
use crate::wake::Wakes;

/// Jobs that may wait for the writer; more wait in front of the queue.
const JOBS_MAX: usize = 1_024;

/// How far apart groups begin at least while several streams are being written, as with PostgreSQL's `commit_delay` and
/// `commit_siblings`: larger groups write the pages that they share once. A single writer never waits.
const PACE: Duration = Duration::from_millis(1);

/// For how long a commit shows that the file can be written.
const WRITTEN_LATELY: Duration = Duration::from_secs(10);

/// Where the file is; it is looked for before each commit, lest what is acknowledged goes into a file that was removed.
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) lock: Arc<FileLock>,
}

/// Something to write, and where the answer goes.
pub(super) enum Job {
    Append(AppendJob),
    Redact {
        stream: StreamId,
        seq: Seq,
        reply: oneshot::Sender<Result<(), RedactError>>,
    },
    Archive {
        stream: StreamId,
        head: Head,
        bundle: String,
        at: Timestamp,
        reply: oneshot::Sender<Result<(), ArchiveError>>,
    },
    Restore {
        stream: StreamId,
        events: Vec<Envelope>,
        reply: oneshot::Sender<Result<(), ArchiveError>>,
    },
    /// Nothing: whether the file can be written is asked.
    Probe {
        reply: oneshot::Sender<Result<(), BoxError>>,
    },
    Close {
        reply: oneshot::Sender<Result<(), BoxError>>,
    },
}

/// Starts the writer. It ends on [`Job::Close`] or when every sender is gone and the queue is empty.
pub(super) fn spawn(
    connection: SqliteConnection,
    place: Place,
    wakes: Arc<Wakes>,
    cursor: Arc<Cursor>,
) -> mpsc::Sender<Job> {
    let (sender, jobs) = mpsc::channel(JOBS_MAX);
    let (committer, backlog) = (Committer::new(connection), VecDeque::new());
    let not_before = Instant::now();
    let writer = Writer { committer, place, jobs, backlog, wakes, cursor, not_before, written_at: None };
    tokio::spawn(writer.run());
    sender
}

struct Writer {
    committer: Committer,
    place: Place,
    jobs: mpsc::Receiver<Job>,
    /// Jobs taken from the queue that did not fit the last group.
    backlog: VecDeque<Job>,
    wakes: Arc<Wakes>,
    cursor: Arc<Cursor>,
    /// When the next group begins at the earliest, unless it is full.
    not_before: Instant,
    /// When something was last written.
    written_at: Option<Instant>,
}

impl Writer {
    async fn run(mut self) {
        while let Some(job) = self.next().await {
            match job {
                Job::Append(first) => {
                    let group = self.gather(first).await;
                    self.append(group).await;
                }
                Job::Redact { stream, seq, reply } => {
                    let answer = match redact(self.committer.connection(), stream, seq).await {
                        Ok(true) => Ok(()),
                        Ok(false) => Err(RedactError::NotFound { stream, seq }),
                        Err(error) => Err(RedactError::Backend { stream, seq, source: error.into() }),
                    };
                    let _ = reply.send(answer);
                }
                Job::Archive { stream, head, bundle, at, reply } => {
                    let _ = reply.send(self.archive(stream, head, &bundle, at).await);
                }
                Job::Restore { stream, events, reply } => {
                    let restored = self.committer.restore(stream, events).await;
                    let _ = reply.send(restored.map(|written| self.tell(written.as_ref())));
                }
                Job::Probe { reply } => drop(reply.send(self.probe().await)),
                Job::Close { reply } => {
                    self.refuse_rest().await;
                    let _ = reply.send(finish(self.committer).await.map_err(Into::into));
                    return;
                }
            }
        }
        if let Err(error) = finish(self.committer).await {
            tracing::warn!(%error, "cannot close the store cleanly");
        }
    }

    async fn next(&mut self) -> Option<Job> {
        match self.backlog.pop_front() {
            Some(job) => Some(job),
            None => self.jobs.recv().await,
        }
    }

    /// Takes what is queued behind an append and can be committed with it, while more keeps coming and until the next
    /// group may begin. Callers that are about to append join the group; a single caller does not wait.
    async fn gather(&mut self, first: AppendJob) -> Group {
        let mut group = Group::default();
        group.push(first);
        let mut known = 0;
        loop {
            let job = match self.backlog.pop_front() {
                Some(job) => job,
                None => match self.jobs.try_recv() {
                    Ok(job) => job,
                    Err(_) if group.jobs.len() == known && self.not_before <= Instant::now() => return group,
                    Err(_) if group.jobs.len() == known => {
                        tokio::time::sleep_until(self.not_before).await;
                        continue;
                    }
                    Err(_) => {
                        known = group.jobs.len();
                        tokio::task::yield_now().await;
                        continue;
                    }
                },
            };
            match job {
                Job::Append(next) if group.has_room_for(&next.append) => group.push(next),
                other @ (Job::Append(_)
                | Job::Redact { .. }
                | Job::Archive { .. }
                | Job::Restore { .. }
                | Job::Probe { .. }
                | Job::Close { .. }) => {
                    self.backlog.push_front(other);
                    return group;
                }
            }
        }
    }

    async fn append(&mut self, group: Group) {
        let has_siblings = group.jobs.len() > 1;
        self.not_before = Instant::now() + if has_siblings { PACE } else { Duration::ZERO };
        let (appends, replies): (Vec<_>, Vec<_>) =
            group.jobs.into_iter().map(|job| (job.append, job.reply)).unzip();
        if let Err(error) = self.check_place() {
            for (append, reply) in appends.into_iter().zip(replies) {
                let source = error.to_string().into();
                let _ = reply.send(Err(AppendError::Backend { stream: append.stream, source }));
            }
            return;
        }
        let answers = self.committer.commit(&appends).await;
        self.tell(answers.written.as_ref());
        for (reply, answer) in replies.into_iter().zip(answers.each) {
            // The caller may have stopped waiting.
            let _ = reply.send(answer);
        }
    }

    /// Writes what changes nothing, unless the file was written lately.
    async fn probe(&mut self) -> Result<(), BoxError> {
        self.check_place()?;
        if self.written_at.is_none_or(|at| at.elapsed() >= WRITTEN_LATELY) {
            sqlx::query("PRAGMA user_version = 0").execute(self.committer.connection()).await?;
            self.written_at = Some(Instant::now());
        }
        Ok(())
    }

    /// Checks that the path still leads to the file.
    fn check_place(&self) -> Result<(), BoxError> {
        let Place { path, lock } = &self.place;
        if lock.is_at(path) {
            return Ok(());
        }
        let path = path.display();
        Err(format!("{path} was removed or replaced; stop this process, put the file back and start again")
            .into())
    }

    /// Wakes those who wait for what was written.
    fn tell(&mut self, written: Option<&Written>) {
        if let Some(written) = written {
            self.written_at = Some(Instant::now());
            self.cursor.skip_own(written.first, written.last);
            self.wakes.committed(&written.heads, written.last);
        }
    }

    /// Archives a stream. The journal is emptied too, for it still has the events.
    async fn archive(
        &mut self,
        stream: StreamId,
        head: Head,
        bundle: &str,
        at: Timestamp,
    ) -> Result<(), ArchiveError> {
        self.committer.archive(stream, head, bundle, at).await?;
        match empty_journal(self.committer.connection()).await {
            Ok(true) => {}
            Ok(false) => {
                tracing::debug!(%stream, "archived; the journal keeps a copy until no reader is left");
            }
            Err(error) => tracing::warn!(%stream, %error, "archived; the journal keeps a copy"),
        }
        Ok(())
    }

    /// Answers whatever came after the store was closed.
    async fn refuse_rest(&mut self) {
        self.jobs.close();
        while let Some(job) = self.next().await {
            match job {
                Job::Append(job) => drop(job.reply.send(Err(AppendError::Closed))),
                Job::Redact { reply, .. } => drop(reply.send(Err(RedactError::Closed))),
                Job::Archive { reply, .. } | Job::Restore { reply, .. } => {
                    drop(reply.send(Err(ArchiveError::Closed)));
                }
                Job::Probe { reply } => drop(reply.send(Err("the store is closed".into()))),
                Job::Close { reply } => drop(reply.send(Ok(()))),
            }
        }
    }
}

/// Deletes prose and salt; returns whether the event is there. The journal is emptied too, for it still has them.
async fn redact(connection: &mut SqliteConnection, stream: StreamId, seq: Seq) -> Result<bool, sqlx::Error> {
    let updated = sqlx::query(
        "UPDATE events SET prose = NULL, salt = NULL WHERE stream_kind = ?1 AND stream_id = ?2 AND seq = ?3",
    )
    .bind(stream.kind.as_str())
    .bind(stream.id.as_bytes().to_vec())
    .bind(integer(seq.0))
    .execute(&mut *connection)
    .await?;
    if !empty_journal(connection).await? {
        tracing::warn!(%stream, %seq, "redacted, but the journal keeps a copy until no reader is left");
    }
    Ok(updated.rows_affected() > 0)
}

/// Moves the journal into the file and closes it.
async fn finish(committer: Committer) -> Result<(), sqlx::Error> {
    let mut connection = committer.into_connection();
    empty_journal(&mut connection).await?;
    connection.close().await
}

/// Moves the journal into the file; returns whether the journal is empty now, which a long read can prevent.
async fn empty_journal(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let row = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(connection).await?;
    let is_busy: i64 = row.try_get(0)?;
    Ok(is_busy == 0)
}
