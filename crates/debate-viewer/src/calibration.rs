//! How good the forecasts of resolved debates were (rule K16): which there are, and what their logs say together.

use std::collections::BTreeSet;

use debate_core::format::Format as _;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::track_record::{TrackRecord, prompt_versions};
use debate_core::id::DebateId;
use debate_engine::{Engine, LoadError};
use debate_store::ReadError;

/// Returns all debates with probabilities that were resolved, the newest first; those of one tenant where it is named.
///
/// # Errors
/// The store cannot be read.
pub async fn resolved(engine: &Engine, tenant: Option<&str>) -> Result<Vec<DebateId>, ReadError> {
    let found = engine.having("resolved", tenant, Some(Prediction::NAME)).await?;
    Ok(found.into_iter().map(|listed| DebateId(listed.first.stream.id)).collect())
}

/// Returns what debates say together, in whatever order they come; those that are not resolved say nothing.
///
/// # Errors
/// One of them is not there, has no probabilities, or cannot be read.
pub async fn track_record(
    engine: &Engine,
    debates: impl IntoIterator<Item = DebateId>,
) -> Result<TrackRecord, LoadError> {
    let mut record = TrackRecord::default();
    // Intervals are drawn by place, so places follow from the debates alone.
    let debates: BTreeSet<DebateId> = debates.into_iter().collect();
    for debate in debates {
        let prompts = prompt_versions(&engine.history(debate, None).await?);
        let prompts = prompts.map_err(|source| LoadError::Decode { debate, source })?;
        record.add(&engine.load::<Prediction>(debate, None).await?, prompts);
    }
    Ok(record)
}
