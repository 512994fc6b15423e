//! Which debates this process drives: those it opened, those it recovers, those it adopts from other replicas.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, MutexGuard, PoisonError};

use debate_core::id::{DebateId, Seq};
use debate_llm::ModelError;
use debate_store::{LeaseError, ListFilter, Listed, ReadError, Release};
use tokio::sync::mpsc;

use super::{Engine, LIFECYCLE_KINDS, Origin};
use crate::binding::Unoffered;
use crate::control::ControlError;
use crate::driver::{DriveError, Ended, Order};
use crate::engine_shared::EngineShared;
use crate::format_runtime::FormatRuntime;
use crate::journal::LoadError;
use crate::keeping::{Held, keep};
use crate::leasing::HeldLease;

/// Debates adopted at once, so that replicas share what one of them left.
const ADOPTED_AT_ONCE: usize = 8;

impl Engine {
    /// Takes up every debate in the store that has not concluded and that no other replica has; returns how many (rule
    /// K2). From then on this process adopts what other replicas leave, if it shares with any.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn recover(&self) -> Result<usize, ReadError> {
        let open = LIFECYCLE_KINDS.iter().filter(|kind| **kind != "concluded");
        let mut filter = ListFilter {
            lifecycle: LIFECYCLE_KINDS.map(str::to_owned).to_vec(),
            status: Some(open.map(|kind| (*kind).to_owned()).collect()),
            ..ListFilter::default()
        };
        let mut found = Vec::new();
        loop {
            let page = self.shared.store.list(filter.clone()).await?;
            let of = |it: &Listed| Some((DebateId(it.first.stream.id), Origin::of(&it.first)?));
            found.extend(page.iter().filter_map(of));
            match page.last() {
                Some(last) if page.len() == filter.limit as usize => filter.before = Some(last.position),
                Some(_) | None => break,
            }
        }
        let mut taken = 0;
        // Lists begin with the newest, and the oldest is served first.
        for (debate, origin) in found.into_iter().rev() {
            let lease = self.lease(debate).await.map_err(ReadError::backend)?;
            if lease.is_some() || self.shared.leasing.is_none() {
                taken += usize::from(self.take_over(debate, &origin, lease));
            }
        }
        if let Some(leasing) = &self.shared.leasing {
            leasing.begin_to_adopt();
            self.tend_leases();
        }
        Ok(taken)
    }

    /// Returns those of some debates that a process drives now; `None` where that is not known.
    pub async fn driven(&self, debates: &[DebateId]) -> Option<BTreeSet<DebateId>> {
        self.shared.leasing.as_ref()?.driven(debates).await
    }

    /// Drives a stored debate that no process drives; a paused or concluded one stays as it is.
    ///
    /// # Errors
    /// There is no such debate, its format is not served here, or the store failed.
    pub async fn drive(&self, debate: DebateId) -> Result<(), LoadError> {
        let (origin, _) = self.served(debate).await?;
        self.take_over(debate, &origin, None);
        Ok(())
    }

    /// Returns why a debate cannot go on with the models of this process, if it cannot (rule K23).
    ///
    /// # Errors
    /// There is no such debate, its format is not served here, or the store failed.
    pub async fn missing_models(&self, debate: DebateId) -> Result<Option<Unoffered>, LoadError> {
        let (_, served) = self.served(debate).await?;
        served.missing_models(&self.shared, debate).await
    }

    /// Records that all that a debate asks from here on is put to the default model of this process (rule K23).
    ///
    /// # Errors
    /// There is no such debate, its format is not served here, or the store failed.
    pub async fn replace_model(&self, debate: DebateId, actor: &str) -> Result<(), ControlError> {
        let (_, served) = self.served(debate).await?;
        served.replace_model(&self.shared, debate, actor).await
    }

    /// Looks whether the server of the default model has it, before anything is paid for.
    ///
    /// # Errors
    /// The server lists its models, and this one is not among them.
    pub async fn check_model(&self) -> Result<(), ModelError> {
        self.shared.models.default_model().check().await
    }

    /// Leases a debate; `None` where another replica has it, or nothing is shared.
    pub(crate) async fn lease(&self, debate: DebateId) -> Result<Option<Arc<HeldLease>>, LeaseError> {
        let Some(leasing) = &self.shared.leasing else { return Ok(None) };
        self.tend_leases();
        leasing.acquire(debate).await
    }

    /// Gives back what was leased for a debate that was then not opened; where that `is_unknown`, somebody looks for it.
    pub(crate) async fn give_back(&self, lease: Option<&HeldLease>, is_unknown: bool) {
        if let (Some(leasing), Some(lease)) = (&self.shared.leasing, lease) {
            let release = if is_unknown { Release::HandedBack } else { Release::Finished };
            leasing.give_back(lease, release).await;
        }
    }

    /// Renews leases, and adopts debates where that was begun, until the process shuts down.
    fn tend_leases(&self) {
        let Some(leasing) = &self.shared.leasing else { return };
        if !leasing.begin_to_tend() {
            return;
        }
        let engine = self.clone();
        self.tasks.spawn(async move {
            let Some(leasing) = &engine.shared.leasing else { return };
            let mut beats = tokio::time::interval(leasing.beat_every());
            beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    biased;
                    () = engine.shared.shutdown.cancelled() => return,
                    _ = beats.tick() => {}
                }
                leasing.beat().await;
                if leasing.adopts() {
                    engine.adopt().await;
                }
            }
        });
    }

    async fn adopt(&self) {
        let Some(leasing) = &self.shared.leasing else { return };
        let mut rooms = self.free_slots(ADOPTED_AT_ONCE);
        let adopted = match leasing.adopt(u32::try_from(rooms.len()).unwrap_or(u32::MAX)).await {
            Ok(adopted) => adopted,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot adopt debates");
                return;
            }
        };
        rooms.truncate(adopted.len());
        for lease in adopted {
            let _room = rooms.pop();
            let debate = lease.debate();
            match self.served(debate).await {
                Ok((origin, served)) => self.adopt_one(&origin, &*served, lease).await,
                // Leased, and then never opened.
                Err(LoadError::NotFound(_)) => leasing.give_back(&lease, Release::Finished).await,
                Err(error) => {
                    tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot take over");
                    leasing.let_run_out(&lease);
                }
            }
        }
    }

    /// Takes over a debate that another process left, unless there is nothing to drive.
    async fn adopt_one(&self, origin: &Origin, served: &dyn FormatRuntime, lease: Arc<HeldLease>) {
        let debate = lease.debate();
        match served.wants_driving(&*self.shared.store, debate).await {
            Ok(true) => {
                tracing::info!(%debate, "taken over");
                self.take_over(debate, origin, Some(lease));
            }
            Ok(false) => self.give_back(Some(&lease), false).await,
            Err(error) => {
                tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot take over");
                if let Some(leasing) = &self.shared.leasing {
                    leasing.let_run_out(&lease);
                }
            }
        }
    }

    /// Begins to drive a debate whose log contains only its opening: the process that opened it may be gone. Returns
    /// whether there is such a debate.
    pub(super) async fn hold_if_idle(
        &self,
        debate: DebateId,
        origin: &Origin,
        opening: Seq,
    ) -> Result<bool, ReadError> {
        let head = self.shared.store.head(debate.into()).await?;
        let is_idle = head.is_some_and(|head| head.seq <= opening);
        if is_idle {
            self.hold(debate, origin, None);
        }
        Ok(is_idle)
    }

    /// Begins to drive a debate unless it is driven here already; leases it first if it has no lease yet.
    pub(crate) fn hold(&self, debate: DebateId, origin: &Origin, lease: Option<Arc<HeldLease>>) -> bool {
        self.begin_to_keep(debate, origin, lease, false)
    }

    /// Begins to drive a debate that no process drove; the time since its last event does not count (rule K24).
    fn take_over(&self, debate: DebateId, origin: &Origin, lease: Option<Arc<HeldLease>>) -> bool {
        self.begin_to_keep(debate, origin, lease, true)
    }

    fn begin_to_keep(
        &self,
        debate: DebateId,
        origin: &Origin,
        lease: Option<Arc<HeldLease>>,
        was_left: bool,
    ) -> bool {
        let served = self.formats.get(origin.format.as_str()).cloned();
        if served.is_none() {
            tracing::warn!(%debate, format = origin.format, "the format is not served here");
        }
        let (held, inbox) = Held::new(&origin.tenant);
        let served = served.filter(|_| match self.held().entry(debate) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(held.clone());
                true
            }
        });
        let Some(served) = served else {
            if let (Some(leasing), Some(lease)) = (&self.shared.leasing, &lease) {
                leasing.let_run_out(lease);
            }
            return false;
        };
        let engine = self.clone();
        self.tasks.spawn(async move {
            engine.keep_on(&*served, (debate, was_left), held, inbox, lease).await;
        });
        true
    }

    /// Keeps a debate for as long as there is something to do that is this process's to do.
    async fn keep_on(
        &self,
        served: &dyn FormatRuntime,
        (debate, mut was_left): (DebateId, bool),
        held: Held,
        mut inbox: mpsc::Receiver<Order>,
        mut lease: Option<Arc<HeldLease>>,
    ) {
        loop {
            if lease.is_none() && self.shared.leasing.is_some() {
                lease = self.lease(debate).await.unwrap_or_else(|error| {
                    tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot lease");
                    None
                });
                if lease.is_none() {
                    self.held().remove(&debate);
                    return;
                }
            }
            if std::mem::take(&mut was_left)
                && let Err(error) = served.resume_driving(&self.shared, debate).await
            {
                tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot move the deadline");
            }
            let kept = keep(&self.shared, served, debate, &held, &mut inbox);
            let ended = match &lease {
                Some(lease) => tokio::select! {
                    biased;
                    () = lease.lost() => Ok(Ended::ClaimLost),
                    ended = kept => ended,
                },
                None => kept.await,
            };
            match &ended {
                Ok(ended) => tracing::debug!(%debate, ?ended, "driver ended"),
                Err(error) => {
                    tracing::error!(%debate, error = error as &dyn std::error::Error, "driver failed");
                }
            }
            let is_rightful =
                matches!(ended, Ok(Ended::ClaimLost)) && lease.as_ref().is_some_and(|lease| lease.stands());
            let mut wants_more = is_rightful;
            if !is_rightful && let Some(lease) = lease.take() {
                wants_more = self.part(&lease, served, &ended).await;
            }
            let mut all = self.held();
            if self.shared.shutdown.is_cancelled() || !(held.take_nudge() || wants_more) {
                // Only then the inbox closes: a caller that finds it closed can take the debate up again.
                all.remove(&debate);
                return;
            }
        }
    }

    /// Lets go of a lease in the way that fits how driving ended; says whether there is work again: another replica may
    /// have continued or resumed the debate while this one still had it.
    async fn part(
        &self,
        lease: &HeldLease,
        served: &dyn FormatRuntime,
        ended: &Result<Ended, DriveError>,
    ) -> bool {
        let Some(leasing) = &self.shared.leasing else { return false };
        match ended {
            Ok(Ended::Concluded | Ended::Resting) => {
                leasing.give_back(lease, Release::Finished).await;
                served.wants_driving(&*self.shared.store, lease.debate()).await.unwrap_or_else(|error| {
                    tracing::warn!(error = &error as &dyn std::error::Error, "cannot look for work again");
                    false
                })
            }
            Ok(Ended::ShutDown) => {
                leasing.give_back(lease, Release::HandedBack).await;
                false
            }
            Ok(Ended::Unoffered) => {
                leasing.give_back(lease, Release::Left).await;
                false
            }
            // Somebody tries again later, here or elsewhere.
            Ok(Ended::ClaimLost) | Err(_) => {
                leasing.let_run_out(lease);
                false
            }
        }
    }

    /// Begins to drive a debate that another writer than its driver just appended to.
    pub(super) fn take_up(&self, debate: DebateId, origin: &Origin) {
        if !self.hold(debate, origin, None)
            && let Some(held) = self.held().get(&debate)
        {
            held.notify();
        }
    }

    pub(crate) fn shared(&self) -> &EngineShared {
        &self.shared
    }

    pub(super) fn held(&self) -> MutexGuard<'_, HashMap<DebateId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many debates are driven or wait here.
    #[must_use]
    pub fn held_count(&self) -> usize {
        self.held().len()
    }
}
