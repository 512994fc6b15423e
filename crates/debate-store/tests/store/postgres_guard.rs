//! What the database itself refuses for every client, and what opening refuses.

use debate_core::chain::ChainBreak;
use debate_core::id::Seq;
use debate_postgres_fixture::Server;
use debate_store::{
    Append, ConnectError, EventStore, Position, PostgresOptions, PostgresStore, ReadError, RequestKey,
};

use crate::stream_writer::{StreamWriter, read_stream, verify};

/// A server with a log of three events, the second with prose, and one request.
async fn filled() -> (Server, PostgresStore, StreamWriter) {
    let server = Server::start(&[]).unwrap();
    let store = PostgresStore::open(&server.url("postgres"), PostgresOptions::default()).await.unwrap();
    let mut writer = StreamWriter::new(1);
    let envelopes = vec![
        writer.event("opened", "{}"),
        writer.event_with_prose("said", "{}", "{\"text\":\"secret\"}"),
        writer.event("noted", "{}"),
    ];
    let body_hash = envelopes[0].hash;
    let request = RequestKey { tenant: "a".to_owned(), request_id: "r".to_owned(), body_hash };
    store.append(Append::new(writer.stream, Seq::START, envelopes).with_request(request)).await.unwrap();
    (server, store, writer)
}

/// An event of a debate as SQL, at a position of its transaction.
fn insert(seq: i64) -> String {
    format!(
        "INSERT INTO events (position, stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, body) VALUES \
         (position_of(pg_current_xact_id()), 'debate', '00000000-0000-0000-0000-000000000001', {seq}, 'noted', 1, 1, '', \
         'x', decode(repeat('00', 32), 'hex'), '{{}}')"
    )
}

#[tokio::test]
async fn k15_nothing_but_prose_ever_changes() {
    let (server, store, writer) = filled().await;
    let before = read_stream(&store, writer.stream).await;
    let refused = [
        "UPDATE events SET body = '{ }'",
        "UPDATE events SET prose = 'other' WHERE prose IS NOT NULL",
        "UPDATE events SET prose = NULL, salt = NULL, at = 0",
        "UPDATE events SET prose = NULL",
        "UPDATE events SET salt = NULL WHERE salt IS NOT NULL",
        "UPDATE events SET position = position + 1",
        "UPDATE events SET trace = 'x'",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = 3",
        "TRUNCATE events",
        "TRUNCATE events, requests CASCADE",
        "UPDATE requests SET tenant = 'b'",
        "DELETE FROM requests",
        "TRUNCATE requests",
        "INSERT INTO requests SELECT * FROM requests",
    ];
    // A redaction that takes something else along.
    let also = [
        ("position", "position + 7"),
        ("stream_kind", "'policy'"),
        ("stream_id", "gen_random_uuid()"),
        ("seq", "7"),
        ("kind", "'x'"),
        ("version", "7"),
        ("at", "7"),
        ("tenant", "'x'"),
        ("actor", "'x'"),
        ("trace", "'x'"),
        ("hash", "decode(repeat('00', 32), 'hex')"),
        ("prose_digest", "NULL"),
        ("body", "'x'"),
    ];
    let also = also.map(|(column, other)| {
        format!("UPDATE events SET {column} = {other}, prose = NULL, salt = NULL WHERE seq = 2")
    });
    for sql in refused {
        for session in ["", "SET session_replication_role = replica; "] {
            let done = server.sql("postgres", &format!("{session}{sql}"));
            assert!(done.is_err(), "{session}{sql}");
        }
    }
    for sql in also {
        assert!(server.sql("postgres", &sql).is_err(), "{sql}");
    }
    assert_eq!(read_stream(&store, writer.stream).await, before);
    server.sql("postgres", "UPDATE events SET prose = NULL, salt = NULL WHERE seq = 2").unwrap();
    assert!(read_stream(&store, writer.stream).await[1].is_redacted());
    assert_eq!(verify(&store, writer.stream).await, Ok(Seq(3)));
}

#[tokio::test]
async fn k15_what_is_added_by_hand_takes_no_place_that_is_taken_and_verify_names_it() {
    let (server, store, writer) = filled().await;
    let position = "position_of(pg_current_xact_id())";
    for sql in [
        insert(3),
        insert(4).replace(position, "(SELECT max(position) FROM events)"),
        insert(4).replace("'debate'", "NULL"),
        insert(4).replace("hash, body)", "hash, prose)"),
    ] {
        for session in ["", "SET session_replication_role = replica; "] {
            assert!(server.sql("postgres", &format!("{session}{sql}")).is_err(), "{session}{sql}");
        }
    }
    assert_eq!(verify(&store, writer.stream).await, Ok(Seq(3)));
    // Nothing keeps a hole out that is made by hand.
    server.sql("postgres", &insert(5)).unwrap();
    let stream = writer.stream;
    let named = ChainBreak::Sequence { stream, expected: Seq(4), found: Seq(5) };
    assert_eq!(verify(&store, stream).await, Err(named));
}

#[tokio::test]
async fn k15_what_is_added_by_hand_before_the_first_place_is_named_by_whatever_reads_it() {
    let position = "position_of(pg_current_xact_id())";
    let corrupt = |found: Result<String, ReadError>| match found {
        Err(ReadError::Corrupt { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    for number in [0, -1, i64::MIN] {
        let (server, store, writer) = filled().await;
        server.sql("postgres", &insert(number)).unwrap();
        let first = store.read(writer.stream, Seq::START, 1).await.map(|page| format!("{page:?}"));
        assert!(corrupt(first).contains(&format!("an event stands at {number}, before")));
        let all = store.read_all(Position::START, 10).await.map(|page| format!("{page:?}"));
        assert!(corrupt(all).contains(&format!("an event stands at {number}, before")));

        // A stream with only that event has no head to sign.
        let other = "00000000-0000-0000-0000-000000000002";
        server
            .sql("postgres", &insert(number).replace("00000000-0000-0000-0000-000000000001", other))
            .unwrap();
        let heads = store.heads(None, 10).await.map(|heads| format!("{heads:?}"));
        assert!(corrupt(heads).contains(&format!("{other} an event stands at {number}, before")));

        // At a place before the first of all events.
        let (server, store, _) = filled().await;
        server.sql("postgres", &insert(4).replace(position, &number.to_string())).unwrap();
        let all = store.read_all(Position::START, 1).await.map(|page| format!("{page:?}"));
        assert!(corrupt(all).contains(&format!("an event stands at {number}, before")));
    }
}

#[tokio::test]
async fn a_writer_needs_no_more_rights_than_it_uses() {
    let (server, store, mut writer) = filled().await;
    store.close().await;
    server.sql("postgres", "CREATE ROLE app LOGIN IN ROLE debate_writer").unwrap();
    // Even without any trigger.
    server
        .sql("postgres", "ALTER TABLE events DISABLE TRIGGER ALL; ALTER TABLE requests DISABLE TRIGGER ALL")
        .unwrap();
    for sql in [
        "UPDATE events SET body = '{}'",
        "UPDATE events SET hash = hash",
        "DELETE FROM events",
        "TRUNCATE events",
        "DELETE FROM requests",
        "UPDATE requests SET tenant = 'b'",
        "ALTER TABLE events ENABLE TRIGGER ALL",
        "SELECT rebase_positions()",
        "DROP TABLE events",
        "CREATE TABLE mine (a int)",
    ] {
        assert!(server.sql("postgres", &format!("SET ROLE app; {sql}")).is_err(), "{sql}");
    }
    // Nor does a function do for it what only the owner may, as the trigger of a table of its own.
    for (time, function) in [("AFTER", "archived_take"), ("BEFORE", "archived_check")] {
        let own = format!(
            "SET ROLE app; CREATE TEMP TABLE mine AS SELECT * FROM archived; \
             CREATE TRIGGER own {time} INSERT ON mine FOR EACH ROW EXECUTE FUNCTION {function}(); \
             INSERT INTO mine (stream_kind, stream_id) SELECT stream_kind, stream_id FROM events"
        );
        let error = server.sql("postgres", &own).unwrap_err().to_string();
        assert!(error.contains(&format!("permission denied for function {function}")), "{error}");
    }
    let with_rights_of_others =
        "SELECT proname FROM pg_proc WHERE prosecdef AND has_function_privilege('app', oid, 'EXECUTE')";
    assert_eq!(server.sql("postgres", with_rights_of_others).unwrap().trim(), "");
    // Nor does any column of the log but those of words take another value from it.
    let others = "SELECT table_name, column_name FROM information_schema.columns \
         WHERE table_schema = 'public' AND table_name IN ('events', 'requests', 'archived') \
         AND has_column_privilege('app', table_name, column_name, 'UPDATE') ORDER BY 1, 2";
    assert_eq!(server.sql("postgres", others).unwrap().trim(), "events|prose\nevents|salt");
    let rights = "SELECT t, r FROM unnest(ARRAY['events', 'requests', 'archived']) t, \
         unnest(ARRAY['INSERT', 'DELETE', 'TRUNCATE']) r WHERE has_table_privilege('app', t, r) ORDER BY 1, 2";
    assert_eq!(server.sql("postgres", rights).unwrap().trim(), "events|INSERT\nrequests|INSERT");
    let url = server.url_for("app", "postgres");
    let store = PostgresStore::open(&url, PostgresOptions::default()).await.unwrap();
    store.append(writer.append(2)).await.unwrap();
    store.redact(writer.stream, Seq(2)).await.unwrap();
    assert_eq!(store.wait(writer.stream, Seq(4)).await.unwrap(), Seq(5));
    assert_eq!(verify(&store, writer.stream).await, Ok(Seq(5)));
    store.horizon().await.unwrap();
}

#[tokio::test]
async fn opening_says_what_is_wrong_and_never_the_password() {
    let server = Server::start(&[]).unwrap();
    let open = async |url: String| {
        let options =
            PostgresOptions { retry_time: std::time::Duration::from_secs(5), ..PostgresOptions::default() };
        let error = PostgresStore::open(&url, options).await.err().unwrap();
        let mut shown = format!("{error} {error:?}");
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            shown.push_str(&cause.to_string());
            source = cause.source();
        }
        assert!(!shown.contains("s3cret") && !shown.contains("4711"), "{shown}");
        error
    };
    let with = |user: &str, database: &str| server.url_for(&format!("{user}:s3cret"), database);
    for url in ["mysql://a:s3cret@b/c", "postgres://a:s3cret@[b/c", "postgres://a:s3cret@b:port/c"] {
        assert!(matches!(open(url.to_owned()).await, ConnectError::NotAUrl), "{url}");
    }
    // Of a password that holds what ends a host the rest is read as if it were the database, or what follows it.
    for nowhere in [
        "postgres://a:s3cret@localhost/c?host=/nowhere",
        "postgres://a:1/s3cret@localhost/c?host=/nowhere",
        "postgres://a/s3cret@localhost/c?host=/nowhere",
        "postgresql://a:1?host=/nowhere&s3cret@localhost/c",
        "postgres://localhost:4711#s3cret@localhost/c",
        // So is one that is given by name; a login whose signs are spelled out passes for the host, or the database.
        "postgres://127.0.0.1:1/c;user=a;password=s3cret",
        "postgres://localhost;password=s3cret/c",
        "postgres://localhost%3Bpassword%3Ds3cret/c",
        "postgres://a%3As3cret%40localhost/c",
        "postgres://a%3As3cret@localhost?host=/nowhere",
        "postgres://127.0.0.1:1/c?host=localhost;password=s3cret",
    ] {
        assert!(matches!(open(nowhere.to_owned()).await, ConnectError::Unreachable { .. }), "{nowhere}");
    }
    for nothing in ["nothing", "nothing;password=s3cret"] {
        assert!(
            matches!(open(with("postgres", nothing)).await, ConnectError::NoDatabase { .. }),
            "{nothing}"
        );
    }
    assert!(matches!(open(with("missing", "postgres")).await, ConnectError::LoginRefused { .. }));

    server.sql("postgres", "CREATE ROLE guest LOGIN").unwrap();
    server.create_database("empty").unwrap();
    let refused = open(with("guest", "empty")).await;
    assert!(matches!(refused, ConnectError::MayNotMigrate { found: 0, known: 6, .. }), "{refused:?}");

    server.create_database("foreign_one").unwrap();
    server.sql("foreign_one", "CREATE TABLE events (id int)").unwrap();
    assert!(matches!(open(with("postgres", "foreign_one")).await, ConnectError::Foreign { .. }));

    let create = "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'";
    server.sql("postgres", create).unwrap();
    assert!(matches!(open(with("postgres", "latin")).await, ConnectError::Encoding { .. }));

    PostgresStore::open(&server.url("empty"), PostgresOptions::default()).await.unwrap();
    for (change, is_wanted) in [
        (
            "checksum = '\\x00'",
            (|it| matches!(it, ConnectError::Altered { version: 1, .. })) as fn(_) -> bool,
        ),
        ("version = 77 WHERE version = 6", |it| {
            matches!(it, ConnectError::Newer { found: 77, known: 6, .. })
        }),
    ] {
        server.sql("empty", &format!("UPDATE _sqlx_migrations SET {change}")).unwrap();
        assert!(is_wanted(open(with("postgres", "empty")).await), "{change}");
    }
}

#[tokio::test]
async fn replicas_may_create_one_log_at_the_same_time() {
    let url = debate_postgres_fixture::fresh_database().unwrap();
    let opened = (0..6).map(|_| PostgresStore::open(&url, PostgresOptions::default()));
    let stores = futures::future::join_all(opened).await;
    for (id, store) in stores.into_iter().enumerate() {
        store.unwrap().append(StreamWriter::new(id as u128).append(2)).await.unwrap();
    }
}

#[tokio::test]
async fn a_log_restored_into_a_younger_server_is_refused_until_it_is_rebased() {
    let (server, store, mut writer) = filled().await;
    store.close().await;
    // As if its events came from a server that had had far more transactions.
    server
        .sql(
            "postgres",
            "ALTER TABLE events DISABLE TRIGGER ALL; UPDATE events SET position = position + (1000000::bigint << 20)",
        )
        .unwrap();
    let url = server.url("postgres");
    let refused = PostgresStore::open(&url, PostgresOptions::default()).await;
    assert!(matches!(refused, Err(ConnectError::Restored { .. })), "{refused:?}");
    server.sql("postgres", "SELECT rebase_positions()").unwrap();
    let store = PostgresStore::open(&url, PostgresOptions::default()).await.unwrap();
    let last = store.append(writer.append(2)).await.unwrap();
    crate::stream_writer::settled(&store, last).await;
    let all = store.read_all(Default::default(), 10).await.unwrap();
    let seqs: Vec<u64> = all.iter().map(|(_, event)| event.seq.0).collect();
    assert_eq!((seqs, all.last().unwrap().0), (vec![1, 2, 3, 4, 5], last));
}
