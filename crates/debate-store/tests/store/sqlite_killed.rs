//! A process that appends to a file and is killed, again and again, at whatever it is doing: what it said is stored is
//! stored, once, and the next process goes on with the file as it was left.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use debate_core::id::Seq;
use debate_store::{EventStore, Position, SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::stream_writer::{StreamWriter, verify};

/// Set to its file for the copy of this program that is to be killed.
const VICTIM: &str = "DEBATE_STORE_VICTIM";

/// This test's name, as it is passed to the copy.
const NAME: &str = "sqlite_killed::what_a_killed_process_acknowledged_is_stored_once";

/// Streams that it appends to at once, so that groups are committed too.
const STREAMS: u128 = 4;

/// How often it is killed.
const KILLS: u64 = 12;

async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap()
}

/// Appends without end and prints every acknowledgement.
async fn append_until_killed(path: &Path) {
    let store = Arc::new(open(path).await);
    let mut tasks = JoinSet::new();
    for id in 0..STREAMS {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let mut writer = StreamWriter::new(id);
            let stored = store.head(writer.stream).await.unwrap().map_or(0, |head| head.seq.0);
            writer.events(usize::try_from(stored).unwrap());
            loop {
                let events = 1 + usize::try_from(writer.head.0 % 3).unwrap();
                store.append(writer.append(events)).await.unwrap();
                let line = format!("\nstored {id} {}\n", writer.head);
                std::io::stdout().write_all(line.as_bytes()).unwrap();
            }
        });
    }
    tasks.join_all().await;
}

/// Starts a copy of this program, kills it after so many acknowledgements, and returns the last one of every stream.
fn kill_after(path: &Path, acknowledgements: u64) -> BTreeMap<u128, u64> {
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim.args(["--exact", "--nocapture", NAME]).env(VICTIM, path);
    let mut victim = victim.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(victim.stdout.take().unwrap());
    let (mut last, mut count) = (BTreeMap::new(), 0);
    for line in output.lines() {
        // The kill may cut a line short; an incomplete line does not count.
        let line = line.unwrap_or_default();
        let mut words = line.split(' ');
        if let (Some("stored"), Some(id), Some(seq)) = (words.next(), words.next(), words.next()) {
            last.insert(id.parse().unwrap(), seq.parse().unwrap());
            count += 1;
            if count == acknowledgements {
                victim.kill().unwrap();
            }
        }
    }
    assert!(!victim.wait().unwrap().success());
    assert!(count >= acknowledgements, "it ended by itself");
    last
}

#[tokio::test]
async fn what_a_killed_process_acknowledged_is_stored_once() {
    if let Some(path) = std::env::var_os(VICTIM) {
        return append_until_killed(Path::new(&path)).await;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let mut draw = 20_261_123_u64;
    for kill in 1..=KILLS {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let acknowledged = kill_after(&path, 1 + (draw >> 33) % 60);
        let store = open(&path).await;
        let mut total = 0;
        for id in 0..STREAMS {
            let mut writer = StreamWriter::new(id);
            let Seq(head) = verify(&store, writer.stream).await.unwrap();
            let reported = acknowledged.get(&id).copied().unwrap_or_default();
            assert!(head >= reported, "kill {kill}: stream {id} was reported at {reported} and is at {head}");
            // Read back, they are the very events that were written.
            let written = writer.events(usize::try_from(head).unwrap());
            assert!(store.read(writer.stream, Seq::START, u32::MAX).await.unwrap() == written, "kill {kill}");
            total += head;
        }
        let all = store.read_all(Position::START, u32::MAX).await.unwrap();
        assert_eq!(all.len() as u64, total, "kill {kill}: nothing is there twice");
        store.close().await.unwrap();
    }
}
