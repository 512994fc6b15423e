//! The statement that inserts events. It looks back itself whether the event before is there: PostgreSQL prepares it once,
//! and a trigger of rows that looked took a tenth of an append.

use debate_core::envelope::Envelope;
use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use uuid::Uuid;

use crate::append::Append;
use crate::postgres::read::integer;

/// The columns of an event behind its position.
macro_rules! columns {
    () => {
        "stream_kind, stream_id, seq, kind, version, at, tenant, actor, trace, hash, prose_digest, salt, body, prose"
    };
}

/// That a row `e` is the event before `(kind, id, seq)`.
macro_rules! before {
    ($kind:literal, $id:literal, $seq:literal) => {
        concat!("e.stream_kind = ", $kind, " AND e.stream_id = ", $id, " AND e.seq = ", $seq, " - 1")
    };
}

/// Whether the event before `(kind, id, seq)` exists. If a finished stream may end with that event, it is locked,
/// because archiving waits for that lock. Checked only `unless` a condition is true.
macro_rules! is_next {
    ($kind:literal, $id:literal, $seq:literal, unless $holds:literal) => {
        concat!(
            "CASE WHEN ",
            $holds,
            " THEN true WHEN (SELECT true FROM events e WHERE ",
            before!($kind, $id, $seq),
            " AND NOT may_be_last(e.kind)) THEN true ELSE (SELECT true FROM events e WHERE ",
            before!($kind, $id, $seq),
            " FOR KEY SHARE) END"
        )
    };
}

/// What an insert returns; a first event of an archived stream fails it.
macro_rules! returning {
    () => {
        " RETURNING position, CASE WHEN seq = 1 THEN refuse_archived(stream_kind, stream_id) END"
    };
}

/// The events, one array for each column and one that tells which events continue an append; their order is that of
/// their positions.
macro_rules! insert {
    () => {
        concat!(
            "INSERT INTO events (position, ",
            columns!(),
            ") SELECT CASE WHEN ",
            is_next!("a", "b", "c", unless "p OR c = 1"),
            " THEN position_of(pg_current_xact_id()) + n - 1 ELSE refuse_hole() END, a, b, c, d, e, f, g, h, i, j, k, l, m, o ",
            "FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::text[], $5::integer[], $6::bigint[], $7::text[], $8::text[], ",
            "$9::text[], $10::bytea[], $11::bytea[], $12::bytea[], $13::text[], $14::text[], $15::boolean[]) ",
            "WITH ORDINALITY AS r (a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, n)",
            returning!()
        )
    };
}

/// One event alone, a parameter for each column: it takes the server two thirds of what arrays of one take.
const INSERT_ONE: &str = concat!(
    "INSERT INTO events (position, ",
    columns!(),
    ") VALUES (CASE WHEN ",
    is_next!("$1", "$2", "$3", unless "$3 = 1"),
    " THEN position_of(pg_current_xact_id()) ELSE refuse_hole() END, ",
    "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    returning!()
);

const INSERT: &str = insert!();

/// The same with the requests that the events answer, in the same transaction.
const INSERT_WITH_REQUESTS: &str = concat!(
    "WITH asked AS (INSERT INTO requests (tenant, request_id, body_hash, stream_kind, stream_id) ",
    "SELECT * FROM unnest($16::text[], $17::text[], $18::bytea[], $19::text[], $20::uuid[])) ",
    insert!()
);

/// A statement with its parameters.
type Insert<'a> = Query<'a, Postgres, PgArguments>;

/// Returns the statement that inserts all events of some appends, and the requests that they answer.
pub(super) fn insert_query<'a>(appends: &[&'a Append]) -> Insert<'a> {
    let events: Vec<&'a Envelope> =
        appends.iter().flat_map(|append| &append.envelopes).map(|it| &**it).collect();
    let requests: Vec<_> =
        appends.iter().filter_map(|it| it.request.as_ref().map(|request| (request, it.stream))).collect();
    if let ([event], []) = (&*events, &*requests) {
        return insert_one(event);
    }
    let column = |text: fn(&'a Envelope) -> &'a str| -> Vec<&'a str> {
        events.iter().map(|event| text(event)).collect()
    };
    let continues = appends.iter().flat_map(|it| (0..it.envelopes.len()).map(|index| index > 0));
    let query = sqlx::query(if requests.is_empty() { INSERT } else { INSERT_WITH_REQUESTS })
        .bind(column(|it| it.stream.kind.as_str()))
        .bind(events.iter().map(|it| it.stream.id).collect::<Vec<Uuid>>())
        .bind(events.iter().map(|it| integer(it.seq.0)).collect::<Vec<i64>>())
        .bind(column(|it| &it.kind))
        .bind(events.iter().map(|it| i32::from(it.version)).collect::<Vec<i32>>())
        .bind(events.iter().map(|it| it.at.0).collect::<Vec<i64>>())
        .bind(column(|it| &it.tenant))
        .bind(column(|it| &it.actor))
        .bind(events.iter().map(|it| it.trace.as_deref()).collect::<Vec<Option<&str>>>())
        .bind(events.iter().map(|it| it.hash.0.as_slice()).collect::<Vec<&[u8]>>())
        .bind(
            events
                .iter()
                .map(|it| it.prose_digest.as_ref().map(|digest| digest.0.as_slice()))
                .collect::<Vec<Option<&[u8]>>>(),
        )
        .bind(
            events
                .iter()
                .map(|it| it.prose.as_ref().map(|prose| prose.salt.as_slice()))
                .collect::<Vec<Option<&[u8]>>>(),
        )
        .bind(column(|it| &it.body))
        .bind(
            events
                .iter()
                .map(|it| it.prose.as_ref().map(|prose| prose.text.as_str()))
                .collect::<Vec<Option<&str>>>(),
        )
        .bind(continues.collect::<Vec<bool>>());
    if requests.is_empty() {
        return query;
    }
    query
        .bind(requests.iter().map(|(it, _)| it.tenant.as_str()).collect::<Vec<&str>>())
        .bind(requests.iter().map(|(it, _)| it.request_id.as_str()).collect::<Vec<&str>>())
        .bind(requests.iter().map(|(it, _)| it.body_hash.0.as_slice()).collect::<Vec<&[u8]>>())
        .bind(requests.iter().map(|(_, stream)| stream.kind.as_str()).collect::<Vec<&str>>())
        .bind(requests.iter().map(|(_, stream)| stream.id).collect::<Vec<Uuid>>())
}

fn insert_one(event: &Envelope) -> Insert<'_> {
    sqlx::query(INSERT_ONE)
        .bind(event.stream.kind.as_str())
        .bind(event.stream.id)
        .bind(integer(event.seq.0))
        .bind(event.kind.as_str())
        .bind(i32::from(event.version))
        .bind(event.at.0)
        .bind(event.tenant.as_str())
        .bind(event.actor.as_str())
        .bind(event.trace.as_deref())
        .bind(event.hash.0.as_slice())
        .bind(event.prose_digest.as_ref().map(|digest| digest.0.as_slice()))
        .bind(event.prose.as_ref().map(|prose| prose.salt.as_slice()))
        .bind(event.body.as_str())
        .bind(event.prose.as_ref().map(|prose| prose.text.as_str()))
}
