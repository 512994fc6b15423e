//! Tells other processes of what was appended, and those who wait here of what others appended.
//!
//! Notifications carry stream and sequence number alone. They are sent after the commit, on a connection of their own:
//! in the append's transaction they would make all commits of the server wait for one lock. Whatever is committed
//! while one is under way goes out together. What could not be sent is sent again. They may still be lost; a poll
//! finds the events that they did not report, with one small query per interval while a caller waits, and none
//! otherwise.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use debate_core::envelope::{StreamId, StreamKind};
use debate_core::id::Seq;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgListener, PgPool};
use sqlx::{ConnectOptions as _, Row as _};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::port::{Position, ReadError};
use crate::postgres::fault::answer;
use crate::postgres::{PostgresOptions, feed};
use crate::wake::Wakes;

/// Where replicas hear of each other.
const CHANNEL: &str = "debate_log";

/// Streams named in one notification, which may have 8,000 bytes: a stream takes fewer than 72.
const STREAMS_PER_NOTICE: usize = 100;

/// The least time between two notifications; the first after a rest goes out at once.
const NOTICE_SPACING: Duration = Duration::from_millis(5);

/// How soon to look again whether an event is below the horizon; every further look takes twice as long.
const SETTLE_FIRST: Duration = Duration::from_millis(1);

/// How long a server that cannot be reached is left alone.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);

/// The longest that a look which failed waits for the next one.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long the horizon may stand still, with events behind it, before it is reported; and reported again.
const HELD_BACK_MAX: Duration = Duration::from_secs(5);

const NOTIFY: &str = "SELECT pg_notify($1, $2)";

/// Whether anything was added that was not visible when the horizon stood at `$1`, and where it stands now.
const ADDED_SINCE: &str = "SELECT position_of(pg_snapshot_xmin(pg_current_snapshot())), \
     EXISTS (SELECT FROM events WHERE position >= $1)";

const HEADS: &str = "SELECT r.kind, r.id, h.seq FROM unnest($1::text[], $2::uuid[]) AS r (kind, id) \
     CROSS JOIN LATERAL (SELECT seq FROM events e WHERE e.stream_kind = r.kind AND e.stream_id = r.id \
     ORDER BY seq DESC LIMIT 1) h";

/// Takes in what this process has committed.
#[derive(Debug)]
pub(super) struct Announcer {
    wakes: Arc<Wakes>,
    unsent: Mutex<HashMap<StreamId, Seq>>,
    has_unsent: Notify,
    /// Rouses the poller before its time: something was added somewhere.
    stir: Notify,
    /// Whether notifications may have been missed, so that streams must be looked at.
    is_deaf: AtomicBool,
}

impl Announcer {
    pub(super) fn new(wakes: Arc<Wakes>) -> Arc<Self> {
        let (has_unsent, stir) = (Notify::new(), Notify::new());
        Arc::new(Self { wakes, unsent: Mutex::default(), has_unsent, stir, is_deaf: AtomicBool::new(true) })
    }

    /// Tells those who wait here at once, and other processes soon.
    pub(super) fn committed(&self, written: impl Iterator<Item = (StreamId, Seq, Position)>) {
        let heads: Vec<(StreamId, Seq)> = written.map(|(stream, seq, _)| (stream, seq)).collect();
        if heads.is_empty() {
            return;
        }
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner).extend(heads.iter().copied());
        self.has_unsent.notify_one();
        self.heard(&heads);
    }

    /// Rouses the poller: somebody began to wait, or something was added.
    pub(super) fn stir(&self) {
        self.stir.notify_one();
    }

    fn heard(&self, heads: &[(StreamId, Seq)]) {
        self.wakes.committed(heads, Position::START);
        self.stir();
    }

    fn take_unsent(&self) -> HashMap<StreamId, Seq> {
        std::mem::take(&mut *self.unsent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes back what could not be sent, so that it is sent with the next notification.
    fn put_back(&self, failed: HashMap<StreamId, Seq>) {
        let mut unsent = self.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        for (stream, seq) in failed {
            let latest = unsent.entry(stream).or_insert(seq);
            *latest = seq.max(*latest);
        }
        self.has_unsent.notify_one();
    }
}

/// What runs in the background while the store is open.
#[derive(Debug)]
pub(super) struct Background(Vec<AbortHandle>);

impl Background {
    /// Starts to tell, to listen and to poll.
    pub(super) fn start(
        announcer: &Arc<Announcer>,
        to_connect: &PgConnectOptions,
        pool: &PgPool,
        options: &PostgresOptions,
    ) -> Self {
        // A lost notification costs little, and a commit that waits for the disk costs much.
        let to_tell = to_connect.clone().options([("synchronous_commit", "off")]);
        let teller = tokio::spawn(tell(Arc::clone(announcer), to_tell, options.answer_time()));
        let listener = tokio::spawn(listen(Arc::clone(announcer), pool.clone()));
        let poller = Poller::new(Arc::clone(announcer), pool.clone(), options);
        let poller = tokio::spawn(poller.run());
        Self([teller, listener, poller].map(|task| task.abort_handle()).into())
    }

    /// Ends all of it.
    pub(super) fn stop(&self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Tells other processes, for as long as the store is open.
async fn tell(announcer: Arc<Announcer>, to_connect: PgConnectOptions, time: Duration) {
    let mut connection: Option<PgConnection> = None;
    loop {
        announcer.has_unsent.notified().await;
        let unsent = announcer.take_unsent();
        let named: Vec<String> = unsent.iter().map(|(stream, seq)| format!("{stream}/{seq}")).collect();
        for streams in named.chunks(STREAMS_PER_NOTICE) {
            let sent = async {
                let mut open = match connection.take() {
                    Some(open) => open,
                    None => to_connect.connect().await?,
                };
                sqlx::query(NOTIFY).bind(CHANNEL).bind(streams.join(" ")).execute(&mut open).await?;
                Ok(open)
            };
            match answer(time, sent).await {
                Ok(open) => connection = Some(open),
                Err(error) => {
                    tracing::debug!(%error, "cannot notify other processes yet; they poll");
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                    announcer.put_back(unsent);
                    break;
                }
            }
        }
        tokio::time::sleep(NOTICE_SPACING).await;
    }
}

/// Hears other processes, from the first time that somebody waits on.
async fn listen(announcer: Arc<Announcer>, pool: PgPool) {
    if announcer.wakes.waiting().wait_for(|count| *count > 0).await.is_err() {
        return;
    }
    loop {
        let failed = match hear(&announcer, &pool).await {
            Ok(never) => match never {},
            Err(error) => error,
        };
        if pool.is_closed() {
            return;
        }
        tracing::debug!(error = %failed, "cannot hear other processes; polling instead");
        announcer.is_deaf.store(true, Ordering::Release);
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

async fn hear(announcer: &Announcer, pool: &PgPool) -> Result<std::convert::Infallible, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    loop {
        // There may be no notification of what was added before now.
        announcer.is_deaf.store(true, Ordering::Release);
        announcer.stir();
        while let Some(notice) = listener.try_recv().await? {
            let heads: Vec<(StreamId, Seq)> = notice.payload().split(' ').filter_map(head_named).collect();
            announcer.heard(&heads);
        }
    }
}

/// Reads `debate/ID/SEQ`.
fn head_named(text: &str) -> Option<(StreamId, Seq)> {
    let mut parts = text.split('/');
    let kind = StreamKind::from_name(parts.next()?)?;
    let id = Uuid::try_parse(parts.next()?).ok()?;
    Some((StreamId { kind, id }, Seq(parts.next()?.parse().ok()?)))
}

/// Looks for those who wait.
struct Poller {
    announcer: Arc<Announcer>,
    pool: PgPool,
    interval: Duration,
    time: Duration,
    /// Where the horizon stood when streams were last looked at.
    seen: i64,
    /// Since when the last event below the horizon is this one, although there are later ones.
    held_back: Option<(Position, Instant)>,
}

impl Poller {
    fn new(announcer: Arc<Announcer>, pool: PgPool, options: &PostgresOptions) -> Self {
        let (interval, time) = (options.poll_interval, options.answer_time());
        Self { announcer, pool, interval, time, seen: 0, held_back: None }
    }

    async fn run(mut self) {
        let wakes = Arc::clone(&self.announcer.wakes);
        let mut waiting = wakes.waiting();
        let mut pause = self.interval;
        let mut looked = Instant::now();
        while waiting.wait_for(|count| *count > 0).await.is_ok() {
            let stirred = tokio::time::timeout(pause, self.announcer.stir.notified()).await;
            let is_deaf = self.announcer.is_deaf.swap(false, Ordering::AcqRel);
            let mut polled = Ok(());
            if is_deaf || looked.elapsed() >= self.interval {
                looked = Instant::now();
                polled = self.look_at_streams().await;
            }
            if polled.is_ok() && wakes.is_all_waited_for() {
                if stirred.is_ok() {
                    pause = SETTLE_FIRST;
                }
                polled = self.settle().await.map(|is_everything| {
                    pause = if is_everything { self.interval } else { (pause * 2).min(self.interval) };
                });
            }
            match polled.map_err(ReadError::from) {
                Ok(()) => {}
                Err(ReadError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "cannot look for events of other processes");
                    self.announcer.is_deaf.store(true, Ordering::Release);
                    pause = self.interval.min(LOOK_AGAIN);
                }
            }
        }
    }

    /// Looks at the streams that somebody waits for, if anything was added since the last time.
    async fn look_at_streams(&mut self) -> Result<(), sqlx::Error> {
        let mut connection = answer(self.time, self.pool.acquire()).await?;
        let added = sqlx::query(ADDED_SINCE).bind(self.seen);
        let row = answer(self.time, added.fetch_one(&mut *connection)).await?;
        let (horizon, is_any): (i64, bool) = (row.try_get(0)?, row.try_get(1)?);
        if is_any {
            let streams = self.announcer.wakes.streams_waited_for();
            let heads = sqlx::query(HEADS)
                .bind(streams.iter().map(|it| it.kind.as_str()).collect::<Vec<&str>>())
                .bind(streams.iter().map(|it| it.id).collect::<Vec<Uuid>>());
            let mut found = Vec::new();
            for row in answer(self.time, heads.fetch_all(&mut *connection)).await? {
                let seq = u64::try_from(row.try_get::<i64, _>(2)?).unwrap_or(0);
                if let Some(kind) = StreamKind::from_name(row.try_get(0)?) {
                    found.push((StreamId { kind, id: row.try_get(1)? }, Seq(seq)));
                }
            }
            self.announcer.wakes.committed(&found, Position::START);
        }
        self.seen = horizon;
        Ok(())
    }

    /// Tells those who wait for any event how far they can read; returns whether that is everything there is.
    async fn settle(&mut self) -> Result<bool, sqlx::Error> {
        let mut connection = answer(self.time, self.pool.acquire()).await?;
        let (settled, last) = answer(self.time, feed::settled_and_last(&mut connection)).await?;
        self.announcer.wakes.committed(&[], settled);
        if settled >= last {
            self.held_back = None;
            return Ok(true);
        }
        match self.held_back {
            Some((position, since)) if position == settled => {
                if since.elapsed() >= HELD_BACK_MAX {
                    let horizon = answer(self.time, feed::horizon(&mut connection)).await?;
                    let age_ms = horizon.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
                    tracing::warn!(
                        events_behind = horizon.events_behind,
                        held_by = horizon.held_by.map(|holder| holder.to_string()),
                        age_ms,
                        "a transaction that does not end holds back all readers of the whole log"
                    );
                    self.held_back = Some((settled, Instant::now()));
                }
            }
            Some(_) | None => self.held_back = Some((settled, Instant::now())),
        }
        Ok(false)
    }
}
