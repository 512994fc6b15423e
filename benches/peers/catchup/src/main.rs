//! disintegrate-postgres as the writer or the reader of the catch-up bench: `prepare URL`, `write URL WRITER EVENTS MS` or
//! `read URL AFTER`. `crates/debate-store/benches/catchup/peer.rs` describes the output.

use std::env;
use std::io::Write as _;
use std::str::FromStr as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use disintegrate::serde::json::Json;
use disintegrate::{Event, EventStore as _, StreamItem, query};
use disintegrate_postgres::PgEventStore;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

/// How long a reader that is at the end waits before it asks again.
const POLL: Duration = Duration::from_millis(2);

#[derive(Debug, Clone, PartialEq, Event, Serialize, Deserialize)]
enum Noted {
    Noted {
        #[id]
        writer: i64,
        number: i64,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["prepare", url] => prepare(url).await,
        ["write", url, writer, events, ms] => {
            write(url, writer.parse()?, events.parse()?, Duration::from_millis(ms.parse()?)).await
        }
        ["read", url, after] => read(url, after.parse()?).await,
        _ => bail!("say prepare URL, write URL WRITER EVENTS MS or read URL AFTER"),
    }
}

/// Makes the library's tables and functions. One of these has a hexadecimal number, which PostgreSQL reads from version 16
/// on; for older servers it is written as they read it.
async fn prepare(url: &str) -> Result<()> {
    let options = PgConnectOptions::from_str(url)?.options([("check_function_bodies", "off")]);
    let pool = PgPoolOptions::new().max_connections(1).connect_with(options).await?;
    PgEventStore::<Noted, _>::try_new(pool.clone(), Json::default()).await?;
    let definition: String =
        sqlx::query_scalar("SELECT pg_get_functiondef('event_store_begin_epoch'::regproc)")
            .fetch_one(&pool)
            .await?;
    let readable = definition.replace("0xFFFFFFFF", &u32::MAX.to_string());
    sqlx::raw_sql(&readable).execute(&pool).await?;
    Ok(())
}

async fn connect(url: &str) -> Result<PgPool> {
    PgPoolOptions::new().max_connections(1).connect(url).await.context("cannot connect")
}

async fn write(url: &str, writer: i64, events: i64, time: Duration) -> Result<()> {
    let store = PgEventStore::new_uninitialized(connect(url).await?, Json::default());
    let (mut written, began) = (0, Instant::now());
    while written < events && began.elapsed() < time {
        let batch: Vec<Noted> =
            (1..=1 + written % 8).map(|more| Noted::Noted { writer, number: written + more }).collect();
        let count = i64::try_from(batch.len())?;
        // Without the check against other writers, which refuses most appends of writers that do not even meet: what is
        // looked for here is what readers see.
        store.append_without_validation(batch).await?;
        written += count;
    }
    println!("{written}");
    Ok(())
}

async fn read(url: &str, mut after: i64) -> Result<()> {
    let store = PgEventStore::<Noted, _>::new_uninitialized(connect(url).await?, Json::default());
    let mut out = std::io::stdout().lock();
    loop {
        let query = query!(Noted).change_origin(after);
        let mut stream = store.stream(&query);
        while let Some(item) = stream.next().await {
            match item? {
                StreamItem::Event(event) => {
                    after = event.id();
                    let Noted::Noted { writer, number } = event.into_inner();
                    writeln!(out, "{after} {writer} {number}")?;
                }
                StreamItem::End(_) => {}
            }
        }
        out.flush()?;
        tokio::time::sleep(POLL).await;
    }
}
