//! Leases of the debates that this replica drives: taken before a debate is, renewed while it is, given back after.
//!
//! Without leases, a replica that appends to a debate drives it, and notices a rival by its events. With leases, a
//! replica ignores debates that another replica leased, adopts those that another left, and stops those whose lease it
//! could not renew in time. Its clock decides only for itself, and too early rather than too late: a lease expires
//! here before it expires for the others.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use debate_core::envelope::StreamId;
use debate_core::id::DebateId;
use debate_store::{Lease, LeaseError, Leases, Release};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// The longest wait between two looks at the leases.
const BEAT_MAX: Duration = Duration::from_secs(1);

/// Beats within the time of a lease, so that one that fails is no loss.
const BEATS_PER_TTL: u32 = 3;

/// How a replica shares debates with others.
#[derive(Debug, Clone)]
pub struct Sharing {
    /// Who has which debate.
    pub leases: Arc<dyn Leases>,
    /// This replica's name, which no other has.
    pub replica: String,
    /// How long a debate is left alone after its replica was last heard of. At least a few round trips to the store.
    pub ttl: Duration,
}

/// What this replica has.
#[derive(Debug)]
pub(crate) struct Leasing {
    sharing: Sharing,
    held_leases: Mutex<HashMap<StreamId, Arc<HeldLease>>>,
    is_tended: AtomicBool,
    adopts: AtomicBool,
    /// Whether the last beat that had something to renew failed.
    is_failing: AtomicBool,
}

/// One debate, had for a while.
#[derive(Debug)]
pub(crate) struct HeldLease {
    lease: Lease,
    until: Mutex<Instant>,
    lost: CancellationToken,
}

impl HeldLease {
    /// Returns which debate it is.
    pub(crate) fn debate(&self) -> DebateId {
        DebateId(self.lease.stream.id)
    }

    /// Returns once the debate is no longer had.
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Returns whether the debate is still had.
    pub(crate) fn stands(&self) -> bool {
        !self.lost.is_cancelled() && !self.is_over(Instant::now())
    }

    fn is_over(&self, now: Instant) -> bool {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) <= now
    }

    fn extend(&self, until: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

impl Leasing {
    pub(crate) fn new(sharing: Sharing) -> Self {
        let (held_leases, is_tended, adopts, is_failing) = Default::default();
        Self { sharing, held_leases, is_tended, adopts, is_failing }
    }

    /// Returns whether the caller is the one who renews leases from now on.
    pub(crate) fn begin_to_tend(&self) -> bool {
        !self.is_tended.swap(true, Ordering::AcqRel)
    }

    /// From now on what other replicas leave is taken up here.
    pub(crate) fn begin_to_adopt(&self) {
        self.adopts.store(true, Ordering::Release);
    }

    /// Returns whether what other replicas leave is taken up here.
    pub(crate) fn adopts(&self) -> bool {
        self.adopts.load(Ordering::Acquire)
    }

    /// Returns whether leases could be had and renewed when that was tried last.
    pub(crate) fn is_renewed(&self) -> bool {
        !self.is_failing.load(Ordering::Relaxed)
    }

    /// Returns how long to wait between two beats.
    pub(crate) fn beat_every(&self) -> Duration {
        (self.sharing.ttl / BEATS_PER_TTL).min(BEAT_MAX)
    }

    /// Returns those of some debates that a process drives now; `None` where the leases cannot be read.
    pub(crate) async fn driven(&self, debates: &[DebateId]) -> Option<BTreeSet<DebateId>> {
        let streams: Vec<StreamId> = debates.iter().copied().map(StreamId::from).collect();
        match self.sharing.leases.held(&streams).await {
            Ok(held) => Some(held.into_iter().map(|(stream, _)| DebateId(stream.id)).collect()),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot read which debates are driven"
                );
                None
            }
        }
    }

    /// Takes a debate, unless somebody has it.
    pub(crate) async fn acquire(&self, debate: DebateId) -> Result<Option<Arc<HeldLease>>, LeaseError> {
        let Sharing { leases, replica, ttl } = &self.sharing;
        let asked = Instant::now();
        let lease = self.noted(leases.acquire(debate.into(), replica, *ttl).await)?;
        Ok(lease.map(|lease| self.hold(lease, asked)))
    }

    /// Adopts at most `debates_max` debates that have no holder any more.
    pub(crate) async fn adopt(&self, debates_max: u32) -> Result<Vec<Arc<HeldLease>>, LeaseError> {
        let Sharing { leases, replica, ttl } = &self.sharing;
        let asked = Instant::now();
        let adopted = self.noted(leases.adopt(replica, *ttl, debates_max).await)?;
        Ok(adopted.into_iter().map(|lease| self.hold(lease, asked)).collect())
    }

    /// Notes whether leases can be had.
    fn noted<T>(&self, answer: Result<T, LeaseError>) -> Result<T, LeaseError> {
        self.is_failing.store(answer.is_err(), Ordering::Relaxed);
        answer
    }

    fn hold(&self, lease: Lease, asked: Instant) -> Arc<HeldLease> {
        let until = Mutex::new(asked + self.sharing.ttl);
        let held = Arc::new(HeldLease { lease, until, lost: CancellationToken::new() });
        if let Some(former) = self.held_leases().insert(lease.stream, Arc::clone(&held)) {
            former.lost.cancel();
        }
        held
    }

    /// Renews what is had; what was not renewed in time, or was taken by another, is lost.
    pub(crate) async fn beat(&self) {
        let now = Instant::now();
        let standing: Vec<Lease> = {
            let mut held_leases = self.held_leases();
            held_leases.retain(|_, held| {
                let stands = !held.is_over(now);
                if !stands {
                    tracing::warn!(debate = %held.debate(), "the lease could not be renewed in time");
                    held.lost.cancel();
                }
                stands
            });
            held_leases.values().map(|held| held.lease).collect()
        };
        if standing.is_empty() {
            return;
        }
        let Sharing { leases, ttl, .. } = &self.sharing;
        let answer = timeout(*ttl / BEATS_PER_TTL, leases.renew(&standing, *ttl)).await;
        self.is_failing.store(!matches!(answer, Ok(Ok(_))), Ordering::Relaxed);
        let renewed = match answer {
            Ok(Ok(renewed)) => renewed,
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot renew leases");
                return;
            }
            Err(_) => {
                tracing::warn!("cannot renew leases: no answer");
                return;
            }
        };
        for held in renewed.iter().filter_map(|lease| self.held(lease)) {
            held.extend(now + *ttl);
        }
        for lease in standing.iter().filter(|lease| !renewed.contains(lease)) {
            if let Some(held) = self.forget(lease) {
                tracing::warn!(debate = %held.debate(), "another replica took the lease");
                held.lost.cancel();
            }
        }
    }

    /// Gives a debate back.
    pub(crate) async fn give_back(&self, held: &HeldLease, release: Release) {
        self.forget(&held.lease);
        if let Err(error) = self.sharing.leases.release(held.lease, release).await {
            // It runs out by itself.
            tracing::warn!(error = &error as &dyn std::error::Error, "cannot give a lease back");
        }
    }

    /// Renews a debate no longer, so that it is taken up after a while, here or elsewhere.
    pub(crate) fn let_run_out(&self, held: &HeldLease) {
        self.forget(&held.lease);
    }

    fn held(&self, lease: &Lease) -> Option<Arc<HeldLease>> {
        self.held_leases().get(&lease.stream).filter(|held| held.lease == *lease).cloned()
    }

    fn forget(&self, lease: &Lease) -> Option<Arc<HeldLease>> {
        let held = self.held(lease)?;
        self.held_leases().remove(&lease.stream);
        Some(held)
    }

    fn held_leases(&self) -> MutexGuard<'_, HashMap<StreamId, Arc<HeldLease>>> {
        self.held_leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
