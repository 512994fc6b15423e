//! Which debates this process drives: those it opened, those it recovers, those it adopts from other replicas.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, MutexGuard, PoisonError};

use debate_core::id::{DebateId, Seq};
use debate_llm::ModelError;
use debate_store::{LeaseError, ListFilter, Listed, ReadError, Release};
use tokio::sync::mpsc;

use super::{Engine, LIFECYCLE_KINDS, Origin};
use crate::binding::Unoffered;
use crate::control::ControlError;
use crate::driver::{DriveError, Ended, Order};
use crate::house::House;
use crate::journal::LoadError;
use crate::keeping::{Held, keep};
use crate::leasing::Tenure;
use crate::served::Served;

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
            let page = self.house.store.list(filter.clone()).await?;
            let of = |it: &Listed| Some((DebateId(it.first.stream.id), Origin::of(&it.first)?));
            found.extend(page.iter().filter_map(of));
            match page.last() {
                Some(last) if page.len() == filter.limit as usize => filter.before = Some(last.position),
                Some(_) | None => break,
            }
        }
        let mut taken = 0;
        // Lists begin with the newest, and whoever came first is to be served first.
        for (debate, origin) in found.into_iter().rev() {
            let tenure = self.tenure(debate).await.map_err(ReadError::backend)?;
            if tenure.is_some() || self.house.leasing.is_none() {
                taken += usize::from(self.take_over(debate, &origin, tenure));
            }
        }
        if let Some(leasing) = &self.house.leasing {
            leasing.begin_to_adopt();
            self.tend_leases();
        }
        Ok(taken)
    }

    /// Takes up one debate of the store where nobody drives it; one that rests or has concluded stays as it is.
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
        served.missing_models(&self.house, debate).await
    }

    /// Records that all that a debate asks from here on is put to the default model of this process (rule K23).
    ///
    /// # Errors
    /// There is no such debate, its format is not served here, or the store failed.
    pub async fn replace_model(&self, debate: DebateId, actor: &str) -> Result<(), ControlError> {
        let (_, served) = self.served(debate).await?;
        served.replace_model(&self.house, debate, actor).await
    }

    /// Looks whether the server of the default model has it, before anything is paid for.
    ///
    /// # Errors
    /// The server lists its models, and this one is not among them.
    pub async fn check_model(&self) -> Result<(), ModelError> {
        self.house.models.default_model().check().await
    }

    /// Leases a debate; `None` where another replica has it, or nothing is shared.
    pub(crate) async fn tenure(&self, debate: DebateId) -> Result<Option<Arc<Tenure>>, LeaseError> {
        let Some(leasing) = &self.house.leasing else { return Ok(None) };
        self.tend_leases();
        leasing.acquire(debate).await
    }

    /// Gives back what was leased for a debate that was then not opened; where that `is_unknown`, somebody looks for it.
    pub(crate) async fn give_back(&self, tenure: Option<&Tenure>, is_unknown: bool) {
        if let (Some(leasing), Some(tenure)) = (&self.house.leasing, tenure) {
            let release = if is_unknown { Release::HandedBack } else { Release::Finished };
            leasing.give_back(tenure, release).await;
        }
    }

    /// Renews leases, and adopts debates where that was begun, until the process shuts down.
    fn tend_leases(&self) {
        let Some(leasing) = &self.house.leasing else { return };
        if !leasing.begin_to_tend() {
            return;
        }
        let engine = self.clone();
        self.tasks.spawn(async move {
            let Some(leasing) = &engine.house.leasing else { return };
            let mut beats = tokio::time::interval(leasing.beat_every());
            beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    biased;
                    () = engine.house.shutdown.cancelled() => return,
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
        let Some(leasing) = &self.house.leasing else { return };
        let mut rooms = self.rooms_left(ADOPTED_AT_ONCE);
        let adopted = match leasing.adopt(u32::try_from(rooms.len()).unwrap_or(u32::MAX)).await {
            Ok(adopted) => adopted,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot adopt debates");
                return;
            }
        };
        rooms.truncate(adopted.len());
        for tenure in adopted {
            let _room = rooms.pop();
            let debate = tenure.debate();
            match self.served(debate).await {
                Ok((origin, served)) => self.adopt_one(&origin, &*served, tenure).await,
                // Leased, and then never opened.
                Err(LoadError::NotFound(_)) => leasing.give_back(&tenure, Release::Finished).await,
                Err(error) => {
                    tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot take over");
                    leasing.let_run_out(&tenure);
                }
            }
        }
    }

    /// Takes over a debate that another process left, unless there is nothing to drive.
    async fn adopt_one(&self, origin: &Origin, served: &dyn Served, tenure: Arc<Tenure>) {
        let debate = tenure.debate();
        match served.wants_driving(&*self.house.store, debate).await {
            Ok(true) => {
                tracing::info!(%debate, "taken over");
                self.take_over(debate, origin, Some(tenure));
            }
            Ok(false) => self.give_back(Some(&tenure), false).await,
            Err(error) => {
                tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot take over");
                if let Some(leasing) = &self.house.leasing {
                    leasing.let_run_out(&tenure);
                }
            }
        }
    }

    /// Begins to drive a debate of which the log has its opening and no more: whoever opened it may be gone. Says
    /// whether there is such a debate.
    pub(super) async fn hold_if_idle(
        &self,
        debate: DebateId,
        origin: &Origin,
        opening: Seq,
    ) -> Result<bool, ReadError> {
        let head = self.house.store.head(debate.into()).await?;
        let is_idle = head.is_some_and(|head| head.seq <= opening);
        if is_idle {
            self.hold(debate, origin, None);
        }
        Ok(is_idle)
    }

    /// Begins to drive a debate unless it is driven here already; leases it first where nobody has yet.
    pub(crate) fn hold(&self, debate: DebateId, origin: &Origin, tenure: Option<Arc<Tenure>>) -> bool {
        self.begin_to_keep(debate, origin, tenure, false)
    }

    /// Begins to drive a debate that no process drove; the time since its last event does not count (rule K24).
    fn take_over(&self, debate: DebateId, origin: &Origin, tenure: Option<Arc<Tenure>>) -> bool {
        self.begin_to_keep(debate, origin, tenure, true)
    }

    fn begin_to_keep(
        &self,
        debate: DebateId,
        origin: &Origin,
        tenure: Option<Arc<Tenure>>,
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
            if let (Some(leasing), Some(tenure)) = (&self.house.leasing, &tenure) {
                leasing.let_run_out(tenure);
            }
            return false;
        };
        let engine = self.clone();
        self.tasks.spawn(async move {
            engine.keep_on(&*served, (debate, was_left), held, inbox, tenure).await;
        });
        true
    }

    /// Keeps a debate for as long as there is something to do that is this process's to do.
    async fn keep_on(
        &self,
        served: &dyn Served,
        (debate, mut was_left): (DebateId, bool),
        held: Held,
        mut inbox: mpsc::Receiver<Order>,
        mut tenure: Option<Arc<Tenure>>,
    ) {
        loop {
            if tenure.is_none() && self.house.leasing.is_some() {
                tenure = self.tenure(debate).await.unwrap_or_else(|error| {
                    tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot lease");
                    None
                });
                if tenure.is_none() {
                    self.held().remove(&debate);
                    return;
                }
            }
            if std::mem::take(&mut was_left)
                && let Err(error) = served.resume_driving(&self.house, debate).await
            {
                tracing::warn!(%debate, error = &error as &dyn std::error::Error, "cannot move the deadline");
            }
            let kept = keep(&self.house, served, debate, &held, &mut inbox);
            let ended = match &tenure {
                Some(tenure) => tokio::select! {
                    biased;
                    () = tenure.lost() => Ok(Ended::ClaimLost),
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
            let is_rightful = matches!(ended, Ok(Ended::ClaimLost))
                && tenure.as_ref().is_some_and(|tenure| tenure.stands());
            let mut wants_more = is_rightful;
            if !is_rightful && let Some(tenure) = tenure.take() {
                wants_more = self.part(&tenure, served, &ended).await;
            }
            let mut all = self.held();
            if self.house.shutdown.is_cancelled() || !(held.take_nudge() || wants_more) {
                // Only then the inbox closes: whoever finds it closed can take the debate up anew.
                all.remove(&debate);
                return;
            }
        }
    }

    /// Lets go of a lease in the way that fits how driving ended; says whether there is work again: another replica may
    /// have continued or resumed the debate while this one still had it.
    async fn part(&self, tenure: &Tenure, served: &dyn Served, ended: &Result<Ended, DriveError>) -> bool {
        let Some(leasing) = &self.house.leasing else { return false };
        match ended {
            Ok(Ended::Concluded | Ended::Resting) => {
                leasing.give_back(tenure, Release::Finished).await;
                served.wants_driving(&*self.house.store, tenure.debate()).await.unwrap_or_else(|error| {
                    tracing::warn!(error = &error as &dyn std::error::Error, "cannot look for work again");
                    false
                })
            }
            Ok(Ended::ShutDown) => {
                leasing.give_back(tenure, Release::HandedBack).await;
                false
            }
            Ok(Ended::Unoffered) => {
                leasing.give_back(tenure, Release::Left).await;
                false
            }
            // Somebody tries again later, here or elsewhere.
            Ok(Ended::ClaimLost) | Err(_) => {
                leasing.let_run_out(tenure);
                false
            }
        }
    }

    /// Begins to drive a debate that was just written to from beside its driver.
    pub(super) fn take_up(&self, debate: DebateId, origin: &Origin) {
        if !self.hold(debate, origin, None)
            && let Some(held) = self.held().get(&debate)
        {
            held.nudge();
        }
    }

    pub(crate) fn house(&self) -> &House {
        &self.house
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
