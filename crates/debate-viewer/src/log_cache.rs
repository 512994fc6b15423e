//! Logs that were looked at lately, so that who moves through a debate does not have it read and folded anew each time.

use std::sync::{Arc, Mutex, PoisonError};

use debate_core::envelope::Envelope;
use debate_core::event::Redacted;
use debate_core::id::{DebateId, Seq};
use debate_core::record::Body as _;
use debate_engine::{Engine, LoadError, Tenant};

use crate::log::Log;
use crate::refused::Refused;
use crate::run_blocking::run_blocking;

/// The most logs kept.
const LOGS_MAX: usize = 32;
/// The most bytes kept, over all logs but the latest.
const BYTES_MAX: usize = 128 << 20;
/// Events read at once.
const PAGE: u32 = 1_000;

/// The logs, the one looked at last in the end.
#[derive(Debug, Clone)]
pub(crate) struct LogCache {
    engine: Engine,
    logs: Arc<Mutex<Vec<Arc<Log>>>>,
    /// The most bytes kept in addition to the latest log.
    bytes_max: usize,
}

impl LogCache {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, logs: Arc::default(), bytes_max: BYTES_MAX }
    }

    pub(crate) const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns which debate an id names: one of the tenant's own, others are not there.
    pub(crate) async fn reach(&self, tenant: &Tenant, id: &str) -> Result<DebateId, Refused> {
        let debate = id.parse().map_err(|_| Refused::Field {
            field: "id",
            reason: format!("{id:?} is not the id of a debate"),
        })?;
        self.engine.reach(debate, &tenant.0).await?;
        Ok(debate)
    }

    /// Returns the log of a debate that was reached, as far as it goes now.
    pub(crate) async fn log(&self, debate: DebateId) -> Result<Arc<Log>, Refused> {
        let head = self.engine.store().head(debate.into()).await?.ok_or(Refused::NotFound(debate))?;
        let log = match self.known(debate) {
            Some(log) if log.head() == (head.seq, head.hash) => log,
            Some(log) if log.head().0 < head.seq => match self.newer(&log).await? {
                Some(events) => fold(debate, move || grown(&log, events)).await?,
                None => self.read(debate).await?,
            },
            Some(_) | None => self.read(debate).await?,
        };
        self.keep(&log);
        Ok(log)
    }

    async fn read(&self, debate: DebateId) -> Result<Arc<Log>, Refused> {
        let history =
            self.engine.history(debate, None).await.map_err(|error: LoadError| Refused::from(error))?;
        fold(debate, move || Log::fold(debate, history)).await
    }

    /// Returns what has been appended to a log; none where it takes words away, so that all has to be read again.
    async fn newer(&self, log: &Log) -> Result<Option<Vec<Envelope>>, Refused> {
        let mut events: Vec<Envelope> = Vec::new();
        loop {
            let after = events.last().map_or(log.head().0, |last| last.seq);
            let page = self.engine.store().read(log.id().into(), after, PAGE).await?;
            if page.iter().any(|event| event.kind == Redacted::KIND) {
                return Ok(None);
            }
            let is_last = page.len() < PAGE as usize;
            events.extend(page);
            if is_last {
                return Ok(Some(events));
            }
        }
    }

    fn known(&self, debate: DebateId) -> Option<Arc<Log>> {
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.iter().find(|log| log.id() == debate).cloned()
    }

    /// Keeps a log. One that shares events with others is not kept: words may be taken away there unseen.
    fn keep(&self, log: &Arc<Log>) {
        if log.inherited() > 0 {
            return;
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.retain(|kept| kept.id() != log.id());
        logs.push(Arc::clone(log));
        let surplus = logs.len() - kept(logs.iter().rev().map(|log| log.bytes()), self.bytes_max);
        logs.drain(..surplus);
    }
}

/// Returns how many logs are kept, given by their bytes, the one looked at last first.
fn kept(logs: impl Iterator<Item = usize>, bytes_max: usize) -> usize {
    let mut older = 0_usize;
    let fits = logs.take(LOGS_MAX).enumerate().take_while(|(place, bytes)| {
        older = older.saturating_add(if *place == 0 { 0 } else { *bytes });
        older <= bytes_max
    });
    fits.count()
}

fn grown(log: &Log, events: Vec<Envelope>) -> Result<Log, debate_core::formats::any::AnyReplayError> {
    let mut log = log.clone();
    events.into_iter().try_for_each(|event| log.push(Arc::new(event)))?;
    Ok(log)
}

/// Folds a log on a blocking thread.
async fn fold(
    debate: DebateId,
    work: impl FnOnce() -> Result<Log, debate_core::formats::any::AnyReplayError> + Send + 'static,
) -> Result<Arc<Log>, Refused> {
    run_blocking(work).await?.map(Arc::new).map_err(|error| Refused::of_replay(debate, &error))
}

/// Returns the event that is meant where none, or one behind the last, may be named.
pub(crate) fn moment(log: &Log, asked: Option<u64>) -> Result<Seq, Refused> {
    let (head, _) = log.head();
    match asked.map(Seq) {
        None => Ok(head),
        Some(seq) if seq >= Seq(1) && seq <= head => Ok(seq),
        Some(asked) => Err(Refused::NoEvent { debate: log.id(), asked, head }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use debate_core::codec::Author;
    use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
    use debate_core::formats::roundtable::Roundtable;
    use debate_engine::Start;
    use debate_llm::{ScriptedAnswer, ScriptedModel};
    use debate_prompts::roundtable::RoundtablePrompts;
    use debate_store::MemoryStore;

    use super::*;

    pub(crate) async fn started(engine: &Engine, topic: &str) -> DebateId {
        let table = format!(r#"{{"format": "roundtable", "topic": "{topic}", "agents": ["ada", "ben"]}}"#);
        let Ok(AcceptedRequest::Roundtable(accepted)) = accept(&table) else { panic!("{table}") };
        let Accepted { config, brief, limits, digest, .. } = *accepted;
        let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
        let (request_digest, request_id) = (digest, None);
        let start = Start::<Roundtable> { config, brief, limits, request_digest, request_id, author };
        engine.start(start).await.unwrap().debate
    }

    #[tokio::test]
    async fn of_many_logs_that_are_looked_at_32_are_kept_with_all_their_bytes_counted() {
        let model = ScriptedModel::by(|_| ScriptedAnswer::Hang);
        let engine = Engine::builder(Arc::new(MemoryStore::new()), Arc::new(model)).format(RoundtablePrompts);
        let mut log_cache = LogCache::new(engine.build());
        let mut debates = Vec::new();
        for nth in 0..LOGS_MAX + 1 {
            if nth == LOGS_MAX / 2 {
                log_cache.log(debates[0]).await.unwrap();
            }
            let debate = started(log_cache.engine(), "T").await;
            let log = log_cache.log(debate).await.unwrap();
            let bytes: Vec<usize> =
                log.own().iter().map(|event| event.text_bytes() + size_of::<Envelope>()).collect();
            assert!(
                bytes.len() > 1 && log.bytes() == bytes.iter().sum::<usize>(),
                "{} {bytes:?}",
                log.bytes()
            );
            debates.push(debate);
        }
        assert!(log_cache.known(debates[0]).is_some(), "it was looked at again");
        assert!(log_cache.known(debates[1]).is_none(), "no other was looked at longer ago");
        let last = debates.last().copied();
        let looked_at = |log_cache: &LogCache| {
            let logs = log_cache.logs.lock().unwrap();
            (logs.len(), logs.last().map(|log| log.id()))
        };
        assert_eq!((looked_at(&log_cache), log_cache.bytes_max), ((LOGS_MAX, last), 128 << 20));
        let latest = log_cache.known(last.unwrap()).unwrap();
        log_cache.bytes_max = 2 * latest.bytes();
        log_cache.keep(&latest);
        assert_eq!(looked_at(&log_cache), (3, last), "two other logs fit");
        log_cache.bytes_max = latest.bytes();
        log_cache.keep(&latest);
        assert_eq!(looked_at(&log_cache), (2, last));
        log_cache.bytes_max = 2 * latest.bytes();
        let longer = log_cache.log(started(log_cache.engine(), &"T".repeat(100)).await).await.unwrap();
        assert!(longer.bytes() > latest.bytes(), "{} {}", longer.bytes(), latest.bytes());
        assert_eq!(
            looked_at(&log_cache),
            (3, Some(longer.id())),
            "two other logs fit, however long the latest is"
        );
    }

    #[test]
    fn cache_keeps_32_logs_and_128_mib_plus_the_latest() {
        let half = 64 * 1024 * 1024;
        for (logs, wanted) in [
            (&[][..], 0),
            (&[1; 33], 32),
            (&[5 * half, half, half, 0], 4),
            (&[1, half, half, 1], 3),
            (&[1, 3 * half, 1], 1),
        ] {
            assert_eq!(kept(logs.iter().copied(), BYTES_MAX), wanted, "{logs:?}");
        }
    }
}
