//! What an auditor asks for: whether a log holds together, and the log itself as a bundle.

use std::io::{self, Write as _};

use debate_core::envelope::Envelope;
use debate_core::id::DebateId;
use debate_engine::{Verification, exported_events, exported_streams};
use debate_proof::bundle::{End, Line};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use crate::log_cache::LogCache;
use crate::refused::Refused;
use crate::run_blocking::run_blocking;

/// The result of a check (rules K4, K15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct VerificationShown {
    debate_id: String,
    ok: bool,
    pub(crate) events: u64,
    inherited: u64,
    pub(crate) head_seq: u64,
    pub(crate) head_hash: String,
    outcomes: u64,
    redacted: u64,
    unfinished_redactions: u64,
    pub(crate) fault_seq: Option<u64>,
    pub(crate) fault: Option<String>,
}

impl From<Verification> for VerificationShown {
    fn from(found: Verification) -> Self {
        let (seq, hash) = found.head;
        Self {
            debate_id: found.debate.to_string(),
            ok: found.fault.is_none(),
            events: found.events,
            inherited: found.inherited,
            head_seq: seq.0,
            head_hash: hash.to_string(),
            outcomes: found.outcomes,
            redacted: found.redacted,
            unfinished_redactions: found.unfinished,
            fault_seq: found.fault.as_ref().map(|fault| fault.seq.0),
            fault: found.fault.map(|fault| fault.why),
        }
    }
}

/// Checks a debate: hashes, fold, recorded outcomes against recomputed ones.
pub(crate) async fn verification(
    log_cache: &LogCache,
    debate: DebateId,
) -> Result<VerificationShown, Refused> {
    Ok(log_cache.engine().verify(debate).await?.into())
}

/// Returns a debate, with those that it was forked from, as a bundle compressed with gzip.
pub(crate) async fn bundle(log_cache: &LogCache, debate: DebateId) -> Result<Vec<u8>, Refused> {
    let store = &**log_cache.engine().store();
    let mut streams = Vec::new();
    for stream in exported_streams(store, debate.into()).await? {
        let opened = Line::opened(stream, store.request_of(stream).await?, None);
        streams.push((opened, exported_events(store, stream).await?));
    }
    if streams.iter().any(|(_, events)| events.is_empty()) {
        return Err(Refused::NotFound(debate));
    }
    run_blocking(move || write(&streams)).await?.map_err(|error| Refused::defect(&error))
}

fn write(streams: &[(Line, Vec<Envelope>)]) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let mut line = |line: &Line| writeln!(gzip, "{}", line.text());
    line(&Line::start(false))?;
    let mut end = End { streams: 0, events: 0 };
    for (opened, events) in streams {
        line(opened)?;
        for event in events {
            line(&Line::Event(event.into()))?;
        }
        end = End { streams: end.streams + 1, events: end.events + events.len() as u64 };
    }
    line(&Line::End(end))?;
    gzip.finish()
}
