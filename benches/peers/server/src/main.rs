//! The model server that every peer debates against: OpenAI-compatible chat completions on loopback.
//!
//! It tells the call from the prompt's words, waits as long as the call's draw says, and gives everybody the same reply.
//! `POST /mode` sets the latency and forgets all counts, `GET /stats` tells them, `GET /critical` how long debates must
//! take, `GET /tape` the requests that were first asked.

mod latency;
mod recognise;
mod replies;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use peer_harness::{Plan, Schedule};
use serde_json::{Map, Value, json};
use tokio::net::TcpSocket;
use tokio::task::{LocalSet, spawn_local};

use crate::latency::Latency;
use crate::recognise::recognise;
use crate::replies::Replies;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// All that connections share; they run on one thread.
struct Server {
    replies: Replies,
    latency: Cell<Latency>,
    asked: RefCell<HashSet<(u32, usize)>>,
    calls: Cell<u64>,
    repeated: Cell<u64>,
    unknown: Cell<u64>,
}

type Answer = Response<Full<Bytes>>;

fn main() -> Result<()> {
    let pieces = match std::env::args().nth(1) {
        Some(text) => text.parse().context("the number of pieces is a number")?,
        None => 1,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve(pieces))
}

async fn serve(pieces: usize) -> Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    // As many connections as the largest run opens at once.
    let listener = socket.listen(8_192)?;
    println!("{}", listener.local_addr()?);
    let server = Rc::new(Server {
        replies: Replies::new(pieces),
        latency: Cell::new(Latency { median_ms: 0.0, sigma: 0.0, seed: 1 }),
        asked: RefCell::default(),
        calls: Cell::new(0),
        repeated: Cell::new(0),
        unknown: Cell::new(0),
    });
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let server = Rc::clone(&server);
        spawn_local(async move {
            let service = service_fn(|request| async { Ok::<_, Infallible>(server.answer(request).await) });
            // A client that disconnects early shows up in the counts.
            let _hung_up = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Server {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let answered = match (&head.method, head.uri.path()) {
            (&Method::POST, "/v1/chat/completions") => match body.collect().await {
                Ok(body) => self.complete(&body.to_bytes()).await,
                Err(error) => Err(error.into()),
            },
            (&Method::POST, "/mode") => self.set_mode(head.uri.query().unwrap_or_default()),
            (&Method::GET, "/stats") => Ok(json_answer(&self.stats())),
            (&Method::GET, "/critical") => self.critical(head.uri.query().unwrap_or_default()),
            (&Method::GET, "/tape") => Ok(json_answer(&self.tape())),
            _ => Ok(text_answer(StatusCode::NOT_FOUND, "there is nothing here")),
        };
        answered.unwrap_or_else(|error| text_answer(StatusCode::BAD_REQUEST, &format!("{error:#}")))
    }

    async fn complete(&self, body: &[u8]) -> Result<Answer> {
        self.calls.set(self.calls.get() + 1);
        let Some((debate, call)) = recognise(body) else {
            self.unknown.set(self.unknown.get() + 1);
            return Ok(text_answer(StatusCode::BAD_REQUEST, "this is no prompt of a debate"));
        };
        if !self.asked.borrow_mut().insert((debate, call.place())) {
            self.repeated.set(self.repeated.get() + 1);
        }
        let latency = self.latency.get().duration(debate, call.place());
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let entry = self.replies.of(debate, call, body).await?;
        let streams = [b"\"stream\":true".as_slice(), b"\"stream\": true"];
        let is_stream = streams.iter().any(|words| memchr::memmem::find(body, words).is_some());
        Ok(if is_stream {
            with_type(Response::new(Full::new(entry.stream.clone())), "text/event-stream")
        } else {
            with_type(Response::new(Full::new(entry.whole.clone())), "application/json")
        })
    }

    fn set_mode(&self, query: &str) -> Result<Answer> {
        let number =
            |name: &str| field(query, name)?.parse::<f64>().with_context(|| format!("{name} is a number"));
        let (median_ms, sigma, seed) = (number("median_ms")?, number("sigma")?, number("seed")? as u64);
        self.latency.set(Latency { median_ms, sigma, seed });
        self.asked.borrow_mut().clear();
        for count in [&self.calls, &self.repeated, &self.unknown] {
            count.set(0);
        }
        Ok(json_answer(&json!({})))
    }

    fn stats(&self) -> Value {
        json!({ "calls": self.calls.get(), "repeated": self.repeated.get(), "unknown": self.unknown.get() })
    }

    /// Returns the length of the critical path of debates 0 to `debates`, in milliseconds.
    fn critical(&self, query: &str) -> Result<Answer> {
        let debates: u32 = field(query, "debates")?.parse().context("debates is a number")?;
        let schedule: Schedule = field(query, "schedule")?.parse().map_err(anyhow::Error::msg)?;
        let (plan, latency) = (Plan::new(schedule), self.latency.get());
        let path = |debate: u32| plan.critical_path(|place| latency.of(debate, place));
        Ok(json_answer(&json!((0..debates).map(path).collect::<Vec<_>>())))
    }

    fn tape(&self) -> Value {
        let recorded = self.replies.asked().map(|(name, entry)| {
            let request = &entry.request;
            let said = |place: usize| request["messages"][place]["content"].clone();
            let limit = request.get("max_completion_tokens").unwrap_or(&request["max_tokens"]);
            let recorded = json!({
                "system": said(0),
                "user": said(1),
                "max_tokens": limit,
                "response_format": request["response_format"],
            });
            (name, recorded)
        });
        Value::Object(recorded.collect::<Map<_, _>>())
    }
}

fn field<'a>(query: &'a str, name: &str) -> Result<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(key, _)| *key == name).map(|(_, value)| value);
    found.with_context(|| format!("{name} is missing"))
}

fn json_answer(value: &Value) -> Answer {
    with_type(Response::new(Full::new(Bytes::from(value.to_string()))), "application/json")
}

fn text_answer(status: StatusCode, text: &str) -> Answer {
    let mut answer = with_type(Response::new(Full::new(Bytes::from(text.to_owned()))), "text/plain");
    *answer.status_mut() = status;
    answer
}

fn with_type(mut answer: Answer, kind: &'static str) -> Answer {
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
