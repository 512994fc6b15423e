//! How a debate is kept by one process: it waits for its turn to be driven, is driven, and rests while it is paused.
//! Controls reach it in each of these states, so that a queue delays no cancel and a paused debate takes no turn. A
//! deadline also applies in the queue: no client waits longer for a result than was agreed (rules K9, P21).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use debate_core::id::DebateId;
use tokio::sync::{Notify, mpsc};

use crate::driver::{DriveError, Ended, Order};
use crate::engine_shared::EngineShared;
use crate::format_runtime::FormatRuntime;
use crate::live::Live;

/// Controls that may wait for one debate.
const ORDERS_MAX: usize = 16;

/// How long it takes until a debate that waits is looked at again, where its deadline stands still or cannot be read.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The way to a debate that is kept here.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) orders: mpsc::Sender<Order>,
    pub(crate) live: Live,
    /// Whose debate it is.
    pub(crate) tenant: Arc<str>,
    notify: Arc<Nudge>,
}

/// Notifies the task that keeps a debate that another writer appended to its log.
#[derive(Debug, Default)]
struct Nudge {
    is_given: AtomicBool,
    notify: Notify,
}

impl Held {
    /// Opens the way to a debate, and returns the other end of it.
    pub(crate) fn new(tenant: &str) -> (Self, mpsc::Receiver<Order>) {
        let (orders, inbox) = mpsc::channel(ORDERS_MAX);
        (Self { orders, live: Live::default(), tenant: tenant.into(), notify: Arc::default() }, inbox)
    }

    /// Reports that another writer appended to the log: it is read again before the debate is released or paused.
    pub(crate) fn notify(&self) {
        self.notify.is_given.store(true, Ordering::Release);
        self.notify.notify.notify_one();
    }

    /// Returns whether another writer appended to the log since the last call.
    pub(crate) fn take_nudge(&self) -> bool {
        self.notify.is_given.swap(false, Ordering::AcqRel)
    }

    async fn nudged(&self) {
        while !self.take_nudge() {
            self.notify.notify.notified().await;
        }
    }
}

/// Keeps a debate until it concludes, is lost to another writer, or the process shuts down; where debates are shared,
/// also until it rests.
///
/// # Errors
/// Driving it failed.
pub(crate) async fn keep(
    shared: &Arc<EngineShared>,
    served: &dyn FormatRuntime,
    debate: DebateId,
    held: &Held,
    inbox: &mut mpsc::Receiver<Order>,
) -> Result<Ended, DriveError> {
    let mut is_resting = false;
    let mut place = None;
    loop {
        // Whatever comes while it waits, it keeps its place in the line of its tenant.
        let place_kept =
            async { place.get_or_insert_with(|| Box::pin(shared.debates.take(&held.tenant))).await };
        let turn = tokio::select! {
            biased;
            () = shared.shutdown.cancelled() => return Ok(Ended::ShutDown),
            Some(order) = inbox.recv() => {
                handle_control(shared, served, debate, order).await;
                is_resting = false;
                continue;
            }
            () = held.nudged() => {
                is_resting = false;
                continue;
            }
            turn = place_kept, if !is_resting => turn,
            () = falls_due(shared, served, debate), if !is_resting => {
                match served.check_deadline(shared, debate).await {
                    Ok(true) => return Ok(Ended::Concluded),
                    Ok(false) => {}
                    Err(error) => {
                        warn_of(debate, &error);
                        tokio::time::sleep(LOOK_AGAIN).await;
                    }
                }
                continue;
            }
        };
        place = None;
        let ended = served.drive(Arc::clone(shared), debate, held.live.clone(), inbox).await?;
        drop(turn);
        match ended {
            // Where debates are shared, the replica that resumes it drives it.
            Ended::Resting if shared.leasing.is_none() => is_resting = true,
            Ended::Resting | Ended::Concluded | Ended::ClaimLost | Ended::ShutDown | Ended::Unoffered => {
                return Ok(ended);
            }
        }
    }
}

/// Returns when a check of the deadline of a debate that waits has something to decide.
async fn falls_due(shared: &EngineShared, served: &dyn FormatRuntime, debate: DebateId) {
    loop {
        match served.due_at(&*shared.store, debate).await {
            Ok(Some(due)) => return tokio::time::sleep(shared.env.until(due)).await,
            Ok(None) => {}
            Err(error) => warn_of(debate, &error),
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn warn_of(debate: DebateId, error: &(dyn std::error::Error + 'static)) {
    tracing::warn!(%debate, error, "cannot see to the deadline of a debate that waits");
}

/// Carries out a control on a debate that is not being driven.
async fn handle_control(shared: &EngineShared, served: &dyn FormatRuntime, debate: DebateId, order: Order) {
    let result = served.control(shared, debate, &order.control, &order.actor).await;
    // The caller may be gone; the debate does not depend on it.
    let _unheard = order.reply.send(result.map(|_| ()));
}
