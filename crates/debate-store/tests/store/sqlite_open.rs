//! Files that cannot be used, each with its own error.

use std::fs;
use std::path::Path;
use std::time::Duration;

use debate_store::{EventStore, OpenError, Position, SqliteOptions, SqliteStore};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

use crate::stream_writer::StreamWriter;

async fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    let options = SqliteOptions { busy_timeout: Duration::from_millis(50), ..SqliteOptions::default() };
    SqliteStore::open(path.to_str().unwrap(), options).await
}

async fn raw(path: &Path, sql: &'static str) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::query(sql).execute(&mut connection).await.unwrap();
    connection
}

/// Creates a store's file with one event in it.
async fn create(path: &Path) {
    let store = open(path).await.unwrap();
    store.append(StreamWriter::new(1).append(1)).await.unwrap();
    store.close().await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn new_files_are_private_and_old_ones_keep_their_mode() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = TempDir::new().unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    let path = folder.path().join("debates.sqlite");
    let store = open(&path).await.unwrap();
    store.append(StreamWriter::new(1).append(1)).await.unwrap();
    for name in ["debates.sqlite", "debates.sqlite-wal", "debates.sqlite-shm"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    store.close().await.unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    open(&path).await.unwrap().close().await.unwrap();
    assert_eq!(mode("debates.sqlite"), 0o640, "the owner decides who may read the file");
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_that_a_link_leads_to_is_for_its_owner_alone() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = folder.path().join("debates.sqlite");
    symlink(elsewhere.path().join("target"), &path).unwrap();
    let store = open(&path).await.unwrap();
    store.append(StreamWriter::new(1).append(1)).await.unwrap();
    let files: Vec<_> = fs::read_dir(elsewhere.path()).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(files.iter().any(|file| file.file_name() == "target"), "{files:?}");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_location_may_be_a_path_or_a_url() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("with space & ünïcode %20.db");
    create(&path).await;
    for prefix in ["", "sqlite:", "sqlite://"] {
        let location = format!("{prefix}{}", path.display());
        let store = SqliteStore::open(&location, SqliteOptions::default()).await.unwrap();
        assert_eq!(store.path(), path);
        assert_eq!(store.read_all(Position::START, 10).await.unwrap().len(), 1);
        store.close().await.unwrap();
    }
    let none = [
        "",
        "sqlite:",
        "sqlite::memory:",
        ":memory:",
        "sqlite://x.db?mode=ro",
        "file:x.db",
        "sqlite:file:x.db",
        "sqlite:sqlite:x.db",
    ];
    for location in none {
        let refused = SqliteStore::open(location, SqliteOptions::default()).await;
        assert!(matches!(refused, Err(OpenError::NotAPath { .. })), "{location}: {refused:?}");
    }
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    fs::write(&path, "").unwrap();
    create(&path).await;
}

#[tokio::test]
async fn a_file_of_an_older_schema_is_brought_up_to_date_and_keeps_its_events() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    create(&path).await;
    drop(raw(&path, "DELETE FROM _sqlx_migrations WHERE version = 2").await);
    let of_kind = "CREATE INDEX events_of_kind ON events (stream_kind, stream_id, kind)";
    drop(raw(&path, of_kind).await);
    let mut writer = StreamWriter::new(1);
    let first = writer.append(1);
    let store = open(&path).await.unwrap();
    assert_eq!(store.append(first).await.unwrap(), Position(1), "it is there already");
    assert_eq!(store.append(writer.append(1)).await.unwrap(), Position(2));
    store.close().await.unwrap();
    let mut connection = raw(&path, "SELECT 1").await;
    let of_kind = "SELECT count(*) FROM sqlite_schema WHERE name = 'events_of_kind'";
    let left: i64 = sqlx::query_scalar(of_kind).fetch_one(&mut connection).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("absent/log.db");
    let refused = open(&path).await.unwrap_err();
    assert!(matches!(&refused, OpenError::Unreachable { .. }), "{refused:?}");
    assert!(refused.to_string().contains("absent/log.db"));
    let refused = open(folder.path()).await.unwrap_err();
    assert!(matches!(&refused, OpenError::Unreachable { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_read_only_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    create(&path).await;
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let refused = open(&path).await.unwrap_err();
    assert!(matches!(refused, OpenError::ReadOnly { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_locked_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    create(&path).await;
    let holder = raw(&path, "BEGIN IMMEDIATE").await;
    let refused = open(&path).await.unwrap_err();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
    drop(holder);

    let other = folder.path().join("other.db");
    let holder = raw(&other, "CREATE TABLE t (a); BEGIN EXCLUSIVE").await;
    let refused = open(&other).await.unwrap_err();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
    drop(holder);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "not a database ".repeat(1_000);
    fs::write(&path, &text).unwrap();
    let refused = open(&path).await.unwrap_err();
    assert!(matches!(refused, OpenError::NotADatabase { .. }), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn another_programs_database_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    for sql in ["CREATE TABLE events (a)", "PRAGMA application_id = 7"] {
        let path = folder.path().join(format!("{}.db", sql.len()));
        drop(raw(&path, sql).await);
        let before = fs::read(&path).unwrap();
        let refused = open(&path).await.unwrap_err();
        assert!(matches!(refused, OpenError::Foreign { .. }), "{refused:?}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    create(&path).await;
    let sql = "INSERT INTO _sqlx_migrations VALUES (9, 'later', '', 1, x'00', 0)";
    drop(raw(&path, sql).await);
    let refused = open(&path).await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 9, known: 3, .. }), "{refused:?}");
}

#[tokio::test]
async fn an_altered_schema_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    create(&path).await;
    drop(raw(&path, "UPDATE _sqlx_migrations SET checksum = x'00'").await);
    let refused = open(&path).await.unwrap_err();
    assert!(matches!(refused, OpenError::Altered { version: 1, .. }), "{refused:?}");
}
