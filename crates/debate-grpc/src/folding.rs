//! Reading and folding of debates on threads of their own: the threads that serve stay free for everybody's short requests.
//! As many debates are folded at once as there are processors, and the tenants get their turns in a ring.

use std::future::Future;
use std::thread;

use debate_engine::FairSemaphore;
use tokio::runtime::Handle;
use tokio::task;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::refusal::Refusal;

/// The turns of one process. Cheap to clone; all clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Folding(FairSemaphore);

impl Folding {
    /// Makes a turn for each processor.
    pub(crate) fn new() -> Self {
        Self::of(thread::available_parallelism().map_or(1, usize::from))
    }

    fn of(turns: usize) -> Self {
        Self(FairSemaphore::new(turns))
    }

    /// Runs a tenant's work when its turn comes. The work ends at its next await once its caller has stopped waiting.
    ///
    /// # Errors
    /// Those of the work; [`Refusal::Defect`] where it panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        tenant: &str,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = self.0.take(tenant).await;
        let left = CancellationToken::new();
        let _leaves = left.clone().drop_guard();
        let (handle, work) = (Handle::current(), work.in_current_span());
        let done = task::spawn_blocking(move || {
            let _turn = turn;
            handle.block_on(left.run_until_cancelled(work))
        });
        let done = done.await.map_err(|error| Refusal::defect(&error))?;
        done.unwrap_or(Err(Refusal::Unavailable))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn long_work_does_not_block_serving_and_turns_limit_it() {
        let folding = Folding::of(2);
        let (busy, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = || {
            let (busy, most) = (Arc::clone(&busy), Arc::clone(&most));
            async move {
                most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // It never lets go of its thread.
                thread::sleep(Duration::from_millis(40));
                busy.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        };
        let works = (0..10).map(|_| folding.run("a", work()));
        // This runtime has one thread: it would be kept from ticking.
        let ticks = async {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            busy.load(Ordering::SeqCst)
        };
        let (done, busy_after_ticks) = tokio::join!(join_all(works), ticks);
        assert!(done.iter().all(Result::is_ok));
        assert_eq!((most.load(Ordering::SeqCst), busy_after_ticks > 0), (2, true));
    }

    #[tokio::test]
    async fn turns_rotate_among_tenants_and_abandoned_work_ends() {
        let folding = Folding::of(1);
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let work = |tenant: &'static str| {
            let order = Arc::clone(&order);
            async move {
                order.lock().unwrap().push(tenant);
                tokio::time::sleep(Duration::from_millis(5)).await;
                Ok(())
            }
        };
        let asked = ["a", "a", "a", "b"].map(|tenant| folding.run(tenant, work(tenant)));
        join_all(asked).await;
        assert_eq!(*order.lock().unwrap(), ["a", "a", "b", "a"]);
        let endless = folding.run("a", std::future::pending::<Result<(), Refusal>>());
        assert!(tokio::time::timeout(Duration::from_millis(20), endless).await.is_err());
        folding.run("b", async { Ok(()) }).await.unwrap();
    }

    #[tokio::test]
    async fn work_that_panics_is_a_defect() {
        let folding = Folding::of(1);
        let panicking = async { if true { panic!("sesame") } else { Ok(()) } };
        assert!(matches!(folding.run("a", panicking).await, Err(Refusal::Defect)));
        folding.run("a", async { Ok(()) }).await.unwrap();
    }
}
