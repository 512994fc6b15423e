//! The programs that write and read, each a process of its own: this very program, or one around another library.
//!
//! - `PROGRAM prepare URL` makes the tables in an empty database.
//! - `PROGRAM write URL WRITER EVENTS MS` adds the events 1, 2, 3 … of one writer, in appends of one to eight, each behind
//!   the acknowledgement of the one before; it stops after so many events or so much time, and prints how many it wrote.
//! - `PROGRAM read URL AFTER` prints `CURSOR WRITER NUMBER`, a line for each event of all writers, in the library's order,
//!   from behind a cursor on, 0 being the start; it goes on until it is killed.

use std::io::Write as _;
use std::str::FromStr as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use debate_core::chain::{GENESIS, hash_of};
use debate_core::envelope::{Envelope, StreamId, StreamKind};
use debate_core::id::{Digest, Seq, Timestamp};
use debate_store::{Append, EventStore, Position, PostgresOptions, PostgresStore};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Row as _};
use uuid::Uuid;

/// Events that a reader asks for at once.
const PAGE: u32 = 1_000;

/// How long a naive reader that is at the end waits before it asks again.
const NAIVE_POLL: Duration = Duration::from_millis(1);

/// As if positions were handed out in the order of commits.
const NAIVE: &str =
    "SELECT position, stream_id, seq FROM events WHERE position > $1 ORDER BY position LIMIT 1000";

/// Plays the part that the arguments name, until asked to stop or killed.
pub(super) async fn play(arguments: &[&str]) -> Result<()> {
    match *arguments {
        ["prepare", url] => {
            open(url).await?.close().await;
            Ok(())
        }
        ["write", url, writer, events, ms] => {
            write(url, writer.parse()?, events.parse()?, Duration::from_millis(ms.parse()?)).await
        }
        ["read", url, after] => read(url, Position(after.parse()?)).await,
        ["naive", "read", url, after] => read_naively(url, after.parse()?).await,
        _ => bail!("say prepare, write, read or naive read"),
    }
}

async fn open(url: &str) -> Result<PostgresStore> {
    PostgresStore::open(url, PostgresOptions::default()).await.context("cannot open the log")
}

async fn write(url: &str, writer: u128, events: u64, time: Duration) -> Result<()> {
    let store = open(url).await?;
    let stream = StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(writer) };
    let (mut head, mut hash, began) = (Seq::START, GENESIS, Instant::now());
    while head.0 < events && began.elapsed() < time {
        let expected = head;
        let batch = (0..=expected.0 % 8).map(|_| {
            head = head.next();
            let mut event = Envelope {
                stream,
                seq: head,
                kind: "noted".to_owned(),
                version: 1,
                at: Timestamp(1_700_000_000_000),
                tenant: String::new(),
                actor: "bench".to_owned(),
                trace: None,
                body: "{}".to_owned(),
                prose: None,
                prose_digest: None,
                hash: Digest::default(),
            };
            event.hash = hash_of(&hash, &event);
            hash = event.hash;
            event
        });
        let batch: Vec<Envelope> = batch.collect();
        store.append(Append::new(stream, expected, batch)).await?;
    }
    store.close().await;
    println!("{head}");
    Ok(())
}

async fn read(url: &str, mut after: Position) -> Result<()> {
    let store = open(url).await?;
    let mut out = std::io::stdout().lock();
    loop {
        store.wait_all(after).await?;
        for (position, event) in store.read_all(after, PAGE).await? {
            after = position;
            writeln!(out, "{position} {} {}", event.stream.id.as_u128(), event.seq)?;
        }
        out.flush()?;
    }
}

async fn read_naively(url: &str, mut after: i64) -> Result<()> {
    let mut connection = PgConnectOptions::from_str(url)?.disable_statement_logging().connect().await?;
    let mut out = std::io::stdout().lock();
    loop {
        let rows = sqlx::query(NAIVE).bind(after).fetch_all(&mut connection).await?;
        for row in &rows {
            after = row.try_get(0)?;
            let (writer, number): (Uuid, i64) = (row.try_get(1)?, row.try_get(2)?);
            writeln!(out, "{after} {} {number}", writer.as_u128())?;
        }
        out.flush()?;
        if rows.is_empty() {
            tokio::time::sleep(NAIVE_POLL).await;
        }
    }
}
