//! An engine with a viewer, and models that speak when a test lets them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::{Extension, Router};
use debate_core::chain::hash_of;
use debate_core::codec::Author;
use debate_core::envelope::Envelope;
use debate_core::format::Format;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept_bytes};
use debate_core::id::{DebateId, Seq};
use debate_engine::{Engine, Hedge, Hedging, Resumable, Settings, Start, Tenant};
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, Debater, ModelError, ScriptedModel, SimulatedModel, debater,
};
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::review::ReviewPrompts;
use debate_prompts::roundtable::RoundtablePrompts;
use debate_store::{Append, EventStore, MemoryStore};
use debate_viewer::{Viewer, viewer};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// Longer than anything here takes; reached only where something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// What would do harm if a page took it for anything but text: a script, a handler, an end of a script, signs that turn
/// text around, a word without an end. The model answers a question that holds it with nothing else.
pub(crate) const HOSTILE: &str = "poisoned <script>document.title='harmed'</script><img src=x onerror=\"document.title='harmed'\">\
     </script>{{7*7}} \u{202e}turned\u{2066} \u{5e9}\u{5dc}\u{5d5}\u{5dd} wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww\
     wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww";

/// A simulated model that stops twice in every answer until it is let go on.
struct Gated {
    model: SimulatedModel<Debater>,
    gate: Arc<Semaphore>,
}

#[async_trait]
impl ChatModel for Gated {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let mut reply = self.model.complete(request, &mut |_: &str| {}).await?;
        if request.messages.iter().any(|message| message.content.contains("poisoned")) {
            reply.text = match serde_json::from_str::<Value>(&reply.text) {
                Ok(json) => poisoned(json).to_string(),
                Err(_) => format!("{} {HOSTILE}", reply.text),
            };
        }
        let half = reply.text.floor_char_boundary(reply.text.len() / 2);
        let most = reply.text.floor_char_boundary(reply.text.len() * 3 / 4);
        chunks.push(&reply.text[..half]);
        self.gate.acquire().await.expect("the gate is never closed").forget();
        chunks.push(&reply.text[half..most]);
        self.gate.acquire().await.expect("the gate is never closed").forget();
        chunks.push(&reply.text[most..]);
        Ok(reply)
    }
}

/// Adds harm to every text that is more than a name.
pub(crate) fn poisoned(json: Value) -> Value {
    match json {
        Value::String(text) if text.contains(' ') => Value::String(format!("{text} {HOSTILE}")),
        Value::Array(items) => items.into_iter().map(poisoned).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, poisoned(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => json,
    }
}

pub(crate) struct House {
    pub(crate) engine: Engine,
    pub(crate) viewer: Viewer,
    /// The data as the only tenant sees it.
    pub(crate) data: Router,
    gate: Arc<Semaphore>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Whether the server may drop the stream when the client does not read it.
    pub(crate) resumable: bool,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl House {
    /// Opens a house whose model stops in the middle of what it says.
    pub(crate) fn quiet() -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let model = Gated { model: debater("simulated:7".parse().unwrap()), gate: Arc::clone(&gate) };
        Self::of(Arc::new(MemoryStore::new()), Arc::new(model), gate)
    }

    /// Opens a house with a store, whose model speaks freely.
    pub(crate) fn with(store: Arc<dyn EventStore>) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        Self::of(store, Arc::new(debater("simulated:7".parse().unwrap())), gate)
    }

    /// Opens a house whose model says the same to everything.
    pub(crate) fn saying(words: &str) -> Self {
        let words = ChatReply::new("scripted", words.to_owned());
        let model = ScriptedModel::by(move |_| words.clone());
        Self::of(Arc::new(MemoryStore::new()), Arc::new(model), Arc::new(Semaphore::new(0)))
    }

    fn of(store: Arc<dyn EventStore>, model: Arc<dyn ChatModel>, gate: Arc<Semaphore>) -> Self {
        // A model that is kept waiting is neither given up nor asked a second time meanwhile.
        let hedging = Hedging { after: Hedge::Off, ..Hedging::default() };
        let settings =
            Settings { call_time: Duration::from_secs(600).into(), hedging, ..Settings::default() };
        let engine = Engine::builder(store, model)
            .format(PredictionPrompts)
            .format(DeliberationPrompts)
            .format(RoundtablePrompts)
            .format(ReviewPrompts)
            .format(InvestigationPrompts)
            .settings(settings)
            .build();
        let viewer = viewer(engine.clone(), CancellationToken::new());
        let data = viewer.data.clone().layer(Extension(Tenant::default()));
        Self { engine, viewer, data, gate }
    }

    /// Opens a house whose model speaks freely.
    pub(crate) fn open() -> Self {
        let house = Self::quiet();
        house.let_all_speak();
        house
    }

    /// Lets so many pauses in answers come to their end.
    pub(crate) fn let_speak(&self, pauses: usize) {
        self.gate.add_permits(pauses);
    }

    /// Lets every answer come to its end from now on.
    pub(crate) fn let_all_speak(&self) {
        self.gate.add_permits(1_000_000);
    }

    /// Lets no answer come to its end any more.
    pub(crate) fn hush(&self) {
        self.gate.forget_permits(usize::MAX);
    }

    /// Opens a debate.
    pub(crate) async fn start(&self, request: &Value) -> DebateId {
        self.start_for("", request).await
    }

    /// Opens a debate of a tenant.
    pub(crate) async fn start_for(&self, tenant: &str, request: &Value) -> DebateId {
        match accept_bytes(request.to_string().as_bytes()).unwrap() {
            AcceptedRequest::Prediction(accepted) => self.begin(tenant, *accepted).await,
            AcceptedRequest::Deliberation(accepted) => self.begin(tenant, *accepted).await,
            AcceptedRequest::Roundtable(accepted) => self.begin(tenant, *accepted).await,
            AcceptedRequest::Review(accepted) => self.begin(tenant, *accepted).await,
            AcceptedRequest::Investigation(accepted) => self.begin(tenant, *accepted).await,
        }
    }

    async fn begin<F: Format>(&self, tenant: &str, accepted: Accepted<F>) -> DebateId {
        let Accepted { config, brief, limits, digest, .. } = accepted;
        let author = Author { tenant: tenant.to_owned(), actor: "test".to_owned(), trace: None };
        let start = Start::<F> { config, brief, limits, request_digest: digest, request_id: None, author };
        self.engine.start(start).await.unwrap().debate
    }

    /// Waits for a debate's conclusion.
    pub(crate) async fn concluded(&self, debate: DebateId) {
        assert!(self.engine.concluded(debate, PATIENCE).await.unwrap(), "it ends in time");
    }

    /// Holds a debate to its end.
    pub(crate) async fn held(&self, request: &Value) -> DebateId {
        let debate = self.start(request).await;
        self.concluded(debate).await;
        debate
    }

    /// Appends an impossible event with a valid hash to a debate's log, as anyone with access to the store
    /// can. Returns the sequence number of the event.
    pub(crate) async fn forge(&self, debate: DebateId) -> Seq {
        let log = self.engine.log(debate, None).await.unwrap();
        let head = log.last().unwrap();
        let mut forged = Envelope { seq: head.seq.next(), ..log[0].clone() };
        forged.hash = hash_of(&head.hash, &forged);
        self.engine.store().append(Append::new(forged.stream, head.seq, vec![forged])).await.unwrap();
        head.seq.next()
    }

    /// Asks for what a page shows.
    pub(crate) async fn data(&self, path: &str) -> Answer {
        asked(&self.data, path, &[]).await
    }
}

/// Asks for something below `/viewer`.
pub(crate) async fn asked(router: &Router, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::get(format!("/viewer{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let resumable = parts.extensions.get::<Resumable>().is_some();
    let body = tokio::time::timeout(PATIENCE, to_bytes(body, usize::MAX)).await.expect("an answer").unwrap();
    Answer { status: parts.status, headers: parts.headers, resumable, body: body.to_vec() }
}

pub(crate) fn prediction() -> Value {
    json!({
        "task_id": "t-1",
        "prediction_context": {
            "task": { "question": "Will the harbour freeze before January?" },
            "outcomes": [{ "id": "yes", "label": "Yes, it will" }, { "id": "no", "label": "No, it will not" }],
            "simulation_summary": { "final_distribution": [
                { "outcome_id": "yes", "probability": 0.3 }, { "outcome_id": "no", "probability": 0.7 }
            ] },
        },
        "config": { "rounds": 2, "roles": ["optimist", "pessimist", "judge"] },
        // A busy machine does not decide how a debate ends.
        "options": { "seed": 7, "limits": { "deadline_ms": 600_000 } },
    })
}

pub(crate) fn deliberation() -> Value {
    json!({
        "format": "deliberation",
        "topic": "Should the harbour be closed for the winter?",
        "participants": [{ "name": "pilot" }, { "name": "mayor" }],
        "orchestrator": { "name": "moderator" },
    })
}

pub(crate) fn roundtable() -> Value {
    json!({
        "format": "roundtable",
        "topic": "Should the harbour be rebuilt in stone?",
        "mode": "collaborative",
        "agents": [{ "name": "ada" }, { "name": "ben" }, { "name": "cy" }],
        "rounds": 2,
    })
}

pub(crate) fn review() -> Value {
    let operation =
        |op: &str, target: &str| json!({ "op": op, "target": target, "value": "Ask the pilot first." });
    let critique = |role: &str, operations: Value| json!({ "role": role, "operations": operations });
    json!({
        "format": "review",
        "original_prompt": "Plan the winter work on the pier.",
        "critiques": [
            critique("security", json!([operation("AddConstraint", "pier"), operation("AddConstraint", "crane")])),
            critique("testing", json!([operation("RemoveConstraint", "pier")])),
            critique("performance", json!([operation("RemoveConstraint", "crane")])),
        ],
        "debate": { "enabled": true, "min_conflicts_to_trigger": 1 },
    })
}

pub(crate) fn investigation() -> Value {
    json!({
        "format": "investigation", "problem": "The pier shakes whenever the ferry lands.",
        "investigators": ["ada", "ben"], "rounds": 2,
    })
}
