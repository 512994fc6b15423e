//! The one suite that every backend passes. A backend brings a fresh store; a macro runs each test on each.

mod appends;
mod archive;
mod concurrency;
mod heads;
mod listing;
mod redaction;
mod requests;
mod waiting;

use std::sync::Arc;

use debate_store::{Archive, EventStore, MemoryStore, SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// A store that archives too.
trait Archiving: EventStore + Archive {}

impl<S: EventStore + Archive> Archiving for S {}

/// A fresh store of one kind.
struct Fresh {
    store: Arc<dyn Archiving>,
    /// Keeps the file of a store on disk until the test ends.
    _folder: Option<TempDir>,
}

async fn memory() -> Fresh {
    Fresh { store: Arc::new(MemoryStore::new()), _folder: None }
}

async fn sqlite() -> Fresh {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let store = SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap();
    Fresh { store: Arc::new(store), _folder: Some(folder) }
}

#[cfg(unix)]
async fn postgres() -> Fresh {
    let url = debate_postgres_fixture::fresh_database().unwrap();
    let store = debate_store::PostgresStore::open(&url, Default::default()).await.unwrap();
    Fresh { store: Arc::new(store), _folder: None }
}

/// Runs each named test on each backend.
macro_rules! on_every_store {
    ($($test:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $test() {
                let fresh = crate::conformance::memory().await;
                super::$test(fresh.store.clone()).await;
            })*
        }

        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                let fresh = crate::conformance::sqlite().await;
                super::$test(fresh.store.clone()).await;
            })*
        }

        #[cfg(unix)]
        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                let fresh = crate::conformance::postgres().await;
                super::$test(fresh.store.clone()).await;
            })*
        }
    };
}

pub(crate) use on_every_store;
