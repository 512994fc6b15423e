//! A provider on loopback that answers as a test says, on connections of one request each.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What is said to a request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Answer {
    /// Answers with JSON.
    pub(crate) fn json(status: &'static str, body: &Value) -> Self {
        Self { status, content_type: "application/json", body: body.to_string() }
    }

    /// Streams words as a chat completion, and says what they cost.
    pub(crate) fn words(words: &[&str]) -> Self {
        let event = |value: Value| format!("data: {value}\n\n");
        let piece = |word: &&str| {
            event(
                json!({"id": "c1", "model": "some-model-2", "choices": [{"index": 0, "delta": {"content": word}}]}),
            )
        };
        let mut body: String = words.iter().map(piece).collect();
        let end = json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let usage = json!({"prompt_tokens": 21, "completion_tokens": 8});
        body += &event(end);
        body += &event(json!({"id": "c1", "choices": [], "usage": usage}));
        body += "data: [DONE]\n\n";
        Self { status: "200 OK", content_type: "text/event-stream", body }
    }
}

/// A provider and what it was sent.
pub(crate) struct Provider {
    pub(crate) base_url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    /// Starts a provider whose answers follow from the whole request, head and body.
    pub(crate) fn start(answer: impl Fn(&str) -> Answer + Clone + Send + 'static) -> Self {
        Self::pausing(Duration::ZERO, answer)
    }

    /// Starts one that pauses after the first piece of each stream.
    pub(crate) fn pausing(pause: Duration, answer: impl Fn(&str) -> Answer + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (answer, noted) = (answer.clone(), Arc::clone(&noted));
                std::thread::spawn(move || serve(stream, pause, &answer, &noted));
            }
        });
        Self { base_url, seen }
    }

    /// Returns whether a request so far has this in its head or body.
    pub(crate) fn seen(&self, text: &str) -> bool {
        self.seen.lock().unwrap().iter().any(|request| request.contains(text))
    }

    /// Returns the bodies of all requests so far, in order.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let bodies = seen.iter().filter_map(|request| request.split_once("\r\n\r\n"));
        bodies.filter_map(|(_, body)| serde_json::from_str(body).ok()).collect()
    }
}

fn serve(
    mut stream: TcpStream,
    pause: Duration,
    answer: &impl Fn(&str) -> Answer,
    noted: &Mutex<Vec<String>>,
) {
    let Some(request) = read(&mut stream) else { return };
    noted.lock().unwrap().push(request.clone());
    let Answer { status, content_type, body } = answer(&request);
    let head = format!("content-type: {content_type}\r\nx-request-id: req-7\r\nconnection: close");
    let length = body.len();
    let (first, rest) = body.split_at(body.find("\n\n").map_or(0, |end| end + 2));
    let _ = write!(stream, "HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{first}");
    std::thread::sleep(pause);
    let _ = write!(stream, "{rest}");
}

fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse::<usize>().unwrap() {
                return Some(text.into_owned());
            }
        }
        let mut piece = [0; 16 * 1024];
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}
