//! Which store, and opening it.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use debate_core::envelope::StreamId;
use debate_core::id::DebateId;
use debate_store::{
    Archive, Durability, EventStore, Leases, MaskedAddress, MemoryStore, PostgresOptions, PostgresStore,
    SqliteOptions, SqliteStore,
};

use crate::believed_file::{is_anothers, is_everybodys};
use crate::exit::{Failure, one_line};
use crate::proof::archive::WithArchive;

/// Where debates are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// In this process alone.
    Memory,
    /// In a SQLite file.
    Sqlite(PathBuf),
    /// In a PostgreSQL database.
    Postgres(PostgresUrl),
}

/// The URL of a database, whose password is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PostgresUrl(String);

impl PostgresUrl {
    /// Reads a URL; what is wrong behind its scheme shows when it is opened, lest a message repeat it.
    fn read(text: &str) -> Option<Self> {
        let is_ours = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        is_ours.then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("postgres", &self.0));
        write!(f, "{scheme}://{}", MaskedAddress::of(rest))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
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
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

/// A store that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreChoiceError;

impl fmt::Display for StoreChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write sqlite://PATH, postgres://USER@HOST/DATABASE or memory")
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
        if let Some(url) = PostgresUrl::read(text) {
            return Ok(Self::Postgres(url));
        }
        let path = text.starts_with("sqlite:").then(|| SqliteStore::path_of(text).ok()).flatten();
        path.map(Self::Sqlite).ok_or(StoreChoiceError)
    }
}

/// An open store.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    events: Arc<dyn EventStore>,
    place: Place,
}

/// What is to be closed in the end.
#[derive(Debug, Clone)]
enum Place {
    Memory,
    File(Arc<SqliteStore>),
    Database(Arc<PostgresStore>),
}

impl Store {
    /// Returns the events.
    pub(crate) fn events(&self) -> &Arc<dyn EventStore> {
        &self.events
    }

    /// Returns the same store, with archived debates to be read from a folder where it is given.
    pub(crate) fn with_archive(self, folder: Option<&Path>) -> Self {
        let Some(folder) = folder else { return self };
        Self { events: Arc::new(WithArchive::new(self.events, folder)), place: self.place }
    }

    /// Returns what takes debates out of the store and puts them back.
    pub(crate) fn archive(&self) -> anyhow::Result<&dyn Archive> {
        match &self.place {
            Place::File(file) => Ok(&**file),
            Place::Database(database) => Ok(&**database),
            Place::Memory => Err(Failure::bad_input("a memory store archives nothing")),
        }
    }

    /// Returns where the debates stay, if they do: a file, or a server with its database.
    pub(crate) fn place(&self) -> Option<String> {
        match &self.place {
            Place::Memory => None,
            Place::File(file) => Some(file.path().display().to_string()),
            Place::Database(database) => Some(format!("postgres {}", database.server())),
        }
    }

    /// Returns who drives which debate, where several processes may.
    pub(crate) fn leases(&self) -> Option<Arc<dyn Leases>> {
        match &self.place {
            Place::Database(database) => Some(database.clone()),
            Place::File(file) => Some(file.clone()),
            Place::Memory => None,
        }
    }

    /// Returns those of some debates that a process drives now, each with who does.
    pub(crate) async fn driven(&self, debates: &[DebateId]) -> anyhow::Result<HashMap<DebateId, String>> {
        let Some(leases) = self.leases() else { return Ok(HashMap::new()) };
        let streams: Vec<StreamId> = debates.iter().copied().map(StreamId::from).collect();
        let held = leases.held(&streams).await?;
        Ok(held.into_iter().map(|(stream, holder)| (DebateId(stream.id), holder)).collect())
    }

    /// Returns the database, if that is what it is.
    pub(crate) fn database(&self) -> Option<&PostgresStore> {
        match &self.place {
            Place::Database(database) => Some(database),
            Place::Memory | Place::File(_) => None,
        }
    }

    /// Finishes what was handed over and closes the file or the connections. What was acknowledged is stored, so a failure
    /// is a warning, and no answer waits for it.
    pub(crate) async fn close(&self) {
        match &self.place {
            Place::Memory => {}
            Place::File(file) => {
                if let Err(error) = file.close().await {
                    tracing::warn!(error = one_line(&error.into()), "the store is not closed cleanly");
                }
            }
            Place::Database(database) => database.close().await,
        }
    }
}

/// Opens a store for writing; a file, or the log in a database, is created where there is none.
pub(crate) async fn open(choice: &StoreChoice, durability: Durability) -> anyhow::Result<Store> {
    match choice {
        StoreChoice::Memory => Ok(Store { events: Arc::new(MemoryStore::new()), place: Place::Memory }),
        StoreChoice::Sqlite(path) => {
            check_writers(path)?;
            let options = SqliteOptions { durability, ..SqliteOptions::default() };
            let path = path.to_str().ok_or_else(|| Failure::bad_input("the store's path is not UTF-8"))?;
            let file = Arc::new(SqliteStore::open(path, options).await?);
            Ok(Store { events: file.clone(), place: Place::File(file) })
        }
        StoreChoice::Postgres(url) => open_database(url, PostgresOptions::default()).await,
    }
}

/// Refuses a file in which everybody could have written, and warns of one that another user may have put there.
fn check_writers(path: &Path) -> anyhow::Result<()> {
    // One that is not there, or cannot be looked at, is made or refused by who opens it.
    let Ok(about) = path.metadata() else { return Ok(()) };
    if is_everybodys(&about) {
        let path = path.display();
        return Err(Failure::unavailable(format!(
            "the store {path} may be written by everybody; if it is yours, use chmod o-w"
        )));
    }
    if is_anothers(&about) {
        tracing::warn!(path = %path.display(), "the store is another user's file, who can change what is in it");
    }
    Ok(())
}

async fn open_database(url: &PostgresUrl, options: PostgresOptions) -> anyhow::Result<Store> {
    let database = Arc::new(PostgresStore::open(&url.0, options).await?);
    Ok(Store { events: database.clone(), place: Place::Database(database) })
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
        StoreChoice::Postgres(url) => {
            open_database(url, PostgresOptions { create_missing: false, ..PostgresOptions::default() }).await
        }
    }
}

/// Opens a store that must be there already, for reading alone: nothing is written where that cannot be done.
pub(crate) async fn open_to_read(choice: &StoreChoice) -> anyhow::Result<Store> {
    match choice {
        StoreChoice::Sqlite(path) if path.exists() => {
            check_writers(path)?;
            let path = path.to_str().ok_or_else(|| Failure::bad_input("the store's path is not UTF-8"))?;
            let file = Arc::new(SqliteStore::open_to_read(path).await?);
            Ok(Store { events: file.clone(), place: Place::File(file) })
        }
        StoreChoice::Sqlite(_) | StoreChoice::Memory | StoreChoice::Postgres(_) => {
            open_existing(choice, Durability::Full).await
        }
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
            ("sqlite:sqlite:a.db", Err(StoreChoiceError)),
            ("sqlite:file:a.db", Err(StoreChoiceError)),
            ("sqlite://sqlite://a.db", Err(StoreChoiceError)),
            ("a.db", Err(StoreChoiceError)),
            ("postgres://h/db", Ok(StoreChoice::Postgres(PostgresUrl("postgres://h/db".to_owned())))),
            ("mysql://h/db", Err(StoreChoiceError)),
            ("", Err(StoreChoiceError)),
        ] {
            assert_eq!(text.parse(), want, "{text}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://h/db", "postgres://h/db"),
            ("postgresql://u:s3cret@h:5433/db", "postgresql://u@h:5433/db"),
            ("postgres://u@h/db?host=/run/pg&password=s3cret", "postgres://u@h/db?host=/run/pg"),
            ("postgres://u%3As3cret@h/db", "postgres://[hidden]"),
            ("postgres://user%3Du%3Bpassword%3Ds3cret@h/db", "postgres://[hidden]"),
            ("postgresql://u:s3cret/db", "postgresql://[hidden]"),
        ] {
            let choice: StoreChoice = url.parse().unwrap();
            assert_eq!(choice.to_string(), shown);
            assert!(!format!("{choice:?}").contains("cret"), "{choice:?}");
        }
    }
}
