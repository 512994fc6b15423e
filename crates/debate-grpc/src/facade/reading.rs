//! Reading whole debates: folding, checking and comparing them, off the threads that serve requests.

use debate_core::envelope::{Envelope, StreamId};
use debate_core::formats::any::AnyDebate;
use debate_core::id::Seq;
use debate_engine::{Verification, exported_events, exported_streams};
use debate_proto::v1;

use super::TenantSession;
use crate::refusal::Refusal;
use crate::to_proto;

impl TenantSession {
    /// Returns a debate as it was after event `at`, or as it is.
    ///
    /// # Errors
    /// The caller's tenant has no such debate, it has no such event, or it cannot be read.
    pub async fn debate(&self, id: &str, at: Option<Seq>) -> Result<AnyDebate, Refusal> {
        self.read(id, at, Ok).await
    }

    /// Reads a debate as it was after event `at`, or as it is, and shows it. Both run off the threads that serve requests.
    ///
    /// # Errors
    /// As [`TenantSession::debate`], and those of `show`.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        id: &str,
        at: Option<Seq>,
        show: impl FnOnce(AnyDebate) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let id = self.reach(id).await?;
        let engine = self.engine().clone();
        let work = async move {
            let log = engine.history(id, at).await?;
            let head = log.last().map_or(Seq::START, |last| last.seq);
            if let Some(asked) = at.filter(|asked| *asked > head) {
                return Err(Refusal::BeyondHead { debate: id, asked, head });
            }
            show(AnyDebate::replay(&log).map_err(|error| Refusal::of_replay(id, &error))?)
        };
        self.facade.folding.run(self.tenant(), work).await
    }

    /// Checks a debate.
    pub(crate) async fn verify(&self, id: &str) -> Result<Verification, Refusal> {
        let (id, engine) = (self.reach(id).await?, self.engine().clone());
        let work = async move { Ok(engine.verify(id).await?) };
        self.facade.folding.run(self.tenant(), work).await
    }

    /// Returns how two debates differ.
    pub(crate) async fn compare(&self, a: &str, b: &str) -> Result<v1::DiffDebatesResponse, Refusal> {
        let (a, b, engine) = (self.reach(a).await?, self.reach(b).await?, self.engine().clone());
        let work = async move {
            let (a, b) = (engine.history(a, None).await?, engine.history(b, None).await?);
            to_proto::comparison(&a, &b).map_err(|error| Refusal::defect(&error))
        };
        self.facade.folding.run(self.tenant(), work).await
    }

    /// Reads the streams of a bundle of a debate, each with its events, and writes them.
    pub(crate) async fn export<T: Send + 'static>(
        &self,
        id: &str,
        write: impl FnOnce(&[(StreamId, Vec<Envelope>)]) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (debate, engine) = (self.reach(id).await?, self.engine().clone());
        let work = async move {
            let (store, mut exported) = (&**engine.store(), Vec::new());
            for stream in exported_streams(store, debate.into()).await? {
                exported.push((stream, exported_events(store, stream).await?));
            }
            Ok(write(&exported))
        };
        self.facade.folding.run(self.tenant(), work).await
    }
}
