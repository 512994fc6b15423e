//! The heads of all streams: two steps down an index for each stream, however long it is.

use debate_core::envelope::StreamId;
use debate_core::id::Seq;
use sqlx::SqlitePool;

use super::read::Fields;
use crate::port::{Head, ReadError};

const HEADS: &str = "\
    WITH RECURSIVE streams (place, kind, id) AS ( \
        SELECT 1, e.stream_kind, e.stream_id FROM events e WHERE e.position = ( \
            SELECT position FROM events WHERE (stream_kind, stream_id) > (?1, ?2) \
            ORDER BY stream_kind, stream_id LIMIT 1) \
        UNION ALL \
        SELECT s.place + 1, e.stream_kind, e.stream_id FROM streams s JOIN events e ON e.position = ( \
            SELECT position FROM events WHERE (stream_kind, stream_id) > (s.kind, s.id) \
            ORDER BY stream_kind, stream_id LIMIT 1) \
        WHERE s.place < ?3) \
    SELECT h.position, h.stream_kind, h.stream_id, h.seq, h.hash FROM streams s JOIN events h ON h.position = ( \
        SELECT position FROM events WHERE stream_kind = s.kind AND stream_id = s.id ORDER BY seq DESC LIMIT 1) \
    ORDER BY s.place";

/// Reads the heads of the streams right after one, in the order of kind and id.
pub(super) async fn heads(
    readers: &SqlitePool,
    after: Option<StreamId>,
    limit: u32,
) -> Result<Vec<(StreamId, Head)>, ReadError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let rows = sqlx::query(HEADS)
        .bind(after.map_or("", |after| after.kind.as_str()))
        .bind(after.map(|after| after.id.as_bytes().to_vec()).unwrap_or_default())
        .bind(limit)
        .fetch_all(readers)
        .await?;
    let heads = rows.iter().map(|row| {
        let fields = Fields::of(row, 0)?;
        Ok((fields.stream(1)?, Head { seq: Seq(fields.number(3)?), hash: fields.digest(4)? }))
    });
    heads.collect()
}
