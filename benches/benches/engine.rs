//! One whole debate at zero model latency, compared with 31 bare tasks that read the same replies; the prompt and the
//! reply of one argument; and the memory and processor time that a thousand debates in flight take.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use criterion::{Criterion, criterion_group};
use debate_core::call::Want;
use debate_core::codec::Author;
use debate_core::debate::Debate;
use debate_core::event::Opened;
use debate_core::format::Format;
use debate_core::formats::accept::{self, Accepted, AcceptedRequest};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::visible::Visible;
use debate_core::id::{DebateId, Timestamp};
use debate_core::prose::Prose;
use debate_engine::{Engine, Start};
use debate_llm::{ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, SimulatedConfig, debater};
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::Prompts;
use debate_store::MemoryStore;
use std::hint::black_box;
use uuid::Uuid;

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const REQUEST: &str = include_str!("../../examples/ice.json");
const PATIENCE: Duration = Duration::from_secs(120);
const IN_FLIGHT: usize = 1_000;
const IN_A_ROW: usize = 200;

/// Passes new requests on and remembers the replies, so that a debate held again costs no thought of a model's.
struct Remembering {
    model: Arc<dyn ChatModel>,
    replies: Mutex<HashMap<[u8; 32], ChatReply>>,
}

#[async_trait]
impl ChatModel for Remembering {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_simulated(&self) -> bool {
        self.model.is_simulated()
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let digest = request.prompt_digest();
        let known = self.replies.lock().expect("no thread panics").get(&digest).cloned();
        let reply = match known {
            Some(reply) => {
                chunks.push(&reply.text);
                reply
            }
            None => self.model.complete(request, chunks).await?,
        };
        self.replies.lock().expect("no thread panics").insert(digest, reply.clone());
        Ok(reply)
    }
}

fn model(spelling: &str) -> Arc<dyn ChatModel> {
    let config: SimulatedConfig = spelling.parse().expect("a spelling");
    Arc::new(debater(config))
}

fn request() -> Accepted<Prediction> {
    let AcceptedRequest::Prediction(accepted) = accept::accept(REQUEST).expect("the example is valid") else {
        panic!("the example is a prediction debate")
    };
    *accepted
}

fn engine(model: Arc<dyn ChatModel>) -> Engine {
    Engine::builder(Arc::new(MemoryStore::new()), model).format(PredictionPrompts).build()
}

async fn open(engine: &Engine, request: Accepted<Prediction>) -> DebateId {
    let Accepted { config, brief, limits, digest, .. } = request;
    let author = Author { tenant: String::new(), actor: "bench".to_owned(), trace: None };
    let start =
        Start::<Prediction> { config, brief, limits, request_digest: digest, request_id: None, author };
    engine.start(start).await.expect("it starts").debate
}

async fn whole_debate(engine: &Engine, request: Accepted<Prediction>) {
    let debate = open(engine, request).await;
    assert!(engine.concluded(debate, PATIENCE).await.expect("it is followed"), "it ends");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn remembering() -> Arc<Remembering> {
    Arc::new(Remembering { model: model("simulated:7"), replies: Mutex::default() })
}

fn debate(c: &mut Criterion) {
    let runtime = runtime();
    let model = remembering();
    let engine = engine(model.clone());
    let request = request();
    runtime.block_on(whole_debate(&engine, request.clone()));
    let digests: Vec<[u8; 32]> = model.replies.lock().expect("no thread panics").keys().copied().collect();
    assert_eq!(digests.len(), 31);
    let texts: Vec<String> =
        model.replies.lock().expect("no thread panics").values().map(|reply| reply.text.clone()).collect();
    let mut group = c.benchmark_group("whole_debate");
    group.sample_size(30);
    group.bench_function("floor", |b| b.iter(|| runtime.block_on(raw(&texts))));
    group.bench_function("debate_memory_store", |b| {
        b.iter(|| runtime.block_on(whole_debate(&engine, request.clone())));
    });
    group.finish();
}

/// The least that any orchestrator does: a task for each call, its reply read as JSON.
async fn raw(texts: &[String]) {
    for text in texts {
        let text = text.clone();
        let read = tokio::spawn(async move { serde_json::from_str::<serde_json::Value>(&text).is_ok() });
        black_box(read.await.expect("it runs"));
    }
}

fn words(c: &mut Criterion) {
    let Accepted { config, brief, limits, digest, .. } = request();
    let prose = Prose::new(brief);
    let debate = DebateId(Uuid::from_u128(1));
    let format = Prediction::NAME.to_owned();
    let opened =
        Opened::<Prediction> { format, debate, request_digest: digest, limits, config, models: None, prose };
    let at = Timestamp(0);
    let mut state = Debate::opened(&opened, at);
    for event in &opened.decide(at).expect("it opens")[1..] {
        state.apply(at, event).expect("it applies");
    }
    let want: Want = state.wanted_work()[0].want().clone();
    let visible: Visible = Prediction::visible(&state, &want);
    let prompts = PredictionPrompts;
    let prompt = prompts.render(&visible, &want, &[]).expect("it fits");
    let reply = runtime().block_on(async {
        let messages = prompt.messages.iter().map(|message| match message.speaker {
            debate_prompts::prompts::Speaker::System => debate_llm::Message::system(message.text.clone()),
            debate_prompts::prompts::Speaker::User => debate_llm::Message::user(message.text.clone()),
            debate_prompts::prompts::Speaker::Assistant => {
                debate_llm::Message::assistant(message.text.clone())
            }
        });
        let shape = prompt.shape.as_ref().expect("arguments have a shape");
        let request = ChatRequest {
            schema: Some(debate_llm::ReplySchema::new(shape.name, (*shape.schema).clone())),
            ..ChatRequest::new(messages.collect(), 500, PATIENCE)
        };
        model("simulated:7").complete(&request, &mut |_: &str| {}).await.expect("no faults").text
    });
    let mut group = c.benchmark_group("argument");
    group.bench_function("render", |b| b.iter(|| prompts.render(black_box(&visible), &want, &[])));
    group.bench_function("parse", |b| {
        b.iter(|| {
            prompts.parse(&visible, &want, debate_prompts::prompts::Received::whole(black_box(&reply)))
        });
    });
    group.finish();
}

/// Processor time of this process in seconds, and its peak memory in MB, as Linux tells.
fn process() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<f64>().ok());
    ((ticks(11) + ticks(12)) / 100.0, kilobytes.unwrap_or(0.0) / 1024.0)
}

fn resources() {
    let runtime = runtime();
    let engine = engine(remembering());
    runtime.block_on(whole_debate(&engine, request()));
    let (before, _) = process();
    for _ in 0..IN_A_ROW {
        runtime.block_on(whole_debate(&engine, request()));
    }
    let (after, _) = process();
    let each = (after - before) * 1_000.0 / IN_A_ROW as f64;
    println!("one debate at zero model latency on the memory store: {each:.2} ms of processor time");
    drop(engine);
    let (_, before) = process();
    let engine = self::engine(model("simulated:seed=7,latency=2s"));
    runtime.block_on(async {
        let mut debates = Vec::new();
        for _ in 0..IN_FLIGHT {
            debates.push(open(&engine, request()).await);
        }
        for debate in debates {
            assert!(engine.concluded(debate, PATIENCE).await.expect("it is followed"), "it ends");
        }
    });
    let (_, peak) = process();
    println!("{IN_FLIGHT} debates in flight at once: peak memory {peak:.0} MB ({before:.0} MB before)");
}

criterion_group!(benches, debate, words);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    resources();
}
