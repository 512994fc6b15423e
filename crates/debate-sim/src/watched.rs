//! One debate of a world.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use debate_core::envelope::Envelope;
use debate_core::format::Format;
use debate_core::id::{DebateId, Digest};

use crate::subject::Opening;

/// One debate of a world, across all lives.
#[derive(Debug)]
pub struct Watched<F: Format> {
    /// What it is opened with.
    pub opening: Opening<F>,
    /// The digest and id of its request.
    pub request: (Digest, String),
    /// Which debate it became.
    pub debate: Option<DebateId>,
    /// How many controls of each kind were refused and are not tried again.
    pub refused: BTreeMap<&'static str, u64>,
    /// What a subscriber saw of it, in order.
    pub seen: Arc<Mutex<Vec<Envelope>>>,
}
