//! A semaphore that all tenants share fairly. If more callers wait than there are turns, tenants are served
//! round-robin, and the callers of one tenant in order of arrival. A tenant with many calls therefore delays
//! its own calls, not those of others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A number of turns. Cheap to clone; all clones share them.
#[derive(Debug, Clone)]
pub struct FairSemaphore(Arc<Mutex<Queue>>);

/// One turn, given on when it is dropped.
#[derive(Debug)]
pub struct Turn {
    /// None where it was never taken up.
    turns: Option<FairSemaphore>,
}

/// The free turns, and the requests that wait for one.
#[derive(Debug, Default)]
struct Queue {
    free: usize,
    lines: HashMap<String, VecDeque<oneshot::Sender<Turn>>>,
    /// Those who have a line, the next to be served first.
    ring: VecDeque<String>,
}

impl FairSemaphore {
    /// Makes so many turns.
    #[must_use]
    pub fn new(turns: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue { free: turns, ..Queue::default() })))
    }

    /// Waits for a turn of a tenant. A caller that stops waiting does not delay other callers.
    pub async fn take(&self, tenant: &str) -> Turn {
        let given = {
            let mut queue = self.queue();
            if queue.take_free() {
                return self.turn();
            }
            queue.join(tenant)
        };
        given.await.expect("a caller leaves the queue only with a turn, and `self` keeps the queue")
    }

    /// Returns a turn that no caller waits for, if there is one.
    #[must_use]
    pub fn try_take(&self) -> Option<Turn> {
        self.queue().take_free().then(|| self.turn())
    }

    /// Gives a turn to the next who still waits for one.
    fn give_on(&self) {
        loop {
            let next = {
                let mut queue = self.queue();
                let next = queue.next();
                queue.free += usize::from(next.is_none());
                next
            };
            let Some(next) = next else { return };
            match next.send(self.turn()) {
                Ok(()) => return,
                Err(mut untaken) => untaken.turns = None,
            }
        }
    }

    fn turn(&self) -> Turn {
        Turn { turns: Some(self.clone()) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.give_on();
        }
    }
}

impl Queue {
    fn take_free(&mut self) -> bool {
        let is_free = self.free > 0;
        self.free -= usize::from(is_free);
        is_free
    }

    fn join(&mut self, tenant: &str) -> oneshot::Receiver<Turn> {
        let (give, given) = oneshot::channel();
        if !self.lines.contains_key(tenant) {
            self.ring.push_back(tenant.to_owned());
        }
        let line = self.lines.entry(tenant.to_owned()).or_default();
        if line.len() == line.capacity() {
            // Before it grows, those who wait no more are let go.
            line.retain(|waiting| !waiting.is_closed());
        }
        line.push_back(give);
        given
    }

    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        while let Some(tenant) = self.ring.pop_front() {
            let Some(line) = self.lines.get_mut(&tenant) else { continue };
            // It is the tenant's turn even if some of its callers have stopped waiting.
            while line.front().is_some_and(oneshot::Sender::is_closed) {
                line.pop_front();
            }
            let next = line.pop_front();
            if line.is_empty() {
                self.lines.remove(&tenant);
            } else {
                self.ring.push_back(tenant);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;

    fn waiting(turns: &FairSemaphore, tenant: &'static str) -> BoxFuture<'static, Turn> {
        let turns = turns.clone();
        let mut waiting = async move { turns.take(tenant).await }.boxed();
        assert!((&mut waiting).now_or_never().is_none(), "there was a turn for {tenant}");
        waiting
    }

    #[test]
    fn tenants_are_served_in_a_ring_and_each_ones_own_as_they_came() {
        let turns = FairSemaphore::new(1);
        let mut turn = turns.take("busy").now_or_never();
        let mut line: Vec<_> = ["busy", "busy", "busy", "other", "third", "other"]
            .into_iter()
            .enumerate()
            .map(|(place, tenant)| (place, tenant, waiting(&turns, tenant)))
            .collect();
        let mut served = Vec::new();
        while !line.is_empty() {
            drop(turn.take());
            let next = line.iter_mut().enumerate().find_map(|(index, (place, tenant, waiting))| {
                waiting.now_or_never().map(|given| (index, (*place, *tenant), given))
            });
            let (index, who, given) = next.unwrap();
            turn = Some(given);
            drop(line.remove(index));
            served.push(who);
        }
        let expected = [(0, "busy"), (3, "other"), (4, "third"), (1, "busy"), (5, "other"), (2, "busy")];
        assert_eq!(served, expected);
    }

    #[test]
    fn a_turn_is_lost_neither_on_those_who_stop_waiting_nor_on_those_who_never_look() {
        let turns = FairSemaphore::new(1);
        let turn = turns.take("a").now_or_never();
        drop(waiting(&turns, "b"));
        let never_looks = waiting(&turns, "c");
        drop(turn);
        assert!(turns.take("d").now_or_never().is_none(), "it is there for the one who does not look");
        drop(never_looks);
        assert!(turns.take("d").now_or_never().is_some());
    }

    #[test]
    fn those_who_stop_waiting_take_no_turn_of_their_tenants() {
        let turns = FairSemaphore::new(1);
        let turn = turns.take("busy").now_or_never();
        drop([waiting(&turns, "other"), waiting(&turns, "other")]);
        let (other, busy) = (waiting(&turns, "other"), waiting(&turns, "busy"));
        drop(turn);
        assert!(busy.now_or_never().is_none() && other.now_or_never().is_some());
    }

    #[test]
    fn those_who_stop_waiting_take_no_room() {
        let turns = FairSemaphore::new(0);
        for _ in 0..10_000 {
            drop(waiting(&turns, "a"));
        }
        assert!(turns.queue().lines["a"].len() < 10);
    }
}
