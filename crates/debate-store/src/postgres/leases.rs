//! Leases as rows with the server's clock. Nothing here is tried again: a lease that was had without anybody knowing runs
//! out by itself.

use std::time::Duration;

use async_trait::async_trait;
use debate_core::envelope::{StreamId, StreamKind};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::fault::answer;
use super::{Asked, PostgresStore};
use crate::leases::{LEFT_FOR, Lease, LeaseError, Leases, Release};

/// Taken where there is none or it ran out; the clock is read once the row is locked.
const ACQUIRE: &str = "INSERT INTO leases AS l (stream_kind, stream_id, holder, fence, until) \
     VALUES ($1, $2, $3, 1, clock_timestamp() + $4) \
     ON CONFLICT (stream_kind, stream_id) DO UPDATE \
     SET holder = excluded.holder, fence = l.fence + 1, until = clock_timestamp() + $4 \
     WHERE l.until <= clock_timestamp() OR l.holder = '' \
     RETURNING stream_kind, stream_id, fence";

const RENEW: &str = "UPDATE leases l SET until = clock_timestamp() + $4 \
     FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS had (stream_kind, stream_id, fence) \
     WHERE l.stream_kind = had.stream_kind AND l.stream_id = had.stream_id AND l.fence = had.fence \
         AND l.holder <> '' \
     RETURNING l.stream_kind, l.stream_id, l.fence";

const FINISH: &str = "DELETE FROM leases WHERE stream_kind = $1 AND stream_id = $2 AND fence = $3";

const HAND_BACK: &str =
    "UPDATE leases SET until = clock_timestamp() WHERE stream_kind = $1 AND stream_id = $2 AND fence = $3";

/// A lease with an empty holder has no holder; it can be adopted once it expires.
const LEAVE: &str = "UPDATE leases SET holder = '', until = clock_timestamp() + $4 \
     WHERE stream_kind = $1 AND stream_id = $2 AND fence = $3";

/// Replicas that adopt at the same time pass over each other's rows.
const ADOPT: &str = "WITH free AS MATERIALIZED ( \
         SELECT stream_kind, stream_id FROM leases WHERE until <= clock_timestamp() \
         ORDER BY until LIMIT $3 FOR UPDATE SKIP LOCKED) \
     UPDATE leases l SET holder = $1, fence = l.fence + 1, until = clock_timestamp() + $2 \
     FROM free WHERE l.stream_kind = free.stream_kind AND l.stream_id = free.stream_id \
     RETURNING l.stream_kind, l.stream_id, l.fence";

const HELD: &str = "SELECT l.stream_kind, l.stream_id, l.holder \
     FROM unnest($1::text[], $2::uuid[]) AS asked (stream_kind, stream_id) \
     JOIN leases l USING (stream_kind, stream_id) WHERE l.until > clock_timestamp() AND l.holder <> ''";

impl PostgresStore {
    async fn once<T>(
        &self,
        asked: impl for<'a> FnOnce(&'a mut PgConnection) -> Asked<'a, T> + Send,
    ) -> Result<T, LeaseError> {
        let time = self.options.answer_time();
        let error = |error: sqlx::Error| LeaseError(error.into());
        let mut connection = answer(time, self.pool.acquire()).await.map_err(error)?;
        let answered = answer(time, asked(&mut connection)).await;
        if answered.as_ref().is_err_and(|error| error.as_database_error().is_none()) {
            connection.close_on_drop();
        }
        answered.map_err(error)
    }
}

#[async_trait]
impl Leases for PostgresStore {
    async fn acquire(
        &self,
        stream: StreamId,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, LeaseError> {
        let holder = holder.to_owned();
        let row = self.once(move |connection| {
            let query =
                sqlx::query(ACQUIRE).bind(stream.kind.as_str()).bind(stream.id).bind(holder).bind(ttl);
            Box::pin(query.fetch_optional(connection))
        });
        row.await?.as_ref().map(lease).transpose()
    }

    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>, LeaseError> {
        let kinds: Vec<&str> = leases.iter().map(|lease| lease.stream.kind.as_str()).collect();
        let ids: Vec<Uuid> = leases.iter().map(|lease| lease.stream.id).collect();
        let fences: Vec<i64> = leases.iter().map(|lease| lease.fence.cast_signed()).collect();
        let rows = self.once(move |connection| {
            let query = sqlx::query(RENEW).bind(kinds).bind(ids).bind(fences).bind(ttl);
            Box::pin(query.fetch_all(connection))
        });
        rows.await?.iter().map(lease).collect()
    }

    async fn release(&self, lease: Lease, release: Release) -> Result<(), LeaseError> {
        let statement = match release {
            Release::Finished => FINISH,
            Release::HandedBack => HAND_BACK,
            Release::Left => LEAVE,
        };
        let done = self.once(move |connection| {
            let query = sqlx::query(statement).bind(lease.stream.kind.as_str()).bind(lease.stream.id);
            let query = query.bind(lease.fence.cast_signed());
            let query = if release == Release::Left { query.bind(LEFT_FOR) } else { query };
            Box::pin(query.execute(connection))
        });
        done.await.map(|_| ())
    }

    async fn adopt(&self, holder: &str, ttl: Duration, leases_max: u32) -> Result<Vec<Lease>, LeaseError> {
        let holder = holder.to_owned();
        let rows = self.once(move |connection| {
            let query = sqlx::query(ADOPT).bind(holder).bind(ttl).bind(i64::from(leases_max));
            Box::pin(query.fetch_all(connection))
        });
        rows.await?.iter().map(lease).collect()
    }

    async fn held(&self, streams: &[StreamId]) -> Result<Vec<(StreamId, String)>, LeaseError> {
        let kinds: Vec<&str> = streams.iter().map(|stream| stream.kind.as_str()).collect();
        let ids: Vec<Uuid> = streams.iter().map(|stream| stream.id).collect();
        let rows = self
            .once(move |connection| Box::pin(sqlx::query(HELD).bind(kinds).bind(ids).fetch_all(connection)));
        let held = |row: &PgRow| {
            let holder = row.try_get(2).map_err(|error| LeaseError(error.into()))?;
            Ok((stream(row)?, holder))
        };
        rows.await?.iter().map(held).collect()
    }
}

fn lease(row: &PgRow) -> Result<Lease, LeaseError> {
    let fence: i64 = row.try_get(2).map_err(|error| LeaseError(error.into()))?;
    Ok(Lease { stream: stream(row)?, fence: fence.cast_unsigned() })
}

fn stream(row: &PgRow) -> Result<StreamId, LeaseError> {
    let read = |error: sqlx::Error| LeaseError(error.into());
    let kind: &str = row.try_get(0).map_err(read)?;
    let kind =
        StreamKind::from_name(kind).ok_or_else(|| LeaseError(format!("no stream is a {kind:?}").into()))?;
    Ok(StreamId { kind, id: row.try_get(1).map_err(read)? })
}
