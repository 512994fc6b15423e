//! Finding debates by what is in their logs.

use debate_core::codec;
use debate_core::envelope::Envelope;
use debate_core::fork::DEPTH_MAX;
use debate_core::id::Seq;
use debate_store::{ListFilter, Listed, ReadError};

use crate::engine::Engine;

impl Engine {
    /// Returns every debate of which the log has an event of a kind, the newest first; of one tenant or one format where it
    /// is named.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn find_with_event_kind(
        &self,
        kind: &str,
        tenant: Option<&str>,
        format: Option<&str>,
    ) -> Result<Vec<Listed>, ReadError> {
        self.listed(ListFilter {
            tenant: tenant.map(str::to_owned),
            format: format.map(str::to_owned),
            lifecycle: vec![kind.to_owned()],
            status: Some(vec![kind.to_owned()]),
            ..ListFilter::default()
        })
        .await
    }

    /// Returns the event that says what a debate is about, given its first: that of its eldest parent where it is a fork.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn eldest(&self, first: &Envelope) -> Result<Envelope, ReadError> {
        let mut eldest = first.clone();
        for _ in 0..DEPTH_MAX {
            let Some(Ok(forked)) = codec::forked(&eldest) else { break };
            let parent = self.store().read(forked.parent.into(), Seq::START, 1).await?;
            let Some(first) = parent.into_iter().next() else { break };
            eldest = first;
        }
        Ok(eldest)
    }

    /// Returns all that a filter lets through, page by page.
    pub(crate) async fn listed(&self, mut filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        let mut all = Vec::new();
        loop {
            let page = self.store().list(filter.clone()).await?;
            let last = page.last().map(|last| last.position);
            let is_full = page.len() == filter.limit as usize;
            all.extend(page);
            match last {
                Some(last) if is_full => filter.before = Some(last),
                Some(_) | None => return Ok(all),
            }
        }
    }
}
