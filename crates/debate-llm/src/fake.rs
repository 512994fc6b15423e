//! A provider for tests, on loopback: it speaks all four protocols over HTTP, thinks before it answers, counts what it thinks
//! against the limit that it is sent, and refuses what it is set to refuse in the words of the servers that it stands for.

mod protocol;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use self::protocol::{Ended, Piece, Refusal, Spoken};
use crate::Provider;

/// The bytes that it counts as one token.
const TOKEN_BYTES: usize = 4;

/// The tokens that one event of a stream holds.
const PIECE_TOKENS: u32 = 16;

/// The largest request that it reads, in bytes.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// How many tokens the provider thinks before it answers, by the effort that it is sent. A request that names a number of
/// tokens gets as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingTokens {
    /// Where no effort is sent.
    pub unset: u32,
    /// With `none`; `minimal` counts as a quarter of `low`.
    pub none: u32,
    /// With `low`.
    pub low: u32,
    /// With `medium`.
    pub medium: u32,
    /// With `high`.
    pub high: u32,
}

impl ThinkingTokens {
    /// The same whatever effort is sent.
    #[must_use]
    pub const fn always(tokens: u32) -> Self {
        Self { unset: tokens, none: tokens, low: tokens, medium: tokens, high: tokens }
    }
}

/// Makes the answer to the body of a request.
pub type Answers = Arc<dyn Fn(&Value) -> String + Send + Sync>;

/// What a provider is like; made by [`FakeSettings::new`], then changed field by field.
#[derive(Clone)]
pub struct FakeSettings {
    /// The one model that it has.
    pub model: String,
    /// How much it thinks.
    pub thinking: ThinkingTokens,
    /// Whether its thoughts are in the stream; otherwise it is silent while it thinks.
    pub shows_thinking: bool,
    /// How fast it thinks and writes; as fast as it can when absent.
    pub tokens_per_second: Option<f64>,
    /// The efforts that it takes, by name, any when absent; with none in the list it knows no effort at all.
    pub efforts: Option<Vec<&'static str>>,
    /// The largest limit of tokens that it takes.
    pub output_max: Option<u32>,
    /// Its context window, which bounds question and answer.
    pub window: Option<u32>,
    /// What it answers to a request's body.
    pub answer: Answers,
}

impl FakeSettings {
    /// Makes a provider that answers at once with what `answer` makes of a request's body, and does not think.
    pub fn new(answer: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        Self {
            model: "fake-model".to_owned(),
            thinking: ThinkingTokens::always(0),
            shows_thinking: true,
            tokens_per_second: None,
            efforts: None,
            output_max: None,
            window: None,
            answer: Arc::new(answer),
        }
    }
}

impl fmt::Debug for FakeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, thinking, .. } = self;
        f.debug_struct("FakeSettings")
            .field("model", model)
            .field("thinking", thinking)
            .finish_non_exhaustive()
    }
}

struct State {
    settings: FakeSettings,
    requests: Mutex<Vec<Value>>,
}

/// A provider that runs until it is dropped; then all of its connections are closed.
pub struct FakeProvider {
    address: SocketAddr,
    state: Arc<State>,
    serving: JoinHandle<()>,
}

impl FakeProvider {
    /// Starts a provider at a free port of loopback.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start(settings: FakeSettings) -> io::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), settings).await
    }

    /// Starts a provider at an address, such as that of one that was dropped.
    ///
    /// # Errors
    /// The address is taken.
    pub async fn start_at(address: SocketAddr, settings: FakeSettings) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { settings, requests: Mutex::default() });
        let serving = Arc::clone(&state);
        let serving = tokio::spawn(async move {
            // They are closed together with the listener.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&serving);
                connections.spawn(async move { serve(stream, &state).await });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, state, serving })
    }

    /// Returns its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL of a protocol.
    #[must_use]
    pub fn base_url(&self, provider: Provider) -> String {
        let path = match provider {
            Provider::Anthropic => "",
            Provider::Gemini => "/v1beta",
            Provider::OpenAi | Provider::OpenAiResponses => "/v1",
        };
        format!("http://{}{path}", self.address)
    }

    /// Returns the bodies of all questions so far, in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FakeProvider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for FakeProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.state.settings;
        f.debug_struct("FakeProvider").field("address", &self.address).field("settings", settings).finish()
    }
}

/// A request as it arrived.
struct Request {
    method: String,
    path: String,
    body: Value,
}

/// Answers one request and closes the connection.
async fn serve(mut stream: TcpStream, state: &State) -> Option<()> {
    let request = read(&mut stream).await?;
    let path = request.path.split('?').next().unwrap_or_default();
    let spoken = Spoken::of(path).filter(|_| request.method == "POST");
    let Some(spoken) = spoken else {
        let (status, body) = about(&state.settings, &request.method, path);
        return write_json(&mut stream, status, &body).await;
    };
    state.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.body.clone());
    match plan(&state.settings, spoken, &request.body) {
        Ok(plan) => stream_answer(&mut stream, &state.settings, spoken, &plan).await,
        Err(refusal) => write_json(&mut stream, refusal.status(), &spoken.refusal(&refusal)).await,
    }
}

/// Returns what the server says of itself.
fn about(settings: &FakeSettings, method: &str, path: &str) -> (u16, Value) {
    let model = json!({"id": settings.model, "object": "model", "owned_by": "fake", "max_model_len": settings.window});
    let named = path.rsplit_once("/models/").map(|(_, name)| name);
    match (method, named) {
        ("GET", Some(name)) if name == settings.model => (200, model),
        ("GET", None) if path.ends_with("/models") => {
            let google =
                json!({"name": format!("models/{}", settings.model), "inputTokenLimit": settings.window});
            (200, json!({"object": "list", "data": [model], "models": [google]}))
        }
        ("GET", None) if path == "/props" => match settings.window {
            Some(window) => (200, json!({"default_generation_settings": {"n_ctx": window}})),
            None => (404, json!({})),
        },
        _ => (404, json!({"error": {"message": "there is nothing here"}})),
    }
}

/// What an answer will be: so many tokens of thinking, this text, and how it ends.
struct Plan {
    input: u32,
    thinking: u32,
    text: String,
    ended: Ended,
}

/// Counts what was asked against the limits.
fn plan(settings: &FakeSettings, spoken: Spoken, body: &Value) -> Result<Plan, Refusal> {
    let model = settings.model.clone();
    let effort = spoken.effort(body);
    if let (Some(effort), Some(efforts)) = (effort.word(), &settings.efforts)
        && !efforts.contains(&effort)
    {
        let (effort, taken) = (effort.to_owned(), efforts.clone());
        return Err(Refusal::Effort { model, effort, taken });
    }
    let cap = spoken.cap(body).unwrap_or(u32::MAX);
    if let Some(most) = settings.output_max.filter(|most| cap > *most) {
        return Err(Refusal::Cap { model, cap, most });
    }
    let input = tokens(spoken.prompt_bytes(body));
    let room = match settings.window {
        Some(window) if input >= window => return Err(Refusal::Window { input, window }),
        Some(window) => cap.min(window - input),
        None => cap,
    };
    let wanted = effort.tokens(&settings.thinking);
    let thinking = wanted.min(room);
    let mut text = (settings.answer)(body);
    let rest = room - thinking;
    let is_cut = wanted > room || tokens(text.len()) > rest;
    if is_cut {
        let most = rest as usize * TOKEN_BYTES;
        let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
    }
    Ok(Plan { input, thinking, text, ended: if is_cut { Ended::Cut } else { Ended::Complete } })
}

fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(TOKEN_BYTES)).unwrap_or(u32::MAX)
}

/// Thinks and speaks, at the speed that is set.
async fn stream_answer(
    stream: &mut TcpStream,
    settings: &FakeSettings,
    spoken: Spoken,
    plan: &Plan,
) -> Option<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.ok()?;
    write_events(stream, spoken.begin(&settings.model, plan.input)).await?;
    let began = Instant::now();
    let mut done = 0;
    let thoughts = (0..plan.thinking).step_by(PIECE_TOKENS as usize);
    for at in thoughts {
        let count = PIECE_TOKENS.min(plan.thinking - at);
        done += count;
        keep_pace(settings, began, done).await;
        if settings.shows_thinking {
            write_events(stream, spoken.piece(Piece::Thought, &"hm, ".repeat(count as usize))).await?;
        }
    }
    let mut rest = plan.text.as_str();
    let mut is_first = true;
    while !rest.is_empty() {
        let most = (PIECE_TOKENS as usize * TOKEN_BYTES).min(rest.len());
        let end = (most..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        done += tokens(piece.len());
        keep_pace(settings, began, done).await;
        write_events(stream, spoken.piece(Piece::Text { is_first }, piece)).await?;
        is_first = false;
    }
    let written = plan.thinking + tokens(plan.text.len());
    let usage = spoken.usage(plan.input, plan.thinking, written);
    write_events(stream, spoken.end(plan.ended, &usage, &settings.model)).await?;
    stream.write_all(b"0\r\n\r\n").await.ok()
}

/// Waits until so many tokens may have been written.
async fn keep_pace(settings: &FakeSettings, began: Instant, tokens: u32) {
    if let Some(speed) = settings.tokens_per_second {
        sleep_until(began + Duration::from_secs_f64(f64::from(tokens) / speed)).await;
    }
}

async fn write_events(stream: &mut TcpStream, events: String) -> Option<()> {
    if events.is_empty() {
        return Some(());
    }
    stream.write_all(format!("{:x}\r\n{events}\r\n", events.len()).as_bytes()).await.ok()
}

async fn write_json(stream: &mut TcpStream, status: u16, body: &Value) -> Option<()> {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.ok()
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if bytes.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let end = head_end + length.unwrap_or(0).min(REQUEST_BYTES_MAX);
    while bytes.len() < end {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let mut words = head.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let body = serde_json::from_slice(&bytes[head_end..end]).unwrap_or(Value::Null);
    Some(Request { method, path, body })
}
