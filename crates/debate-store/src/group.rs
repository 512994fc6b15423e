//! Appends that are committed together, whatever the backend.

use std::collections::HashSet;

use debate_core::envelope::StreamId;
use tokio::sync::oneshot;

use crate::append::{Append, AppendError};
use crate::port::Position;

/// The most events of one group; one append alone may have more.
const EVENTS_PER_GROUP_MAX: usize = 1_024;

/// An append, already checked in itself.
pub(crate) struct AppendJob {
    pub(crate) append: Append,
    pub(crate) reply: oneshot::Sender<Result<Position, AppendError>>,
}

/// Appends that are committed together: at most one per stream and per request, so that each is decided on what
/// is already stored.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) jobs: Vec<AppendJob>,
    events: usize,
    streams: HashSet<StreamId>,
    requests: HashSet<(String, String)>,
}

impl Group {
    /// Returns whether an append may be committed with these.
    pub(crate) fn has_room_for(&self, append: &Append) -> bool {
        self.events + append.envelopes.len() <= EVENTS_PER_GROUP_MAX
            && !self.streams.contains(&append.stream)
            && request_of(append).is_none_or(|request| !self.requests.contains(&request))
    }

    /// Adds an append.
    pub(crate) fn push(&mut self, job: AppendJob) {
        self.events += job.append.envelopes.len();
        self.streams.insert(job.append.stream);
        self.requests.extend(request_of(&job.append));
        self.jobs.push(job);
    }
}

fn request_of(append: &Append) -> Option<(String, String)> {
    append.request.as_ref().map(|request| (request.tenant.clone(), request.request_id.clone()))
}
