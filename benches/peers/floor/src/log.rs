//! A log as the engine writes it, without the engine: the rows of one recorded debate, written again for every other, with
//! the engine's schema and durability. Appends that wait share a commit.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use tokio::sync::oneshot;

/// The columns of a row, but for its position.
const COLUMNS: &str = "stream_kind, stream_id, seq, kind, version, at, tenant, actor, trace, hash, prose_digest, salt, \
                       body, prose";
/// Where the id of the debate is among them.
const STREAM_ID: usize = 1;

/// A file that debates are written to.
#[derive(Debug)]
pub struct Log {
    rows: Arc<[Vec<Value>]>,
    jobs: Sender<Job>,
}

/// Rows of a debate to write.
struct Job {
    debate: u32,
    rows: Range<usize>,
    written: oneshot::Sender<()>,
}

impl Log {
    /// Copies a file in which the engine recorded a debate, and opens the copy.
    ///
    /// # Errors
    ///
    /// When there is no such file, or SQLite cannot use it.
    pub fn open(recorded: &Path, work: &Path) -> Result<Self> {
        let path = work.join("floor.sqlite");
        fs::copy(recorded, &path).with_context(|| format!("cannot copy {}", recorded.display()))?;
        let file = Connection::open(path)?;
        file.pragma_update(None, "journal_mode", "wal")?;
        file.pragma_update(None, "synchronous", "full")?;
        let last = "SELECT stream_id FROM events WHERE stream_kind = 'debate' ORDER BY position DESC LIMIT 1";
        let select = format!("SELECT {COLUMNS} FROM events WHERE stream_id = ({last}) ORDER BY seq");
        let columns = COLUMNS.split(',').count();
        let rows: Vec<Vec<Value>> = file
            .prepare(&select)?
            .query_map([], |row| (0..columns).map(|column| row.get(column)).collect())?
            .collect::<Result<_, _>>()?;
        ensure!(!rows.is_empty(), "no debate is recorded");
        let rows: Arc<[Vec<Value>]> = rows.into();
        let (jobs, waiting) = mpsc::channel();
        thread::spawn({
            let rows = Arc::clone(&rows);
            // Without a writer no debate goes on, and the peer fails.
            move || write_all(&file, &rows, &waiting).unwrap_or_else(|error| eprintln!("Error: {error:#}"))
        });
        Ok(Self { rows, jobs })
    }

    /// Writes the share of a debate's rows that belongs to one of its steps, and returns when they are on the disk.
    ///
    /// # Errors
    ///
    /// When the log cannot be written.
    pub async fn write(&self, debate: u32, step: usize, steps: usize) -> Result<()> {
        let place = |step: usize| step * self.rows.len() / steps;
        let (written, done) = oneshot::channel();
        let job = Job { debate, rows: place(step)..place(step + 1), written };
        self.jobs.send(job).ok().context("the log is closed")?;
        done.await.context("the log cannot be written")
    }
}

/// Writes what waits in one transaction, again and again.
fn write_all(file: &Connection, rows: &[Vec<Value>], waiting: &Receiver<Job>) -> Result<()> {
    let places = vec!["?"; COLUMNS.split(',').count()].join(", ");
    let mut insert = file.prepare(&format!("INSERT INTO events ({COLUMNS}) VALUES ({places})"))?;
    // How many rows of each debate are written: its calls end in any order, and its rows have one.
    let mut written = std::collections::HashMap::new();
    while let Ok(first) = waiting.recv() {
        let jobs: Vec<Job> = std::iter::once(first).chain(waiting.try_iter()).collect();
        file.execute_batch("BEGIN IMMEDIATE")?;
        for job in &jobs {
            let next: &mut usize = written.entry(job.debate).or_default();
            let id = Value::Blob(u128::from(job.debate).to_be_bytes().to_vec());
            for row in &rows[*next..*next + job.rows.len()] {
                let values = row.iter().enumerate();
                insert.execute(params_from_iter(
                    values.map(|(column, value)| if column == STREAM_ID { &id } else { value }),
                ))?;
            }
            *next += job.rows.len();
        }
        file.execute_batch("COMMIT")?;
        for job in jobs {
            // Who no longer waits has failed.
            let _ = job.written.send(());
        }
    }
    Ok(())
}
