//! Compares a store's streams with the leaves that were recorded of them.

use std::collections::BTreeMap;

use debate_core::chain::{ChainBreak, ChainCheck};
use debate_core::envelope::StreamId;
use debate_core::id::Seq;
use debate_proof::leaf::Leaf;
use debate_proof::leaves::{LeafFault, compare};
use debate_store::{EventStore, Head, ReadError};

/// Streams or events read at once.
const PAGE: u32 = 1_000;

/// A stream contradicts what was recorded of it, or its own chain.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamFault {
    /// It contradicts its latest leaf.
    #[error(transparent)]
    Leaf(#[from] LeafFault),
    /// It grew after its latest leaf and was archived.
    #[error("archived in {0} after it was last signed; give --archive")]
    Archived(String),
    /// What was added to it does not chain.
    #[error(transparent)]
    Chain(#[from] ChainBreak),
}

/// Returns the heads of all streams of a store.
pub(crate) async fn heads(store: &dyn EventStore) -> Result<BTreeMap<StreamId, Head>, ReadError> {
    let mut heads = BTreeMap::new();
    loop {
        let after = heads.last_key_value().map(|(stream, _)| *stream);
        let page = store.heads(after, PAGE).await?;
        if page.is_empty() {
            return Ok(heads);
        }
        heads.extend(page);
    }
}

/// Compares a stream whose chain holds up to `head` with its leaves.
pub(crate) async fn compare_all(
    store: &dyn EventStore,
    stream: StreamId,
    head: Seq,
    leaves: &[Leaf],
) -> Result<Result<(), LeafFault>, ReadError> {
    let mut hashes = BTreeMap::new();
    for leaf in leaves.iter().filter(|leaf| leaf.seq <= head) {
        let page = store.read(stream, Seq(leaf.seq.0.saturating_sub(1)), 1).await?;
        hashes.extend(page.first().map(|event| (event.seq, event.hash)));
    }
    Ok(compare(leaves, head, |seq| hashes.get(&seq).copied()))
}

/// Checks that a stream, up to `head`, goes on from its latest leaf; without one, from its beginning.
///
/// What was recorded before is known by its hash and not read again.
pub(crate) async fn check_growth(
    store: &dyn EventStore,
    stream: StreamId,
    head: Option<Head>,
    latest: Option<&Leaf>,
) -> Result<Result<(), StreamFault>, ReadError> {
    let reached = head.map_or(Seq::START, |head| head.seq);
    if let Err(fault) = compare_all(store, stream, reached, latest.map_or(&[], std::slice::from_ref)).await? {
        return Ok(Err(fault.into()));
    }
    let mut chain = match latest {
        Some(leaf) => ChainCheck::after(stream, leaf.seq, leaf.hash),
        None => ChainCheck::new(stream),
    };
    while chain.head().0 < reached {
        let page = store.read(stream, chain.head().0, PAGE).await?;
        if page.is_empty() {
            let head = chain.head().0;
            return Ok(Err(LeafFault::CutShort { head, signed: reached }.into()));
        }
        for envelope in page.iter().take_while(|envelope| envelope.seq <= reached) {
            if let Err(broken) = chain.push(envelope) {
                return Ok(Err(broken.into()));
            }
        }
    }
    Ok(Ok(()))
}
