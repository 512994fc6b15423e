//! What both interfaces do, in the core's own types: start, read, list, follow, control.
//!
//! Every caller has a session of its own, and there is no other way to the engine: a caller sees the debates of its tenant,
//! and those of others are not there.

mod reading;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use debate_core::codec::Author;
use debate_core::envelope::Envelope;
use debate_core::fork::Change;
use debate_core::format::Format;
use debate_core::formats::accept::{Accepted, AcceptedRequest};
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Digest, Seq};
use debate_core::request::added::AddedRounds;
use debate_core::request::sizes::DEADLINE_MS;
use debate_core::request::{Violation, Violations};
use debate_engine::{
    Control, Engine, Fork, Redact, Redaction, ReviewersFolder, Start, Started, WatchError, Watched, fitting,
};
use debate_proto::v1;
use debate_store::EventStore;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use tonic::{Response, Status};
use tracing::Instrument as _;

use crate::access::Grant;
use crate::feed;
use crate::folding::Folding;
use crate::following::Wanted;
use crate::listing;
use crate::refusal::Refusal;
use crate::spending;
use crate::tokens::Scope;

/// Characters of a client's id of a request.
pub const REQUEST_ID_CHARS_MAX: usize = 128;

/// The last word on a valid request before it is opened: loads what it names, and may still refuse it.
///
/// It may block: it runs off the threads that serve requests.
pub type Admission = Arc<dyn Fn(&mut AcceptedRequest) -> Result<(), Violations> + Send + Sync>;

/// A further interface on the server's port: the routes that it adds, behind the same auth layer. Their scopes are rows of
/// the table of scopes.
pub type Mount = Arc<dyn Fn(Facade) -> Router + Send + Sync>;

/// What comes with a request to open a debate, apart from the debate itself.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// The client's id of the request; empty for none.
    pub request_id: String,
    /// Where the interface carries it.
    pub id_field: &'static str,
    /// W3C trace context.
    pub trace: Option<String>,
    /// When the client wants an end; the debate's deadline unless that is earlier.
    pub deadline: Option<Duration>,
    /// Whether the debate's deadline counts wall time, and not only the time in which a process drives it (rule K24).
    pub keeps_wall_time: bool,
    /// What is wrong with the rest of the request. It is reported together with what is wrong with the debate.
    pub violations: Vec<Violation>,
}

/// The engine as services use it.
#[derive(Clone)]
pub struct Facade {
    pub(crate) closing: CancellationToken,
    engine: Engine,
    /// Where proposals for prompts of reviewers are written; none where they cannot be asked for (rule V7).
    pub(crate) reviewers: Option<Arc<ReviewersFolder>>,
    admission: Admission,
    folding: Folding,
}

impl std::fmt::Debug for Facade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facade").finish_non_exhaustive()
    }
}

impl Facade {
    /// Returns the facade of an engine. Once `closing` is cancelled, no caller is kept waiting any more.
    #[must_use]
    pub fn new(engine: Engine, admission: Admission, closing: CancellationToken) -> Self {
        Self { closing, engine, reviewers: None, admission, folding: Folding::new() }
    }

    /// Returns the store of the engine.
    pub(crate) fn store(&self) -> &Arc<dyn EventStore> {
        self.engine.store()
    }

    /// Returns the session of the operator of this process: the only tenant, with every scope.
    #[must_use]
    pub fn own_session(&self, interface: &'static str) -> TenantSession {
        self.session(Arc::new(Grant::everything()), interface)
    }

    /// Returns the session of the sender of an HTTP request.
    ///
    /// # Errors
    /// The request did not pass the auth layer.
    pub fn session_of_http(
        &self,
        request: &axum::http::request::Parts,
        interface: &'static str,
    ) -> Result<TenantSession, Refusal> {
        let grant = request.extensions.get::<Arc<Grant>>().cloned();
        Ok(self.session(grant.ok_or(Refusal::Unauthenticated)?, interface))
    }

    /// Returns the session of a caller who uses the interface `grpc` or `rest`.
    pub(crate) fn session(&self, grant: Arc<Grant>, interface: &'static str) -> TenantSession {
        TenantSession { facade: self.clone(), grant, interface }
    }

    /// Returns the session of the sender of a gRPC request. The auth layer attaches a grant to every request that passes.
    pub(crate) fn session_of<T>(
        &self,
        request: &tonic::Request<T>,
        interface: &'static str,
    ) -> Result<TenantSession, Refusal> {
        let grant = request.extensions().get::<Arc<Grant>>().cloned();
        Ok(self.session(grant.ok_or(Refusal::Unauthenticated)?, interface))
    }
}

/// A caller's turn to use its token's total allowance; `None` if the token has no such limit.
type Turn = Option<OwnedMutexGuard<()>>;

/// Runs work that uses the allowance, or that must not be left half done, to its end, even if the caller goes away. No
/// other caller has the turn until the work is recorded.
async fn carried_out<T: Send + 'static>(
    turn: Turn,
    work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::spawn(async move { (work.await, turn).0 }.in_current_span()).await;
    done.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(error) => Err(Refusal::defect(&error)),
    })
}

/// What one caller can do.
#[derive(Clone)]
pub struct TenantSession {
    facade: Facade,
    grant: Arc<Grant>,
    interface: &'static str,
}

impl std::fmt::Debug for TenantSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TenantSession").field("interface", &self.interface).finish_non_exhaustive()
    }
}

impl TenantSession {
    /// Refuses a caller whose token does not reach so far.
    ///
    /// # Errors
    /// The token has neither the scope nor `admin`.
    pub fn check_scope(&self, scope: Scope) -> Result<(), Refusal> {
        if self.grant.may(scope) {
            return Ok(());
        }
        Err(Refusal::Forbidden { what: format!("the scope {scope}") })
    }

    /// Returns the name of the model that is asked where a request names none.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.engine().model_name()
    }

    /// Returns once the server ends.
    pub async fn closed(&self) {
        self.facade.closing.cancelled().await;
    }

    /// Returns the folder of reviewers, where proposals may be asked for (rule V7).
    pub(crate) fn reviewers(&self) -> Option<&ReviewersFolder> {
        self.facade.reviewers.as_deref()
    }

    /// Refuses a caller who belongs to one tenant: what follows from all debates is not for it.
    ///
    /// # Errors
    /// The caller's token names a tenant.
    pub(crate) fn check_sees_all_tenants(&self) -> Result<(), Refusal> {
        if self.grant.tenant.is_empty() {
            return Ok(());
        }
        Err(Refusal::Forbidden {
            what: "a token without tenant: reviews of all of them are summed up".to_owned(),
        })
    }

    /// Opens a debate of a request, or returns the one that the same request opened (rule K11).
    ///
    /// `read` receives what is wrong with what came with the request, and reports it together with what is wrong with the
    /// request itself.
    ///
    /// # Errors
    /// Everything that is wrong with the request, or why it cannot be opened for this caller now.
    pub async fn start(
        &self,
        read: impl FnOnce(Vec<Violation>) -> Result<AcceptedRequest, Violations>,
        opening: Opening,
    ) -> Result<Started, Refusal> {
        let reason = request_id_fault(&opening.request_id);
        let of_id = reason.map(|reason| Violation::new(opening.id_field, reason));
        let accepted = read(of_id.into_iter().chain(opening.violations.iter().cloned()).collect())?;
        self.check_format(accepted.format())?;
        let mut accepted = self.admit(accepted).await?;
        let turn = self.turn_to_spend().await;
        accepted.limits_mut().driven_time = !opening.keeps_wall_time;
        if let Some(deadline) = opening.deadline {
            let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
            accepted.limits_mut().shorten_deadline(deadline_ms.max(*DEADLINE_MS.start()));
        }
        let is_known = self.is_known(&opening.request_id, accepted.digest()).await?;
        if !is_known {
            spending::check_running(self.engine(), &self.grant, None).await?;
            if let Some(allowance) = spending::allowance(self.engine(), &self.grant, None).await? {
                allowance.apply(accepted.limits_mut())?;
            }
        }
        let session = self.clone();
        carried_out(turn, async move {
            match accepted {
                AcceptedRequest::Prediction(accepted) => session.open(*accepted, opening).await,
                AcceptedRequest::Deliberation(accepted) => session.open(*accepted, opening).await,
                AcceptedRequest::Roundtable(accepted) => session.open(*accepted, opening).await,
                AcceptedRequest::Review(accepted) => session.open(*accepted, opening).await,
                AcceptedRequest::Investigation(accepted) => session.open(*accepted, opening).await,
            }
        })
        .await
    }

    async fn admit(&self, mut accepted: AcceptedRequest) -> Result<AcceptedRequest, Refusal> {
        let admission = Arc::clone(&self.facade.admission);
        let admitted = tokio::task::spawn_blocking(move || admission(&mut accepted).map(|()| accepted));
        Ok(admitted.await.map_err(|error| Refusal::defect(&error))??)
    }

    async fn open<F: Format>(&self, accepted: Accepted<F>, opening: Opening) -> Result<Started, Refusal> {
        let Accepted { config, brief, limits, digest, .. } = accepted;
        let author = Author {
            tenant: self.grant.tenant.clone(),
            actor: self.actor().to_owned(),
            trace: opening.trace,
        };
        let request_id = Some(opening.request_id).filter(|id| !id.is_empty());
        let start = Start::<F> { config, brief, limits, request_digest: digest, request_id, author };
        Ok(self.engine().start(start).await?)
    }

    /// Returns whether this very request has opened a debate already.
    async fn is_known(&self, request_id: &str, digest: Digest) -> Result<bool, Refusal> {
        if request_id.is_empty() {
            return Ok(false);
        }
        let owner = self.engine().store().find_request(&self.grant.tenant, request_id).await?;
        Ok(owner.is_some_and(|owner| owner.body_hash == digest))
    }

    /// Returns a page of a list of debates, the newest first.
    ///
    /// # Errors
    /// The list cannot be asked for so, or not be read.
    pub async fn page(&self, request: &v1::ListDebatesRequest) -> Result<v1::ListDebatesResponse, Refusal> {
        listing::page(self.engine(), self.tenant(), request).await
    }

    /// Returns at most `limit` events of a debate's own log, those right after `after` and 2 MiB of them, and where it ends.
    ///
    /// # Errors
    /// The caller's tenant has no such debate, it has no event `after`, or it cannot be read.
    pub async fn log(&self, id: &str, after: Seq, limit: u32) -> Result<(Vec<Envelope>, Seq), Refusal> {
        let id = self.reach(id).await?;
        let store = self.engine().store();
        let head = store.head(id.into()).await?.ok_or_else(|| Refusal::NotFound(id.to_string()))?;
        if after > head.seq {
            return Err(Refusal::BeyondHead { debate: id, asked: after, head: head.seq });
        }
        let mut events = store.read(id.into(), after, limit).await?;
        events.truncate(fitting(events.iter().map(Envelope::text_bytes)));
        Ok((events, head.seq))
    }

    /// Follows a debate from after a sequence number; ends when it has concluded.
    ///
    /// # Errors
    /// The caller's tenant has no such debate, it has no event `after`, or it cannot be read.
    pub async fn watch(
        &self,
        id: &str,
        after: Seq,
        tokens: bool,
    ) -> Result<BoxStream<'static, Result<Watched, WatchError>>, Refusal> {
        let id = self.reach(id).await?;
        Ok(self.engine().watch(id, after, tokens).await?.boxed())
    }

    /// Returns whether there is nothing to follow after an event, which is the last one of a debate that has concluded.
    pub(crate) async fn is_over(&self, id: &str, after: Seq) -> Result<bool, Refusal> {
        let id = self.reach(id).await?;
        Ok(self.engine().is_over(id, after).await?)
    }

    /// Returns once a debate has concluded, or after `patience`, or when the server ends.
    pub(crate) async fn wait(&self, id: DebateId, patience: Duration) -> Result<(), Refusal> {
        tokio::select! {
            // The debate goes on when the server is back, so its name is worth more to the client than an error.
            () = self.facade.closing.cancelled() => {}
            concluded = self.engine().concluded(id, patience) => {
                concluded?;
            }
        }
        Ok(())
    }

    /// Carries out a control, and returns the debate as it is then.
    ///
    /// # Errors
    /// The caller's tenant has no such debate, or it is in no state for it.
    pub async fn control(&self, id: &str, control: Control) -> Result<AnyDebate, Refusal> {
        let debate = self.reach(id).await?;
        let turn = match &control {
            Control::Resume | Control::Continue { .. } => {
                self.turn_to_go_on(&self.debate(id, None).await?).await?
            }
            Control::Pause | Control::Cancel { .. } | Control::Resolve(_) => None,
        };
        let session = self.clone();
        carried_out(turn, async move {
            let done = session.engine().control(debate, control, session.actor()).await;
            done.map_err(|error| Refusal::of_control(debate, error))
        })
        .await?;
        self.debate(id, None).await
    }

    /// Follows all debates of the tenant.
    pub(crate) async fn watch_all(
        &self,
        request: &v1::WatchDebatesRequest,
        wanted: Wanted,
    ) -> Result<Response<BoxStream<'static, Result<v1::WatchDebatesResponse, Status>>>, Refusal> {
        let store = Arc::clone(self.engine().store());
        let tenant = self.grant.tenant.clone();
        let after = feed::begin(&*store, &tenant, request).await?;
        Ok(feed::follow_all(store, tenant, after, wanted, &self.facade.closing))
    }

    /// Adds rounds to a concluded debate, with a question of their own or without (rule K17), and returns it as it is then.
    ///
    /// # Errors
    /// The caller's tenant has no such debate, it takes no more rounds, or they cost more than the caller may spend.
    pub async fn continue_debate(&self, id: &str, added: AddedRounds) -> Result<AnyDebate, Refusal> {
        let AddedRounds { rounds, focus } = added;
        self.control(id, Control::Continue { rounds, focus }).await
    }

    /// Opens a debate that goes on from an event of another with one thing changed (rule K14).
    pub(crate) async fn fork(&self, id: &str, at: Option<Seq>, change: Change) -> Result<DebateId, Refusal> {
        let parent = self.reach(id).await?;
        let debate = self.debate(id, None).await?;
        self.check_format(debate.format())?;
        let turn = self.turn_to_spend().await;
        spending::check_running(self.engine(), &self.grant, None).await?;
        if let Some(allowance) = spending::allowance(self.engine(), &self.grant, None).await? {
            allowance.check(debate.limits())?;
        }
        let (session, fork) = (self.clone(), Fork { parent, at, change, actor: self.actor().to_owned() });
        carried_out(turn, async move {
            let forked =
                session.engine().fork(fork).await.map_err(|error| Refusal::of_fork(parent, error))?;
            forked.debate.ok_or_else(|| Refusal::defect(&"a fork has no name"))
        })
        .await
    }

    /// Deletes words of a debate for good: of one event, or of all.
    pub(crate) async fn redact(&self, id: &str, what: Redact) -> Result<Redaction, Refusal> {
        let debate = self.reach(id).await?;
        let session = self.clone();
        carried_out(None, async move {
            let done = session.engine().redact(debate, what, session.actor()).await;
            done.map_err(|error| Refusal::of_redaction(debate, error))
        })
        .await
    }

    /// Returns the tenant whose debates are seen here.
    pub(crate) fn tenant(&self) -> &str {
        &self.grant.tenant
    }

    /// Returns which debate an id names: one of this caller's tenant.
    async fn reach(&self, id: &str) -> Result<DebateId, Refusal> {
        let debate: DebateId = id.parse().map_err(|_| Refusal::NotFound(id.to_owned()))?;
        self.engine().reach(debate, &self.grant.tenant).await?;
        Ok(debate)
    }

    /// Waits for the caller's turn to use its token's total allowance. A token without such a limit does not wait.
    async fn turn_to_spend(&self) -> Turn {
        let limits = &self.grant.limits;
        if limits.day_cost_micros_max.is_none() && limits.debates_at_once.is_none() {
            return None;
        }
        Some(Arc::clone(&self.grant.spending).lock_owned().await)
    }

    /// Waits for a turn to let a debate go on that does not run, and checks that the token allows it.
    async fn turn_to_go_on(&self, debate: &AnyDebate) -> Result<Turn, Refusal> {
        self.check_format(debate.format())?;
        let turn = self.turn_to_spend().await;
        spending::check_running(self.engine(), &self.grant, Some(debate.id())).await?;
        if let Some(allowance) = spending::allowance(self.engine(), &self.grant, Some(debate.id())).await? {
            allowance.check(debate.limits())?;
        }
        Ok(turn)
    }

    /// Refuses a token whose money is limited: what this costs is counted nowhere.
    pub(crate) fn check_money_is_free(&self) -> Result<(), Refusal> {
        let limits = &self.grant.limits;
        if limits.debate_cost_micros_max.is_none() && limits.day_cost_micros_max.is_none() {
            return Ok(());
        }
        Err(Refusal::Forbidden {
            what: "leave to spend what is not counted: its money is limited".to_owned(),
        })
    }

    fn check_format(&self, format: &str) -> Result<(), Refusal> {
        if self.grant.may_start(format) {
            return Ok(());
        }
        Err(Refusal::Forbidden { what: format!("the format {format}") })
    }

    /// Returns the name under which the log has what this caller does.
    pub(crate) fn actor(&self) -> &str {
        if self.grant.name.is_empty() { self.interface } else { &self.grant.name }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.facade.engine
    }
}

/// Says what is wrong with a client's id of a request, if anything is; an empty one is none.
#[must_use]
pub fn request_id_fault(id: &str) -> Option<String> {
    let is_plain = id.chars().all(|c| c.is_ascii_graphic());
    (!is_plain || id.len() > REQUEST_ID_CHARS_MAX).then(|| {
        format!("must have at most {REQUEST_ID_CHARS_MAX} printable ASCII characters without spaces")
    })
}
