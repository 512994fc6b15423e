//! What both interfaces do, in the core's own types: start, read, list, end.

use std::sync::Arc;

use debate_core::codec::Author;
use debate_core::format::Format;
use debate_core::formats::accept::{Accepted, AcceptedRequest};
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Seq};
use debate_core::request::{Violation, Violations};
use debate_engine::{Control, Engine, Start, Started};
use tokio_util::sync::CancellationToken;

use crate::refusal::Refusal;

/// Characters of a client's id of a request.
const REQUEST_ID_CHARS_MAX: usize = 128;

/// The last word on a valid request before it is opened: loads what it names, and may still refuse it.
///
/// It may take its time; it runs beside the other work.
pub type Admission = Arc<dyn Fn(&mut AcceptedRequest) -> Result<(), Violations> + Send + Sync>;

/// Who asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    /// The interface that is used: `grpc` or `rest`.
    pub(crate) interface: &'static str,
    /// The client's id of the request; empty for none.
    pub(crate) request_id: String,
    /// W3C trace context.
    pub(crate) trace: Option<String>,
}

/// The engine as services use it.
#[derive(Clone)]
pub(crate) struct Facade {
    pub(crate) engine: Engine,
    pub(crate) closing: CancellationToken,
    admission: Admission,
}

impl Facade {
    pub(crate) fn new(engine: Engine, admission: Admission, closing: CancellationToken) -> Self {
        Self { engine, closing, admission }
    }

    /// Opens a debate of a request that was read, or returns the one that the same request opened (rule K11).
    ///
    /// `id_field` is where the interface carries the request id.
    pub(crate) async fn start(
        &self,
        read: Result<AcceptedRequest, Violations>,
        caller: Caller,
        id_field: &str,
    ) -> Result<Started, Refusal> {
        let accepted = match (read, request_id_violation(&caller.request_id, id_field)) {
            (Ok(accepted), None) => accepted,
            (Ok(_), Some(violation)) => return Err(Violations::from(violation).into()),
            (Err(violations), None) => return Err(violations.into()),
            (Err(mut violations), Some(violation)) => {
                violations.0.insert(0, violation);
                return Err(violations.into());
            }
        };
        match self.admit(accepted).await? {
            AcceptedRequest::Prediction(accepted) => self.open(*accepted, caller).await,
            AcceptedRequest::Deliberation(accepted) => self.open(*accepted, caller).await,
            AcceptedRequest::Investigation(accepted) => self.open(*accepted, caller).await,
        }
    }

    async fn admit(&self, mut accepted: AcceptedRequest) -> Result<AcceptedRequest, Refusal> {
        let admission = Arc::clone(&self.admission);
        let admitted = tokio::task::spawn_blocking(move || admission(&mut accepted).map(|()| accepted));
        let admitted = admitted.await.map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "admission failed");
            Refusal::Defect
        })?;
        Ok(admitted?)
    }

    async fn open<F: Format>(&self, accepted: Accepted<F>, caller: Caller) -> Result<Started, Refusal> {
        let Accepted { config, brief, limits, digest } = accepted;
        let author =
            Author { tenant: String::new(), actor: caller.interface.to_owned(), trace: caller.trace };
        let request_id = Some(caller.request_id).filter(|id| !id.is_empty());
        let start = Start::<F> { config, brief, limits, request_digest: digest, request_id, author };
        Ok(self.engine.start(start).await?)
    }

    /// Returns a debate as it was after event `at`, or as it is.
    pub(crate) async fn debate(&self, id: DebateId, at: Option<Seq>) -> Result<AnyDebate, Refusal> {
        let log = self.engine.history(id, at).await?;
        let head = log.last().map_or(Seq::START, |last| last.seq);
        if let Some(asked) = at.filter(|asked| *asked > head) {
            return Err(Refusal::BeyondHead { debate: id, asked, head });
        }
        AnyDebate::replay(&log).map_err(|error| Refusal::of_replay(id, &error))
    }

    /// Ends a debate with what there is (rule K9).
    pub(crate) async fn cancel(
        &self,
        id: DebateId,
        reason: String,
        interface: &str,
    ) -> Result<AnyDebate, Refusal> {
        let cancel = Control::Cancel { reason };
        self.engine.control(id, cancel, interface).await.map_err(|error| Refusal::of_control(id, error))?;
        self.debate(id, None).await
    }
}

/// Reads a debate's id; what is none cannot name a debate.
pub(crate) fn debate_id(text: &str) -> Result<DebateId, Refusal> {
    text.parse().map_err(|_| Refusal::NotFound(text.to_owned()))
}

/// Reads the W3C trace context of a header, as far as it has the shape of one.
pub(crate) fn trace(header: Option<&str>) -> Option<String> {
    let text = header?;
    let fits = |c: char| c.is_ascii_hexdigit() || c == '-';
    (text.len() == 55 && text.chars().all(fits)).then(|| text.to_owned())
}

fn request_id_violation(id: &str, field: &str) -> Option<Violation> {
    let is_plain = id.chars().all(|c| c.is_ascii_graphic());
    (!is_plain || id.len() > REQUEST_ID_CHARS_MAX).then(|| Violation {
        field: field.to_owned(),
        reason: format!("must have at most {REQUEST_ID_CHARS_MAX} printable ASCII characters without spaces"),
    })
}
