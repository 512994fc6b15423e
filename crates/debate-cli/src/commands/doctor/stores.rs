//! Whether the store can be used.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use debate_engine::Env;
use debate_store::{Holder, Horizon, PostgresStore};

use super::{Check, Verdict};
use crate::args::Options;
use crate::exit;
use crate::store::{self, StoreChoice};

/// What is written to find out whether a folder can be written: as much as one page of the store.
const PROBE: [u8; 4096] = [0; 4096];

const FOLDER: &str = "folder";
const STORE: &str = "store";
const CLOCK: &str = "clock";

/// Checks the store: it opens, can be written, has the current schema.
pub(super) async fn check(options: &Options) -> Vec<Check> {
    let path = match &options.store {
        StoreChoice::Memory => {
            let text = "debates are kept in memory and end with their process";
            return vec![Check::new(STORE, Verdict::Warn, text).remedy("--store sqlite://PATH keeps them")];
        }
        StoreChoice::Sqlite(path) => path,
        StoreChoice::Postgres(_) => return database(options).await,
    };
    let shown = path.display();
    if !path.exists() {
        let text = format!("there is no store at {shown} yet; the first debate creates it");
        return vec![folder(path), Check::new(STORE, Verdict::Ok, text)];
    }
    let opened = match store::open(&options.store, options.durability.into()).await {
        Ok(store) => {
            store.close().await;
            Ok(())
        }
        Err(error) => Err(error),
    };
    let checked = match opened {
        // Opening takes the lock of writers and brings the schema up to date.
        Ok(()) => {
            let text = format!("{shown} opens, can be written and has the schema of this program");
            Check::new(STORE, Verdict::Ok, text)
        }
        Err(error) => Check::new(STORE, Verdict::Fail, exit::one_line(&error)),
    };
    vec![folder(path), checked]
}

/// How long a transaction may hold back readers of the whole log before that is worth a warning.
const HELD_BACK_MAX: Duration = Duration::from_secs(5);

/// Checks a database: it answers, has the current schema, and nothing holds its readers back.
async fn database(options: &Options) -> Vec<Check> {
    let found = async {
        let store = store::open(&options.store, options.durability.into()).await?;
        let found = match store.database() {
            Some(database) => Some((database.horizon().await?, apart(database).await?)),
            None => None,
        };
        store.close().await;
        anyhow::Ok(found)
    };
    match found.await {
        Ok(Some((horizon, apart))) => vec![schema(options, &horizon), clock(apart)],
        Ok(None) => Vec::new(),
        Err(error) => vec![Check::new(STORE, Verdict::Fail, exit::one_line(&error))],
    }
}

/// Returns by how many milliseconds the database's clock is before this machine's, as well as an answer tells.
async fn apart(database: &PostgresStore) -> anyhow::Result<i64> {
    let env = Env::real();
    let asked = env.now();
    let theirs = database.clock().await?;
    let ours = asked.0.midpoint(env.now().0);
    Ok(theirs.0 - ours)
}

/// How far clocks may be apart before that is worth a warning, in milliseconds.
const APART_MAX_MS: i64 = 1_000;

fn clock(apart: i64) -> Check {
    if apart.abs() <= APART_MAX_MS {
        return Check::new(CLOCK, Verdict::Ok, format!("{apart:+} ms from here to the database"));
    }
    let text = format!(
        "the database's clock is {apart:+} ms from this machine's: events are dated by the one, leases by the other"
    );
    Check::new(CLOCK, Verdict::Warn, text).remedy("set both by the same time server")
}

fn schema(options: &Options, horizon: &Horizon) -> Check {
    let shown = &options.store;
    match horizon.age {
        Some(age) if age > HELD_BACK_MAX => {
            let age = age.as_secs();
            let (holder, remedy) = match &horizon.held_by {
                Some(Holder::Prepared(name)) => (
                    format!(" prepared as {name:?}"),
                    "end it: COMMIT PREPARED or ROLLBACK PREPARED with its name",
                ),
                Some(Holder::Process(pid)) => {
                    (format!(" of process {pid}"), "end that transaction: pg_terminate_backend(PROCESS)")
                }
                None => (String::new(), "end that transaction: pg_stat_activity shows whose it is"),
            };
            let text = format!(
                "{shown} answers, but a transaction{holder}, open for {age} s, keeps {} events from readers of the \
                 whole log",
                horizon.events_behind
            );
            Check::new(STORE, Verdict::Warn, text).remedy(remedy)
        }
        Some(_) | None => {
            let schema = PostgresStore::schema();
            let text = format!("{shown} answers and has the schema of this program, {schema}");
            Check::new(STORE, Verdict::Ok, text)
        }
    }
}

/// Checks that the folder of the store can be written: SQLite creates the journal next to the file.
fn folder(path: &Path) -> Check {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    };
    let shown = folder.display();
    match write(&folder.join(format!(".debate-doctor-{}", std::process::id()))) {
        Ok(time) => {
            let text = format!(
                "{shown} can be written; 4 KiB are on the disk after {:.1} ms",
                time.as_secs_f64() * 1e3
            );
            Check::new(FOLDER, Verdict::Ok, text)
        }
        Err(error) => {
            let text = format!("{shown} cannot be written: {error}");
            Check::new(FOLDER, Verdict::Fail, text)
                .remedy("create it, make it writable, or choose another place with --store sqlite://PATH")
        }
    }
}

fn write(path: &Path) -> io::Result<Duration> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let began = Instant::now();
    let written = file.write_all(&PROBE).and_then(|()| file.sync_all());
    let time = began.elapsed();
    drop(file);
    fs::remove_file(path)?;
    written.map(|()| time)
}
