//! What people do in one life of the process: take up what is in the store, open what is not, follow every debate,
//! carry out the script, and notice when no engine drives a debate any more.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use debate_core::codec::Author;
use debate_core::envelope::Envelope;
use debate_core::event::Resolved;
use debate_core::format::Format;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Control, ControlError, Engine, Start, Watched as Item};
use futures::StreamExt;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::ledger::{Account, Life};
use crate::scenario::Step;
use crate::stage::Stage;
use crate::watched::Watched;

/// How long a debate may be without a driver before somebody calls it abandoned.
const UNATTENDED_MAX: Duration = Duration::from_secs(20);

/// How long people wait before they try again.
const RETRY: Duration = Duration::from_millis(150);

/// How long a subscriber may be behind at the end.
const CATCH_UP: Duration = Duration::from_secs(60);

/// What people do in every life.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The script of each debate.
    pub script: Vec<Step>,
    /// When a second engine takes up all debates.
    pub rival_after: Option<Duration>,
}

/// Does what people do.
pub struct Conductor<'a, F: Format> {
    stage: &'a Arc<Stage>,
    engines: &'a [Engine],
    settings: Settings,
    debates: &'a mut [Watched<F>],
    attended: Instant,
}

impl<F: Format> std::fmt::Debug for Conductor<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conductor").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<'a, F: Format> Conductor<'a, F> {
    /// Prepares one life.
    pub fn new(
        stage: &'a Arc<Stage>,
        engines: &'a [Engine],
        settings: Settings,
        debates: &'a mut [Watched<F>],
    ) -> Self {
        Self { stage, engines, settings, debates, attended: Instant::now() }
    }

    /// Returns once every debate is done and every subscriber saw all of it.
    pub async fn conduct(&mut self) {
        recover(self.stage, &self.engines[0]).await;
        for number in 0..self.debates.len() {
            self.start(number).await;
        }
        if let (Some(after), [_, rival]) = (self.settings.rival_after, self.engines) {
            let (stage, rival) = (Arc::clone(self.stage), rival.clone());
            tokio::spawn(async move {
                sleep(after).await;
                stage.say(|| "a rival takes up all debates".to_owned());
                recover(&stage, &rival).await;
            });
        }
        let mut due: Vec<Option<(usize, Instant)>> = vec![None; self.debates.len()];
        loop {
            let mut is_done = true;
            for (number, due) in due.iter_mut().enumerate() {
                is_done &= self.play(number, due).await;
            }
            if is_done {
                break;
            }
            self.check_attendance();
            let next = due.iter().flatten().map(|(_, at)| *at).filter(|at| *at > Instant::now()).min();
            let next = next.unwrap_or_else(|| Instant::now() + RETRY * 5);
            let moved = self.stage.moved.notified();
            tokio::select! {
                biased;
                () = moved => self.attended = Instant::now(),
                () = sleep_until(next) => {}
            }
        }
        self.catch_up().await;
    }

    /// Opens a debate unless an earlier life did; the same request may be sent as often as needed (rule K11).
    async fn start(&mut self, number: usize) {
        let engine = &self.engines[0];
        let watched = &mut self.debates[number];
        let (request_digest, request_id) = watched.request.clone();
        let start = Start::<F> {
            config: watched.opening.config.clone(),
            brief: watched.opening.brief.clone(),
            limits: watched.opening.limits,
            request_digest,
            request_id: Some(request_id),
            author: Author { tenant: String::new(), actor: "tester".to_owned(), trace: None },
        };
        let started = loop {
            match engine.start(start.clone()).await {
                Ok(started) => break started,
                Err(error) => self.stage.say(|| format!("debate {number} cannot start: {error}")),
            }
            sleep(RETRY).await;
        };
        if watched.debate.is_some_and(|debate| debate != started.debate) {
            self.stage.ledger().found("the same request opened another debate (K11)".to_owned());
        }
        watched.debate = Some(started.debate);
        let (engine, seen) = (engine.clone(), Arc::clone(&watched.seen));
        tokio::spawn(async move { follow(&engine, started.debate, &seen).await });
    }

    /// Carries the script of a debate on as far as it goes now; returns whether nothing is left to do or to wait for.
    async fn play(&mut self, number: usize, due: &mut Option<(usize, Instant)>) -> bool {
        let Some(debate) = self.debates[number].debate else { return false };
        loop {
            let life = self.life(debate);
            let Some((index, step)) = self.next_step(number, debate) else {
                return life == Life::Concluded;
            };
            let after_concluding = matches!(step, Step::Continue { .. } | Step::Resolve);
            if after_concluding && life != Life::Concluded {
                return false;
            }
            let at = match due {
                Some((of, at)) if *of == index => *at,
                _ => Instant::now() + Duration::from_millis(delay_ms(step)),
            };
            *due = Some((index, at));
            if at > Instant::now() {
                return false;
            }
            if matches!(step, Step::Resume { .. }) && life == Life::Concluded {
                // It was to end a pause; now it would drive a void debate again, which fair weather does not (K24).
                *self.debates[number].refused.entry(kind_of(step)).or_default() += 1;
                continue;
            }
            let engine = &self.engines[index % self.engines.len()];
            let control = self.control(number, step);
            self.stage.say(|| format!("debate {number}: {control:?}"));
            match engine.control(debate, control, "tester").await {
                Ok(()) => {}
                Err(ControlError::Refused(error)) => {
                    self.stage.say(|| format!("refused: {error}"));
                    *self.debates[number].refused.entry(kind_of(step)).or_default() += 1;
                }
                Err(error) => {
                    self.stage.say(|| format!("not carried out: {error}"));
                    *due = Some((index, Instant::now() + RETRY));
                    return false;
                }
            }
        }
    }

    fn life(&self, debate: DebateId) -> Life {
        self.stage.ledger().account(debate.into()).map_or(Life::Running, Account::life)
    }

    /// Returns the first step that neither shows in the log nor was refused.
    fn next_step(&self, number: usize, debate: DebateId) -> Option<(usize, Step)> {
        let ledger = self.stage.ledger();
        let account = ledger.account(debate.into())?;
        let refused = &self.debates[number].refused;
        let steps = self.settings.script.iter().copied().enumerate();
        steps.into_iter().find(|(index, step)| {
            let kind = kind_of(*step);
            let same = self.settings.script[..=*index].iter().filter(|other| kind_of(**other) == kind);
            let done = account.count(kind) + refused.get(kind).copied().unwrap_or(0);
            (same.count() as u64) > done
        })
    }

    fn control(&self, number: usize, step: Step) -> Control {
        match step {
            Step::Pause { .. } => Control::Pause,
            Step::Resume { .. } => Control::Resume,
            Step::Cancel { .. } => Control::Cancel { reason: "enough".to_owned() },
            Step::Continue { rounds } => Control::Continue { rounds, focus: None },
            Step::Resolve => {
                let outcome = self.debates[number].opening.resolution.clone();
                Control::Resolve(Resolved::new(outcome))
            }
        }
    }

    /// Finds debates that are not done but that no engine drives.
    fn check_attendance(&mut self) {
        let held: usize = self.engines.iter().map(Engine::held_count).sum();
        let open = self.debates.iter().filter_map(|watched| watched.debate);
        let open = open.filter(|debate| self.life(*debate) != Life::Concluded).count();
        if held >= open {
            self.attended = Instant::now();
        } else if self.attended.elapsed() > UNATTENDED_MAX {
            self.stage.ledger().found(format!("{open} debates are open, {held} are driven"));
            self.stage.crash();
        }
    }

    async fn catch_up(&self) {
        for watched in self.debates.iter() {
            let Some(debate) = watched.debate else { continue };
            let head = self.stage.ledger().account(debate.into()).map_or(Seq::START, Account::head);
            let behind = async {
                while last_seen(&watched.seen) < head {
                    sleep(Duration::from_millis(50)).await;
                }
            };
            if timeout(CATCH_UP, behind).await.is_err() {
                let seen = last_seen(&watched.seen);
                self.stage.ledger().found(format!("a subscriber is at {seen}, the debate at {head} (K10)"));
            }
        }
    }
}

/// Takes up everything in the store, as often as it takes.
async fn recover(stage: &Stage, engine: &Engine) {
    while let Err(error) = engine.recover().await {
        stage.say(|| format!("cannot recover: {error}"));
        sleep(RETRY).await;
    }
}

fn last_seen(seen: &Mutex<Vec<Envelope>>) -> Seq {
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.last().map_or(Seq::START, |envelope| envelope.seq)
}

/// Follows a debate for ever: resumes after the last event seen whenever the subscription ends.
async fn follow(engine: &Engine, debate: DebateId, seen: &Mutex<Vec<Envelope>>) {
    loop {
        if let Ok(stream) = engine.watch(debate, last_seen(seen), true).await {
            futures::pin_mut!(stream);
            while let Some(Ok(item)) = stream.next().await {
                match item {
                    Item::Event(envelope) => {
                        seen.lock().unwrap_or_else(PoisonError::into_inner).push(Envelope::clone(&envelope));
                    }
                    Item::Chunk(_) | Item::Heartbeat(_) => {}
                }
            }
        }
        sleep(RETRY).await;
    }
}

fn delay_ms(step: Step) -> u64 {
    match step {
        Step::Pause { after_ms } | Step::Resume { after_ms } | Step::Cancel { after_ms } => after_ms,
        Step::Continue { .. } | Step::Resolve => 0,
    }
}

/// Returns the kind of event that shows that a step was taken.
fn kind_of(step: Step) -> &'static str {
    match step {
        Step::Pause { .. } => "paused",
        Step::Resume { .. } => "resumed",
        Step::Cancel { .. } => "cancelled",
        Step::Continue { .. } => "continued",
        Step::Resolve => "resolved",
    }
}
