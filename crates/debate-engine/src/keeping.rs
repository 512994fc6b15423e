//! How a debate is kept by one process: it waits for its turn to be driven, is driven, and rests while it is paused.
//! Controls reach it in each of these, so that a queue delays no cancel and a pause takes nobody's turn.

use std::sync::Arc;

use debate_core::id::DebateId;
use tokio::sync::mpsc;

use crate::driver::{DriveError, Ended, Order};
use crate::house::House;
use crate::live::Live;
use crate::served::Served;

/// Keeps a debate until it concludes, is lost to another writer, or the process shuts down.
///
/// # Errors
/// Driving it failed.
pub(crate) async fn keep(
    house: &Arc<House>,
    served: &dyn Served,
    debate: DebateId,
    live: Live,
    inbox: &mut mpsc::Receiver<Order>,
) -> Result<Ended, DriveError> {
    let mut is_resting = false;
    loop {
        let slot = tokio::select! {
            biased;
            () = house.shutdown.cancelled() => return Ok(Ended::ShutDown),
            Some(order) = inbox.recv() => {
                obey(house, served, debate, order).await;
                is_resting = false;
                continue;
            }
            slot = house.debates.acquire(), if !is_resting => slot,
        };
        let ended = served.drive(Arc::clone(house), debate, live.clone(), inbox).await?;
        drop(slot);
        match ended {
            Ended::Resting => is_resting = true,
            Ended::Concluded | Ended::ClaimLost | Ended::ShutDown => return Ok(ended),
        }
    }
}

/// Carries out a control on a debate that is not being driven.
async fn obey(house: &House, served: &dyn Served, debate: DebateId, order: Order) {
    let result = served.control(house, debate, &order.control, &order.actor).await;
    // Whoever asked may be gone; the debate does not care.
    let _unheard = order.reply.send(result.map(|_| ()));
}
