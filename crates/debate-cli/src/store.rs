//! Which store, and opening it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use debate_store::{Durability, EventStore, MemoryStore, SqliteOptions, SqliteStore};

use crate::exit::Failure;

/// Where debates are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// In this process alone.
    Memory,
    /// In a SQLite file.
    Sqlite(PathBuf),
}

/// The file used where none is named.
const FILE_DEFAULT: &str = "debates.sqlite";

impl Default for StoreChoice {
    fn default() -> Self {
        Self::Sqlite(FILE_DEFAULT.into())
    }
}

impl fmt::Display for StoreChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
        }
    }
}

/// A store that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreChoiceError;

impl fmt::Display for StoreChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write sqlite://PATH or memory")
    }
}

impl std::error::Error for StoreChoiceError {}

impl FromStr for StoreChoice {
    type Err = StoreChoiceError;

    fn from_str(text: &str) -> Result<Self, StoreChoiceError> {
        let text = text.trim();
        if text == "memory" {
            return Ok(Self::Memory);
        }
        let path = text.strip_prefix("sqlite:").map(|rest| rest.strip_prefix("//").unwrap_or(rest));
        let path = path.filter(|path| !path.is_empty()).ok_or(StoreChoiceError)?;
        Ok(Self::Sqlite(path.into()))
    }
}

/// An open store.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    events: Arc<dyn EventStore>,
    file: Option<Arc<SqliteStore>>,
}

impl Store {
    /// Returns the events.
    pub(crate) fn events(&self) -> &Arc<dyn EventStore> {
        &self.events
    }

    /// Returns the file in which the debates stay, if they do.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path())
    }

    /// Finishes what was handed over and closes the file.
    pub(crate) async fn close(&self) -> anyhow::Result<()> {
        match &self.file {
            Some(file) => Ok(file.close().await?),
            None => Ok(()),
        }
    }
}

/// Opens a store for writing; a file is created where there is none.
pub(crate) async fn open(choice: &StoreChoice, durability: Durability) -> anyhow::Result<Store> {
    match choice {
        StoreChoice::Memory => Ok(Store { events: Arc::new(MemoryStore::new()), file: None }),
        StoreChoice::Sqlite(path) => {
            let options = SqliteOptions { durability, ..SqliteOptions::default() };
            let path = path.to_str().ok_or_else(|| Failure::bad_input("the store's path is not UTF-8"))?;
            let file = Arc::new(SqliteStore::open(path, options).await?);
            Ok(Store { events: file.clone(), file: Some(file) })
        }
    }
}

/// Opens a store that must be there already: reading one creates none.
pub(crate) async fn open_existing(choice: &StoreChoice, durability: Durability) -> anyhow::Result<Store> {
    match choice {
        StoreChoice::Memory => Err(Failure::bad_input(
            "a memory store ends with its process, so there is nothing in it to read; give --store sqlite://PATH",
        )),
        StoreChoice::Sqlite(path) if !path.exists() => {
            let path = path.display();
            Err(Failure::unavailable(format!(
                "there is no store at {path}; run a debate first or give --store"
            )))
        }
        StoreChoice::Sqlite(_) => open(choice, durability).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_by_its_kind() {
        for (text, want) in [
            ("memory", Ok(StoreChoice::Memory)),
            ("sqlite://a.db", Ok(StoreChoice::Sqlite("a.db".into()))),
            ("sqlite:///var/a.db", Ok(StoreChoice::Sqlite("/var/a.db".into()))),
            ("sqlite:a.db", Ok(StoreChoice::Sqlite("a.db".into()))),
            ("sqlite://", Err(StoreChoiceError)),
            ("a.db", Err(StoreChoiceError)),
            ("postgres://h/db", Err(StoreChoiceError)),
            ("", Err(StoreChoiceError)),
        ] {
            assert_eq!(text.parse(), want, "{text}");
        }
    }
}
