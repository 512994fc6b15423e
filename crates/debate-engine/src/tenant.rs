//! Whose debates a caller sees.

use debate_core::id::{DebateId, Seq};

use crate::engine::Engine;
use crate::journal::LoadError;

/// The tenant for whom a request came in; empty for the only one.
///
/// The auth layer of a server attaches it to every request that passes; handlers behind it read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tenant(pub String);

/// An extension of a response: marks a stream that its client resumes where it was cut, so that a server may drop it if
/// the client does not read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumable;

impl Engine {
    /// Makes sure that a debate is a tenant's own and in the store.
    ///
    /// A debate of another tenant takes the same lookups as one that does not exist, so that the time reveals little.
    ///
    /// # Errors
    /// There is no such debate, which is also said of those of other tenants; it is archived; or the store failed.
    pub async fn reach(&self, debate: DebateId, tenant: &str) -> Result<(), LoadError> {
        let first = self.store().read(debate.into(), Seq::START, 1).await?;
        if first.first().is_some_and(|first| first.tenant == tenant) {
            return Ok(());
        }
        match self.store().find_archived(debate.into()).await? {
            Some(archived) if archived.tenant == tenant => {
                Err(LoadError::Archived { debate, bundle: archived.bundle })
            }
            Some(_) | None => Err(LoadError::NotFound(debate)),
        }
    }
}
