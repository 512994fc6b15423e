//! Disks of a server that are full: of tables, and of the log that it writes ahead. Nothing acknowledged is lost, nothing is
//! doubled, and the store goes on by itself when there is room.

use std::process::Command;

use debate_core::id::Seq;
use debate_postgres_fixture::{Server, SmallDisk};
use debate_store::{Append, AppendError, EventStore};

use crate::postgres_faults::{append_in_the_end, check, open, open_impatient, patient};
use crate::stream_writer::{StreamWriter, verify};

/// Mounts a disk of so many MiB; `None`, said aloud, where that is not permitted.
fn small_disk(server: &Server, size_mib: u32) -> Option<SmallDisk> {
    let disk = SmallDisk::mount(server, size_mib);
    if let Err(error) = &disk {
        eprintln!("skipped: {error}");
    }
    disk.ok()
}

#[tokio::test]
async fn a_full_disk_is_an_error_that_passes() {
    let server = Server::start(&[]).unwrap();
    let Some(disk) = small_disk(&server, 2) else { return };
    let sql = |sql: &str| server.sql("postgres", sql).unwrap();
    let store = open(&server.url("postgres"), patient()).await;
    let place = disk.folder().display();
    sql(&format!("CREATE TABLESPACE small LOCATION '{place}'"));
    sql("ALTER TABLE events SET TABLESPACE small");
    let mut writer = StreamWriter::new(1);
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(1_500));
    let refused = loop {
        let mut next = writer.clone();
        let event = next.event("noted", &long);
        match store.append(Append::new(writer.stream, writer.head, vec![event])).await {
            Ok(_) => writer = next,
            Err(error) => break error,
        }
        assert!(writer.head < Seq(10_000), "the disk is not small");
    };
    assert!(matches!(refused, AppendError::Backend { .. }), "{refused:?}");
    assert!(writer.head > Seq(100));
    assert_eq!(verify(&*store, writer.stream).await, Ok(writer.head), "it can be read");
    // Space is freed, and no process is restarted.
    sql("ALTER TABLE events SET TABLESPACE pg_default");
    store.append(writer.append(1)).await.unwrap();
    check(&store, &[writer]).await;
}

/// Moves the log that a stopped server writes ahead to another disk.
fn move_wal(server: &Server, disk: &SmallDisk) {
    let wal = server.folder().join("data/pg_wal");
    let script = "cp -a \"$1/.\" \"$2\" && rm -r \"$1\" && ln -s \"$2\" \"$1\"";
    let moved = Command::new("sh").args(["-c", script, "move"]).arg(&wal).arg(disk.folder()).status();
    assert!(moved.unwrap().success());
}

#[tokio::test]
async fn a_full_disk_of_the_log_written_ahead_stops_the_server_and_loses_nothing() {
    let small = ["min_wal_size=32MB", "max_wal_size=1GB"];
    let mut server = Server::start(&small).unwrap();
    let Some(disk) = small_disk(&server, 40) else { return };
    let store = open_impatient(&server.url("postgres")).await;
    let mut writer = StreamWriter::new(1);
    append_in_the_end(&store, writer.append(1)).await;
    server.stop().unwrap();
    move_wal(&server, &disk);
    server.start_again().unwrap();
    let mut refused = 0;
    while refused == 0 || !server.log().contains("No space left on device") {
        match store.append(writer.clone().append(1)).await {
            Ok(_) => drop(writer.events(1)),
            Err(AppendError::Backend { .. }) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
        // Every event takes a segment of 16 MiB, until there is no room for another and the server stops.
        let _stopped = server.sql("postgres", "SELECT pg_switch_wal()");
        assert!(writer.head < Seq(1_000), "the disk is not small");
    }
    disk.grow(400).unwrap();
    // The operator of the database server restarts it; no other process is restarted.
    server.kill().unwrap();
    server.start_again().unwrap();
    append_in_the_end(&store, writer.append(1)).await;
    check(&*open(&server.url("postgres"), patient()).await, &[writer]).await;
}
