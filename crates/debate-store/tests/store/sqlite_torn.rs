//! A file that lost a part of its data: opening or reading it fails, and never returns a log other than the one that
//! was written.

use std::fs;
use std::path::Path;

use debate_core::envelope::Envelope;
use debate_core::id::Seq;
use debate_store::{Append, EventStore, OpenError, SqliteOptions, SqliteStore};
use tempfile::TempDir;

use crate::stream_writer::{StreamWriter, verify};

const PAGE: usize = 4_096;

/// Streams, and events of each, some with a body longer than a page.
const STREAMS: u128 = 6;
const EVENTS: usize = 12;

async fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await
}

/// Writes a whole file, with nothing left in its journal, and returns its bytes and streams.
async fn written(path: &Path) -> (Vec<u8>, Vec<Vec<Envelope>>) {
    let store = open(path).await.unwrap();
    let mut streams = Vec::new();
    for id in 0..STREAMS {
        let mut writer = StreamWriter::new(id);
        let text = "x".repeat(900);
        let long = format!("{{\"text\":\"{}\"}}", "y".repeat(3 * PAGE));
        let mut events: Vec<Envelope> =
            (1..EVENTS).map(|_| writer.event_with_prose("said", "{}", &text)).collect();
        events.push(writer.event("noted", &long));
        store.append(Append::new(writer.stream, Seq::START, events.clone())).await.unwrap();
        streams.push(events);
    }
    store.close().await.unwrap();
    (fs::read(path).unwrap(), streams)
}

/// Where the damage is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detected {
    /// It does not open.
    Opening,
    /// It cannot be read.
    Reading,
    /// The chain of hashes does not hold.
    Verifying,
    /// Not at all: every stream is whole, so nothing was lost.
    Never,
}

/// Opens what is left of a file and reads all streams; panics if one differs from what was written without an error.
async fn detected(left: &[u8], streams: &[Vec<Envelope>]) -> Detected {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    fs::write(&path, left).unwrap();
    let store = match open(&path).await {
        Ok(store) => store,
        Err(error) => {
            assert!(error.to_string().contains("log.db"), "{error}");
            return Detected::Opening;
        }
    };
    let mut detected = Detected::Never;
    for written in streams {
        let stream = written[0].stream;
        match store.read(stream, Seq::START, u32::MAX).await {
            Err(_) => detected = Detected::Reading,
            Ok(read) if read == *written => {}
            Ok(read) => {
                let found = verify(&store, stream).await;
                assert!(found.is_err(), "{} of {} events, and it verifies", read.len(), written.len());
                detected = Detected::Verifying;
            }
        }
    }
    detected
}

#[tokio::test]
async fn page_of_zeros_is_detected_or_was_unused() {
    let folder = TempDir::new().unwrap();
    let (whole, streams) = written(&folder.path().join("log.db")).await;
    let pages = whole.len() / PAGE;
    let (mut found, mut ways) = (0, Vec::new());
    for page in 0..pages {
        let mut left = whole.clone();
        left[page * PAGE..(page + 1) * PAGE].fill(0);
        let detected = detected(&left, &streams).await;
        found += usize::from(detected != Detected::Never);
        if !ways.contains(&detected) {
            ways.push(detected);
        }
    }
    // Indices that reading a stream does not need, and pages that hold nothing, may go unnoticed.
    assert!(found * 2 > pages, "{found} of {pages} pages");
    for way in [Detected::Opening, Detected::Reading, Detected::Verifying] {
        assert!(ways.contains(&way), "{way:?} is not among {ways:?}");
    }
}

#[tokio::test]
async fn truncated_file_is_detected() {
    let folder = TempDir::new().unwrap();
    let (whole, streams) = written(&folder.path().join("log.db")).await;
    // An empty file is a new one, and one of a single byte is empty to SQLite.
    for length in (2..whole.len() - PAGE).step_by(PAGE + PAGE / 3) {
        let detected = detected(&whole[..length], &streams).await;
        assert_ne!(detected, Detected::Never, "{length} of {} bytes", whole.len());
    }
    assert_eq!(detected(&whole, &streams).await, Detected::Never);
}
