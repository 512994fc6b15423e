//! A server on a port of its own, with a model that answers when the test lets it.

#![allow(dead_code, reason = "each test binary uses its own part of the house")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use debate_engine::{Engine, Price, Prices};
use debate_grpc::{ServeError, ServeOptions, serve};
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, Debater, ModelError, SimulatedModel, debater,
};
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::review::ReviewPrompts;
use debate_prompts::roundtable::RoundtablePrompts;
use debate_store::MemoryStore;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

/// Longer than anything here takes; reached only where something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What the model costs that most houses have.
pub(crate) const PRICE: Price = Price { input: 1_000_000, cached_input: 1_000_000, output: 5_000_000 };

/// A simulated model whose answers wait for permission.
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
        self.gate.acquire().await.expect("the gate is never closed").forget();
        self.model.complete(request, chunks).await
    }
}

pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    /// What the engine's debates are kept in, unless a test brought its own engine.
    pub(crate) store: Arc<MemoryStore>,
    gate: Arc<Semaphore>,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl House {
    /// Opens a house whose model answers at once.
    pub(crate) async fn open() -> Self {
        let house = Self::with(ServeOptions::default(), "simulated:7").await;
        house.let_all_answer();
        house
    }

    /// Opens a house whose model answers when it is let.
    pub(crate) async fn quiet() -> Self {
        Self::with(ServeOptions::default(), "simulated:7").await
    }

    pub(crate) async fn with(options: ServeOptions, model: &str) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let model = Gated { model: debater(model.parse().unwrap()), gate: Arc::clone(&gate) };
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::builder(Arc::clone(&store) as _, Arc::new(model))
            .format(PredictionPrompts)
            .format(DeliberationPrompts)
            .format(RoundtablePrompts)
            .format(ReviewPrompts)
            .format(InvestigationPrompts)
            .prices(Prices::from_iter([("simulated:7".to_owned(), PRICE)]))
            .build();
        Self { gate, store, ..Self::of(engine, options).await }
    }

    /// Serves an engine.
    pub(crate) async fn of(engine: Engine, options: ServeOptions) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let signal = shutdown.clone().cancelled_owned();
        let serving = tokio::spawn(serve(listener, engine.clone(), options, signal));
        Self { address, engine, store: Arc::default(), gate, shutdown, serving }
    }

    /// Lets so many more calls answer.
    pub(crate) fn let_answer(&self, calls: usize) {
        self.gate.add_permits(calls);
    }

    /// Lets every call answer from now on.
    pub(crate) fn let_all_answer(&self) {
        self.gate.add_permits(1_000_000);
    }

    /// Lets no call answer any more.
    pub(crate) fn forbid_answers(&self) {
        self.gate.forget_permits(usize::MAX);
    }

    pub(crate) async fn channel(&self) -> Channel {
        Channel::from_shared(format!("http://{}", self.address)).unwrap().connect().await.unwrap()
    }

    /// Begins to shut down.
    pub(crate) fn shut_down(&self) {
        self.shutdown.cancel();
    }

    /// Waits for the server's end.
    pub(crate) async fn ended(self) -> Result<(), ServeError> {
        self.shutdown.cancel();
        tokio::time::timeout(PATIENCE, self.serving).await.expect("the server ends").unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"").await
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.ask("POST", "/api/v1/reasoning/debate", headers, body).await
    }

    /// Sends a request over a connection of its own, byte by byte as HTTP/1.1 has it.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses a long body may not read it to its end.
        let _unread = stream.write_all(body).await;
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an answer");
        assert!(read.is_ok() || !bytes.is_empty(), "{read:?}");
        Answer::parse(&bytes)
    }
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_lowercase(), value.trim().to_owned())
        };
        Self { status, headers: lines.map(header).collect(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn debate_id(&self) -> String {
        self.json()["debate_id"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// A short request: two outcomes, two rounds, two roles and the judge.
pub(crate) fn request() -> Value {
    json!({
        "task_id": "t-1",
        "prediction_context": {
            "task": {"question": "Will the harbour freeze before January?"},
            "outcomes": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}],
            "simulation_summary": {"final_distribution": [
                {"outcome_id": "yes", "probability": 0.3}, {"outcome_id": "no", "probability": 0.7}
            ]},
        },
        "config": {"rounds": 2, "roles": ["optimist", "pessimist", "judge"]},
        "options": {"seed": 7},
    })
}
