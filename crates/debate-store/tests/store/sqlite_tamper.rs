//! What the database itself refuses, and what the chain finds when somebody gets past it (rule K15).

use std::path::{Path, PathBuf};

use debate_core::chain::ChainBreak;
use debate_core::envelope::Envelope;
use debate_core::id::{Digest, Seq};
use debate_store::{Append, EventStore, Position, ReadError, RequestKey, SqliteOptions, SqliteStore};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _};
use tempfile::TempDir;

use crate::stream_writer::{StreamWriter, read_stream, verify};

/// A file with one stream of five events; the second and the third have prose.
struct Kept {
    store: SqliteStore,
    path: PathBuf,
    events: Vec<Envelope>,
    _folder: TempDir,
}

async fn kept() -> Kept {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let store = SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap();
    let mut writer = StreamWriter::new(1);
    let events = vec![
        writer.event("opened", "{\"n\":1}"),
        writer.event_with_prose("said", "{\"n\":2}", "{\"text\":\"two\"}"),
        writer.event_with_prose("said", "{\"n\":3}", "{\"text\":\"three\"}"),
        writer.event("noted", "{\"n\":4}"),
        writer.event("noted", "{\"n\":5}"),
    ];
    let request =
        RequestKey { tenant: String::new(), request_id: "r1".to_owned(), body_hash: Digest::of_text("body") };
    let append = Append::new(writer.stream, Seq::START, events.clone()).with_request(request);
    store.append(append).await.unwrap();
    Kept { store, path, events, _folder: folder }
}

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

async fn run(connection: &mut SqliteConnection, sql: &str) -> Result<u64, sqlx::Error> {
    let done = sqlx::query(AssertSqlSafe(sql)).execute(connection).await;
    done.map(|done| done.rows_affected())
}

/// The columns of `events` without the position.
const COLUMNS: &str = "stream_kind, stream_id, seq, kind, version, at, tenant, actor, trace, hash, \
     prose_digest, salt, body, prose";

#[tokio::test]
async fn k15_the_database_refuses_every_change_but_redaction() {
    let kept = kept().await;
    let mut connection = raw(&kept.path).await;
    let copy_of_2 = |position: &str, kind: &str| {
        let columns = COLUMNS.replace(" kind,", &format!(" '{kind}',"));
        format!("(position, {COLUMNS}) SELECT {position}, {columns} FROM events WHERE seq = 2")
    };
    let in_a_hole = format!(
        "INSERT INTO events ({COLUMNS}) SELECT {} FROM events WHERE seq = 2",
        COLUMNS.replace(" seq,", " 7,")
    );
    // The next of its stream, in the place of the second.
    let in_place_of_2 = |how: &str| {
        let columns = COLUMNS.replace(" seq,", " 6,");
        format!(
            "INSERT {how} INTO events (position, {COLUMNS}) SELECT 2, {columns} FROM events WHERE seq = 2"
        )
    };
    let statements = [
        "DELETE FROM events".to_owned(),
        "DELETE FROM events WHERE seq = 5".to_owned(),
        "UPDATE events SET body = '{}' WHERE seq = 3".to_owned(),
        "UPDATE events SET kind = 'x', prose = NULL, salt = NULL WHERE seq = 3".to_owned(),
        "UPDATE events SET prose = 'x' WHERE seq = 3".to_owned(),
        "UPDATE events SET prose = NULL WHERE seq = 3".to_owned(),
        "UPDATE events SET salt = NULL WHERE seq = 3".to_owned(),
        "UPDATE events SET salt = zeroblob(16), prose = 'x' WHERE seq = 4".to_owned(),
        "UPDATE events SET prose_digest = NULL, prose = NULL, salt = NULL WHERE seq = 3".to_owned(),
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 3".to_owned(),
        "UPDATE events SET trace = '' WHERE seq = 1".to_owned(),
        "UPDATE events SET seq = seq + 1 WHERE seq = 5".to_owned(),
        "UPDATE events SET position = position + 1 WHERE seq = 5".to_owned(),
        "UPDATE OR REPLACE events SET seq = 4 WHERE seq = 5".to_owned(),
        format!("INSERT INTO events {}", copy_of_2("NULL", "x")),
        format!("INSERT OR REPLACE INTO events {}", copy_of_2("NULL", "x")),
        format!("INSERT OR REPLACE INTO events {}", copy_of_2("2", "x")),
        format!("INSERT OR IGNORE INTO events {}", copy_of_2("NULL", "x")),
        format!("INSERT INTO events {} ON CONFLICT DO UPDATE SET kind = 'x'", copy_of_2("NULL", "x")),
        in_a_hole,
        in_place_of_2(""),
        in_place_of_2("OR REPLACE"),
        in_place_of_2("OR IGNORE"),
        "DELETE FROM requests".to_owned(),
        "UPDATE requests SET stream_id = zeroblob(16)".to_owned(),
        "REPLACE INTO requests SELECT tenant, request_id, zeroblob(32), stream_kind, stream_id FROM requests"
            .to_owned(),
    ];
    // A redaction that takes something else along.
    let also = COLUMNS.split(", ").filter(|column| !["prose", "salt"].contains(column)).map(|column| {
        let other = match column {
            "stream_id" => "zeroblob(16)",
            "hash" | "prose_digest" => "zeroblob(32)",
            "seq" | "version" | "at" => "7",
            _ => "'x'",
        };
        format!("UPDATE events SET {column} = {other}, prose = NULL, salt = NULL WHERE seq = 3")
    });
    for statement in &statements.into_iter().chain(also).collect::<Vec<_>>() {
        let refused = run(&mut connection, statement).await;
        let code = refused.as_ref().err().and_then(|it| it.as_database_error()?.code()).unwrap_or_default();
        assert!(matches!(&*code, "1811" | "275"), "{statement}: {refused:?}");
    }
    assert_eq!(read_stream(&kept.store, kept.events[0].stream).await, kept.events);
    assert_eq!(kept.store.read_all(Position::START, 10).await.unwrap().len(), 5);

    let redacted = run(&mut connection, "UPDATE events SET prose = NULL, salt = NULL WHERE seq = 3").await;
    assert_eq!(redacted.unwrap(), 1);
    assert_eq!(verify(&kept.store, kept.events[0].stream).await, Ok(Seq(5)));
}

#[tokio::test]
async fn k15_the_chain_names_the_first_event_that_was_tampered_with() {
    let missing = |expected, found| {
        move |stream| ChainBreak::Sequence { stream, expected: Seq(expected), found: Seq(found) }
    };
    let hash = |seq| move |stream| ChainBreak::Hash { stream, seq: Seq(seq) };
    let prose = |seq| move |stream| ChainBreak::Prose { stream, seq: Seq(seq) };
    type Wanted = Box<dyn Fn(debate_core::envelope::StreamId) -> ChainBreak>;
    let cases: Vec<(&str, Wanted)> = vec![
        ("UPDATE events SET body = '{\"n\":0}' WHERE seq = 1", Box::new(hash(1))),
        ("UPDATE events SET body = '{\"n\":6}' WHERE seq = 3", Box::new(hash(3))),
        ("UPDATE events SET body = '{\"n\":6}' WHERE seq = 5", Box::new(hash(5))),
        ("UPDATE events SET at = at + 1 WHERE seq = 4", Box::new(hash(4))),
        ("UPDATE events SET actor = 'somebody' WHERE seq = 2", Box::new(hash(2))),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 2", Box::new(hash(2))),
        ("UPDATE events SET prose = '{\"text\":\"twO\"}' WHERE seq = 2", Box::new(prose(2))),
        ("UPDATE events SET salt = zeroblob(16) WHERE seq = 3", Box::new(prose(3))),
        ("DELETE FROM events WHERE seq = 1", Box::new(missing(1, 2))),
        ("DELETE FROM events WHERE seq = 4", Box::new(missing(4, 5))),
        (
            "DELETE FROM events WHERE seq = 3; UPDATE events SET seq = seq - 1 WHERE seq = 4; \
             UPDATE events SET seq = seq - 1 WHERE seq = 5",
            Box::new(hash(3)),
        ),
        (
            "UPDATE events SET seq = 9 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5; \
             UPDATE events SET seq = 5 WHERE seq = 9",
            Box::new(hash(4)),
        ),
    ];
    for (statement, wanted) in cases {
        let kept = kept().await;
        let stream = kept.events[0].stream;
        assert_eq!(verify(&kept.store, stream).await, Ok(Seq(5)));
        let mut connection = raw(&kept.path).await;
        run(&mut connection, "DROP TRIGGER events_update; DROP TRIGGER events_delete").await.unwrap();
        run(&mut connection, statement).await.unwrap();
        let found = verify(&kept.store, stream).await;
        assert_eq!(found, Err(wanted(stream)), "{statement}");
    }
}

#[tokio::test]
async fn a_row_that_is_no_event_is_named() {
    let cases = [
        ("UPDATE events SET hash = x'00' WHERE seq = 3", "a digest has 1 bytes, not 32"),
        ("UPDATE events SET stream_kind = 'dream' WHERE seq = 3", "unknown kind of stream `dream`"),
        ("UPDATE events SET salt = NULL WHERE seq = 3", "prose and salt do not go together"),
        ("UPDATE events SET version = 70000 WHERE seq = 3", "out of range"),
        ("UPDATE events SET body = CAST(x'ff' AS TEXT) WHERE seq = 3", "utf-8"),
    ];
    for (statement, wanted) in cases {
        let kept = kept().await;
        let mut connection = raw(&kept.path).await;
        run(&mut connection, "DROP TRIGGER events_update; PRAGMA ignore_check_constraints = ON")
            .await
            .unwrap();
        run(&mut connection, statement).await.unwrap();
        match kept.store.read_all(Position::START, 10).await {
            Err(ReadError::Corrupt { position: Position(3), what }) => {
                assert!(what.contains(wanted), "{statement}: {what}");
            }
            other => panic!("{statement}: {other:?}"),
        }
        assert_eq!(kept.store.read_all(Position(3), 10).await.unwrap().len(), 2);
    }
}
