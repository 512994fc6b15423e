//! A file that another program holds, and a disk that is full: nothing acknowledged is lost, nothing is doubled, and the
//! store goes on by itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use debate_core::id::Seq;
use debate_store::{AppendError, EventStore, SqliteOptions, SqliteStore};
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

use crate::stream_writer::{StreamWriter, verify};

async fn open(path: &Path, busy_timeout: Duration) -> SqliteStore {
    let options = SqliteOptions { busy_timeout, ..SqliteOptions::default() };
    SqliteStore::open(path.to_str().unwrap(), options).await.unwrap()
}

/// Another program on the file.
async fn other(path: &Path) -> SqliteConnection {
    SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(path)).await.unwrap()
}

#[tokio::test]
async fn an_append_waits_for_another_program_and_is_stored_when_it_is_done() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let store = open(&path, Duration::from_secs(60)).await;
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(1)).await.unwrap();
    let mut other = other(&path).await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let next = writer.append(2);
    let (appended, ()) = tokio::join!(store.append(next), async {
        assert_eq!(verify(&store, writer.stream).await, Ok(Seq(1)), "readers never wait for a writer");
        sqlx::query("COMMIT").execute(&mut other).await.unwrap();
    });
    appended.unwrap();
    assert_eq!(verify(&store, writer.stream).await, Ok(Seq(3)));
}

#[tokio::test]
async fn an_append_that_waited_too_long_stored_nothing_and_can_be_repeated() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let store = open(&path, Duration::from_millis(20)).await;
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(1)).await.unwrap();
    let mut other = other(&path).await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let next = writer.append(2);
    let refused = store.append(next.clone()).await.unwrap_err();
    assert!(matches!(refused, AppendError::Backend { .. }), "{refused:?}");
    sqlx::query("COMMIT").execute(&mut other).await.unwrap();
    assert_eq!(verify(&store, writer.stream).await, Ok(Seq(1)));
    store.append(next.clone()).await.unwrap();
    store.append(next).await.unwrap();
    assert_eq!(verify(&store, writer.stream).await, Ok(Seq(3)));
}

/// A disk of its own, as large as a few hundred events.
struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// Mounts one; `None`, said aloud, where that is not permitted.
    fn mount() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("skipped: only root may mount a small disk");
        }
        mounted.then_some(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

#[tokio::test]
async fn a_full_disk_refuses_appends_until_there_is_room_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount() else { return };
    let ballast = disk.path("ballast");
    std::fs::write(&ballast, vec![0; 300 << 10]).unwrap();
    let path = disk.path("log.db");
    let store = open(&path, Duration::from_secs(5)).await;
    let mut writer = StreamWriter::new(1);
    let mut acknowledged = Seq::START;
    let refused = loop {
        let before = writer.clone();
        match store.append(writer.append(10)).await {
            Ok(_) => acknowledged = writer.head,
            Err(error) => {
                writer = before;
                break error;
            }
        }
        assert!(acknowledged < Seq(10_000), "the disk is never full");
    };
    assert!(matches!(refused, AppendError::Backend { .. }), "{refused:?}");
    assert!(acknowledged > Seq(0));
    assert_eq!(verify(&store, writer.stream).await, Ok(acknowledged), "it can still be read");

    std::fs::remove_file(&ballast).unwrap();
    store.append(writer.append(10)).await.unwrap();
    assert_eq!(verify(&store, writer.stream).await, Ok(writer.head));
    store.close().await.unwrap();
    let store = open(&path, Duration::from_secs(5)).await;
    assert_eq!(verify(&store, writer.stream).await, Ok(writer.head));
}

#[tokio::test]
async fn f6_a_file_that_is_removed_or_replaced_takes_no_more_events() {
    for replaces in [false, true] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log.db");
        let store = open(&path, Duration::from_secs(60)).await;
        let mut writer = StreamWriter::new(1);
        store.append(writer.append(1)).await.unwrap();
        store.ready().await.unwrap();
        assert!(store.is_in_place());
        let elsewhere = folder.path().join("elsewhere.db");
        std::fs::rename(&path, &elsewhere).unwrap();
        if replaces {
            std::fs::write(&path, "another file").unwrap();
        }
        assert!(!store.is_in_place());
        assert!(store.ready().await.is_err());
        let next = writer.append(1);
        let refused = store.append(next.clone()).await.unwrap_err();
        assert!(
            matches!(&refused, AppendError::Backend { source, .. } if source.to_string().contains("put the file back")),
            "{refused:?}"
        );
        std::fs::rename(&elsewhere, &path).unwrap();
        store.append(next).await.unwrap();
        store.ready().await.unwrap();
        assert_eq!(verify(&store, writer.stream).await, Ok(Seq(2)));
    }
}

#[tokio::test]
async fn f7_a_file_that_cannot_be_written_is_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let store = open(&path, Duration::from_secs(60)).await;
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(3)).await.unwrap();
    store.close().await.unwrap();
    let mut permissions = path.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let store = SqliteStore::open_to_read(path.to_str().unwrap()).await.unwrap();
    assert_eq!(verify(&store, writer.stream).await, Ok(Seq(3)));
    let refused = store.append(writer.append(1)).await.unwrap_err();
    assert!(matches!(refused, AppendError::Closed), "{refused:?}");
    store.close().await.unwrap();
}
