//! What the databases themselves refuse to do with archived streams, for every client.

use debate_core::envelope::{Envelope, StreamKind};
use debate_core::id::{Seq, Timestamp};
use debate_store::{Append, Archive, EventStore, Head, SqliteOptions, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _};
use tempfile::TempDir;

use crate::stream_writer::{StreamWriter, read_stream};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// Stores a finished debate with this number and returns its events.
async fn finished(store: &dyn EventStore, id: u128) -> Vec<Envelope> {
    ended(store, id, &["concluded"]).await
}

/// Stores a debate with this number, two events and some of these kinds, and returns its events.
async fn ended(store: &dyn EventStore, id: u128, kinds: &[&str]) -> Vec<Envelope> {
    let mut writer = StreamWriter::new(id);
    let mut events = writer.events(2);
    events.extend(kinds.iter().map(|kind| writer.event(kind, "{}")));
    store.append(Append::new(writer.stream, Seq::START, events.clone())).await.unwrap();
    events
}

fn head_of(events: &[Envelope]) -> Head {
    let last = events.last().unwrap();
    Head { seq: last.seq, hash: last.hash }
}

/// A record by hand that a debate ends at an event, with the hash of an event, and begins at an event. `id` writes an id.
fn recorded(id: impl Fn(u8) -> String, number: u8, end: u8, hash: u8, begin: u8) -> String {
    let id = id(number);
    format!(
        "INSERT INTO archived (stream_kind, stream_id, seq, hash, bundle, at, position, last_position, tenant, opened_at) \
         SELECT 'debate', {id}, {end}, (SELECT e.hash FROM events e WHERE e.stream_id = {id} AND e.seq = {hash}), \
         'x', 0, position, position, '', 0 FROM events WHERE stream_id = {id} AND seq = {begin}"
    )
}

/// Stores what is no debate, and has the number of one.
async fn namesake(store: &dyn EventStore, id: u128) {
    store.append(StreamWriter::of_kind(StreamKind::Policy, id).append(3)).await.unwrap();
}

/// Statements that no database takes, where the debates 1, 3 and 4 are finished, 1 is archived and its namesake is not, 2 is
/// running, and 4 went on for an event after it had concluded.
fn refused(id: impl Fn(u8) -> String) -> Vec<String> {
    let (one, three) = (id(1), id(3));
    vec![
        "DELETE FROM events".to_owned(),
        format!("DELETE FROM events WHERE stream_id = {one}"),
        format!("DELETE FROM events WHERE stream_id = {three}"),
        recorded(&id, 2, 3, 3, 1),
        recorded(&id, 3, 2, 2, 1),
        recorded(&id, 3, 3, 2, 1),
        recorded(&id, 4, 3, 3, 1),
        "DELETE FROM archived".to_owned(),
        "UPDATE archived SET bundle = 'elsewhere'".to_owned(),
        "UPDATE archived SET seq = 1".to_owned(),
        format!(
            "UPDATE archived SET restoring = NOT restoring; DELETE FROM archived WHERE stream_id = {one}"
        ),
        // What was put in its place would stay there.
        ["UPDATE archived SET restoring = NOT restoring"; 2].join("; "),
    ]
}

/// Statements that change a record while its events are put back, which no database takes.
fn altered(id: impl Fn(u8) -> String) -> Vec<String> {
    let changed = [
        ("stream_kind", "'policy'"),
        ("stream_id", &id(9)),
        ("seq", "9"),
        ("hash", "(SELECT e.hash FROM events e WHERE e.seq = 2 LIMIT 1)"),
        ("bundle", "'elsewhere'"),
        ("at", "7"),
        ("position", "position + 1000"),
        ("tenant", "'x'"),
        ("format", "'x'"),
        ("opened_at", "7"),
    ];
    let alter =
        |(column, other)| format!("UPDATE archived SET restoring = NOT restoring, {column} = {other}");
    changed.map(alter).into()
}

/// Statements that no database takes, where the debate 1 is archived with three events and 3 has as many: they put back a
/// history that ends too early, with the last hash, or with another last hash, or that of another debate, or of a namesake that
/// is none, and take the record away. `place` is where.
fn partly_back(id: impl Fn(u8) -> String, place: &str) -> [String; 4] {
    let (one, three, its_hash) = (id(1), id(3), "(SELECT a.hash FROM archived a)");
    let histories = [
        ("debate", &one, 2, its_hash),
        ("debate", &one, 3, "hash"),
        ("debate", &id(9), 3, its_hash),
        ("policy", &one, 3, its_hash),
    ];
    histories.map(|(kind, stream, end, hash)| {
        let back = put_back(place, kind, stream, &three, end, hash);
        format!("{back}; DELETE FROM archived")
    })
}

/// Puts events back as if they were those of an archived debate.
fn put_back(place: &str, kind: &str, stream: &str, of: &str, end: u8, hash: &str) -> String {
    format!(
        "UPDATE archived SET restoring = NOT restoring; \
         INSERT INTO events (position, stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, body) \
         SELECT {place}, '{kind}', {stream}, seq, kind, version, at, tenant, actor, \
         CASE seq WHEN {end} THEN {hash} ELSE hash END, body FROM events \
         WHERE stream_id = {of} AND seq <= {end} ORDER BY seq"
    )
}

/// A statement that no database takes, where the debate 1 is archived with three events and 3 has as many: an event of 1 goes when
/// all are back.
fn back_but_for_one(id: impl Fn(u8) -> String, place: &str) -> String {
    let (one, three) = (id(1), id(3));
    let back = put_back(place, "debate", &one, &three, 3, "(SELECT a.hash FROM archived a)");
    format!("{back}; DELETE FROM events WHERE stream_id = {one} AND seq = 1; DELETE FROM archived")
}

#[tokio::test]
async fn a_file_takes_events_only_with_a_record_of_where_they_went() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let store = SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap();
    let gone = finished(&store, 1).await;
    namesake(&store, 1).await;
    store.append(StreamWriter::new(2).append(3)).await.unwrap();
    let kept = finished(&store, 3).await;
    let resolved = ended(&store, 4, &["concluded", "resolved"]).await;
    store.archive(gone[0].stream, head_of(&gone), "one", NOW).await.unwrap();
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let id = |number: u8| format!("x'{number:032x}'");
    // PostgreSQL looks by itself where the debate begins.
    let elsewhere = recorded(id, 3, 3, 3, 2);
    // Nor does it refuse what comes under an archived id: verify names that.
    let again = |seq: u8| {
        format!(
            "INSERT INTO events (stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, body) \
             SELECT stream_kind, {}, seq, kind, version, at, tenant, actor, hash, body FROM events \
             WHERE stream_id = {} AND seq = {seq}",
            id(1),
            id(3)
        )
    };
    let replaced = "INSERT OR REPLACE INTO archived SELECT stream_kind, stream_id, seq, hash, 'elsewhere', at, position, \
                    tenant, format, opened_at, restoring FROM archived";
    // The place that the archived one has left is its own.
    let in_its_place = format!(
        "INSERT INTO events (position, stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, body) \
         SELECT CASE seq WHEN 1 THEN (SELECT a.position FROM archived a) END, stream_kind, {}, seq, kind, version, at, tenant, \
         actor, hash, body FROM events WHERE stream_id = {} ORDER BY seq; \
         INSERT OR REPLACE INTO archived SELECT e.stream_kind, e.stream_id, e.seq, e.hash, 'elsewhere', a.at, a.position, \
         a.tenant, a.format, a.opened_at, a.restoring FROM archived a, events e WHERE e.stream_id = {} AND e.seq = 3",
        id(9),
        id(3),
        id(9),
    );
    // Nor does another history of the archived one, at a place of its own, come in the place of its record.
    let otherwise = put_back("NULL", "debate", &id(1), &id(3), 3, "hash");
    let in_place_of_the_record = format!(
        "{otherwise}; INSERT OR REPLACE INTO archived SELECT e.stream_kind, e.stream_id, e.seq, e.hash, 'elsewhere', a.at, \
         (SELECT f.position FROM events f WHERE f.stream_kind = e.stream_kind AND f.stream_id = e.stream_id AND f.seq = 1), \
         a.tenant, a.format, a.opened_at, 0 FROM archived a, events e WHERE e.stream_kind = 'debate' AND e.stream_id = {} \
         AND e.seq = 3",
        id(1)
    );
    let own =
        [elsewhere, again(1), again(2), replaced.to_owned(), in_its_place, in_place_of_the_record.clone()];
    for statement in refused(id).into_iter().chain(altered(id)).chain(own) {
        let statement = statement
            .replace("position, last_position", "position")
            .replace("position, position", "position");
        let transaction = format!("BEGIN IMMEDIATE; {statement}; COMMIT");
        let done = sqlx::raw_sql(AssertSqlSafe(transaction.as_str())).execute(&mut connection).await;
        assert!(done.is_err(), "{statement}");
        if statement == in_place_of_the_record {
            let error = done.unwrap_err().to_string();
            assert!(error.contains("archived: the stream is"), "{error}");
        }
        let _ = sqlx::raw_sql("ROLLBACK").execute(&mut connection).await;
    }
    assert_eq!(read_stream(&store, kept[0].stream).await, kept);
    assert_eq!(read_stream(&store, resolved[0].stream).await, resolved);
    assert_eq!(read_stream(&store, StreamWriter::new(2).stream).await.len(), 3);
    store.restore(gone[0].stream, gone.clone()).await.unwrap();
    assert_eq!(read_stream(&store, gone[0].stream).await, gone);
}

#[tokio::test]
async fn a_record_goes_from_a_file_only_when_its_very_last_event_is_back() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let store = SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap();
    let gone = finished(&store, 1).await;
    finished(&store, 3).await;
    store.archive(gone[0].stream, head_of(&gone), "one", NOW).await.unwrap();
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let id = |number: u8| format!("x'{number:032x}'");
    let partly = partly_back(id, "NULL").map(|statement| (statement, "the events are not back"));
    let one_less = (back_but_for_one(id, "NULL"), "the log is append only");
    for (statement, why) in partly.into_iter().chain([one_less]) {
        let transaction = format!("BEGIN IMMEDIATE; {statement}; COMMIT");
        let done = sqlx::raw_sql(AssertSqlSafe(transaction.as_str())).execute(&mut connection).await;
        let error = done.unwrap_err().to_string();
        assert!(error.contains(why), "{statement}: {error}");
        sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.unwrap();
    }
    store.restore(gone[0].stream, gone.clone()).await.unwrap();
    assert_eq!(read_stream(&store, gone[0].stream).await, gone);
}

#[cfg(unix)]
mod postgres {
    use debate_postgres_fixture::Server;
    use debate_store::{AppendError, ArchiveError, PostgresOptions, PostgresStore};
    use sqlx::postgres::PgConnection;
    use sqlx::{Connection as _, Row as _};

    use super::*;

    async fn opened(url: &str) -> PostgresStore {
        PostgresStore::open(url, PostgresOptions::default()).await.unwrap()
    }

    /// Writes the id of a debate.
    fn id(number: u8) -> String {
        format!("'00000000-0000-0000-0000-0000000000{number:02x}'")
    }

    #[tokio::test]
    async fn a_database_takes_events_only_with_a_record_and_only_for_archivers() {
        let server = Server::start(&[]).unwrap();
        let store = opened(&server.url("postgres")).await;
        let gone = finished(&store, 1).await;
        namesake(&store, 1).await;
        store.append(StreamWriter::new(2).append(3)).await.unwrap();
        let kept = finished(&store, 3).await;
        ended(&store, 4, &["concluded", "resolved"]).await;
        store.archive(gone[0].stream, head_of(&gone), "one", NOW).await.unwrap();
        let mut refused = refused(id);
        refused.push("TRUNCATE archived".to_owned());
        // Nor is what the triggers look at for the caller to choose, here and below.
        refused.push(format!(
            "CREATE TEMP TABLE archived AS SELECT stream_kind, stream_id, false AS restoring FROM events; \
             DELETE FROM events WHERE stream_id = {}",
            id(3)
        ));
        for statement in &refused {
            for session in ["", "SET session_replication_role = replica; "] {
                assert!(server.sql("postgres", &format!("{session}{statement}")).is_err(), "{statement}");
            }
        }
        let mut altered = altered(id);
        altered.push(
            "UPDATE archived SET restoring = NOT restoring, last_position = last_position + 1".to_owned(),
        );
        for statement in &altered {
            assert!(server.sql("postgres", statement).is_err(), "{statement}");
        }
        store.restore(gone[0].stream, gone.clone()).await.unwrap();
        store.close().await;

        for (role, roles) in [("app", "debate_writer"), ("keeper", "debate_writer, debate_archiver")] {
            server.sql("postgres", &format!("CREATE ROLE {role} LOGIN IN ROLE {roles}")).unwrap();
        }
        let writer = opened(&server.url_for("app", "postgres")).await;
        let refused = writer.archive(gone[0].stream, head_of(&gone), "one", NOW).await;
        assert!(matches!(refused, Err(ArchiveError::Backend { .. })), "{refused:?}");
        let keeper = opened(&server.url_for("keeper", "postgres")).await;
        keeper.archive(gone[0].stream, head_of(&gone), "one", NOW).await.unwrap();
        assert_eq!(writer.find_archived(gone[0].stream).await.unwrap().unwrap().bundle, "one");
        for statement in
            ["DELETE FROM events", "UPDATE archived SET bundle = 'x'", "SELECT rebase_positions()"]
        {
            assert!(server.sql("postgres", &format!("SET ROLE keeper; {statement}")).is_err(), "{statement}");
        }
        let own = format!(
            "SET ROLE keeper; CREATE TEMP TABLE events AS SELECT * FROM public.events; \
             INSERT INTO archived (stream_kind, stream_id, seq, hash, bundle, at) \
             SELECT stream_kind, stream_id, seq, hash, 'three', 0 FROM public.events WHERE stream_id = {} AND seq = 3",
            id(3)
        );
        server.sql("postgres", &own).unwrap();
        assert_eq!(read_stream(&keeper, kept[0].stream).await, []);
        let ended = format!(
            "SET ROLE keeper; CREATE TEMP TABLE events AS SELECT * FROM public.events; \
             UPDATE events SET kind = 'concluded'; \
             INSERT INTO archived (stream_kind, stream_id, seq, hash, bundle, at) \
             SELECT stream_kind, stream_id, seq, hash, 'two', 0 FROM public.events WHERE stream_id = {} AND seq = 3",
            id(2)
        );
        let error = server.sql("postgres", &ended).unwrap_err().to_string();
        assert!(error.contains("the stream is not finished"), "{error}");
        assert_eq!(read_stream(&keeper, StreamWriter::new(2).stream).await.len(), 3);
        let forged = "SET ROLE keeper; CREATE TEMP TABLE events AS SELECT stream_kind, stream_id, seq, hash FROM archived; \
             UPDATE archived SET restoring = true; DELETE FROM archived";
        let error = server.sql("postgres", forged).unwrap_err().to_string();
        assert!(error.contains("the events are not back"), "{error}");
        keeper.restore(kept[0].stream, kept.clone()).await.unwrap();
        keeper.restore(gone[0].stream, gone.clone()).await.unwrap();
        assert_eq!(read_stream(&writer, gone[0].stream).await, gone);
    }

    #[tokio::test]
    async fn a_record_goes_from_a_database_only_when_its_very_last_event_is_back() {
        let server = Server::start(&[]).unwrap();
        let store = opened(&server.url("postgres")).await;
        let gone = finished(&store, 1).await;
        finished(&store, 3).await;
        store.archive(gone[0].stream, head_of(&gone), "one", NOW).await.unwrap();
        let place = "position_of(pg_current_xact_id()) + seq";
        let partly = partly_back(id, place).map(|statement| (statement, "the events are not back"));
        let one_less = (back_but_for_one(id, place), "the log is append only");
        for (statement, why) in partly.into_iter().chain([one_less]) {
            let error = server.sql("postgres", &statement).unwrap_err().to_string();
            assert!(error.contains(why), "{statement}: {error}");
        }
        store.restore(gone[0].stream, gone.clone()).await.unwrap();
        assert_eq!(read_stream(&store, gone[0].stream).await, gone);
    }

    /// Waits until somebody in the server waits for a lock.
    async fn somebody_waits(connection: &mut PgConnection) {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        while sqlx::query(waiting).fetch_one(&mut *connection).await.unwrap().get::<i64, _>(0) == 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn an_append_and_an_archive_at_the_same_time_wait_for_each_other_and_lose_nothing() {
        let server = Server::start(&[]).unwrap();
        let store = opened(&server.url("postgres")).await;
        let events = finished(&store, 1).await;
        let stream = events[0].stream;
        let mut other = PgConnection::connect(&server.url("postgres")).await.unwrap();
        let mut watching = PgConnection::connect(&server.url("postgres")).await.unwrap();
        let mut writer = StreamWriter::new(1);
        writer.events(2);
        writer.event("concluded", "{}");
        let resolved = writer.event("resolved", "{}");

        // Somebody adds an event, holding on to the one before as an append does: the archive waits, and is refused.
        sqlx::raw_sql("BEGIN").execute(&mut other).await.unwrap();
        let insert = "INSERT INTO events (position, stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, body) \
             SELECT position_of(pg_current_xact_id()), stream_kind, stream_id, 4, 'resolved', 1, $1, '', 'engine', $2, '{}' \
             FROM events WHERE seq = 3 FOR KEY SHARE";
        sqlx::query(insert)
            .bind(resolved.at.0)
            .bind(resolved.hash.0.to_vec())
            .execute(&mut other)
            .await
            .unwrap();
        let ends = async {
            somebody_waits(&mut watching).await;
            sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
        };
        let (refused, ()) = tokio::join!(store.archive(stream, head_of(&events), "one", NOW), ends);
        assert!(matches!(refused, Err(ArchiveError::Moved { .. })), "{refused:?}");
        let events = [&events[..], &[resolved]].concat();
        assert_eq!(read_stream(&store, stream).await, events);

        // Somebody archives: the append waits, and is refused.
        sqlx::raw_sql("BEGIN").execute(&mut other).await.unwrap();
        let archive = "INSERT INTO archived (stream_kind, stream_id, seq, hash, bundle, at) \
             SELECT stream_kind, stream_id, seq, hash, 'one', 0 FROM events WHERE seq = 4";
        sqlx::raw_sql(archive).execute(&mut other).await.unwrap();
        let ends = async {
            somebody_waits(&mut watching).await;
            sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
        };
        let (refused, ()) = tokio::join!(store.append(writer.append(1)), ends);
        assert!(matches!(refused, Err(AppendError::Archived(_))), "{refused:?}");
        store.restore(stream, events.clone()).await.unwrap();
        assert_eq!(read_stream(&store, stream).await, events);
    }
}
