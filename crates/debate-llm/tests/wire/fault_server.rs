//! An HTTP/1.1 server on loopback, port 0, that answers from a list and breaks off where the test says so.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What the server does with one request.
pub(crate) struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    piece_bytes: usize,
    end: End,
}

#[derive(PartialEq)]
enum End {
    Proper,
    CutOff,
    Stall,
    /// Nothing is said; the connection is reset.
    Reset,
    /// Nothing is said; the connection stays open.
    Mute,
    /// The body is said again and again, until the client goes away.
    Endless,
    /// The body is said again and again, a byte at a time, until the client goes away.
    Trickle,
    /// Headers are said for ever, one at a time, until the client goes away.
    Headers,
    /// Something else is said again and again behind the body, until the client goes away.
    Then(&'static str),
    /// Interim responses are sent for ever, until the client goes away.
    Interim,
}

impl Response {
    pub(crate) fn events(body: &str) -> Self {
        Self::new(200, "text/event-stream", body, End::Proper)
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", &body.to_string(), End::Proper)
    }

    pub(crate) fn html(status: u16) -> Self {
        Self::new(status, "text/html", "<html><body>bad gateway</body></html>", End::Proper)
    }

    /// Says what no protocol does.
    pub(crate) fn of_type(status: u16, content_type: &str, body: &str) -> Self {
        Self::new(status, content_type, body, End::Proper)
    }

    pub(crate) fn reset() -> Self {
        Self::new(0, "", "", End::Reset)
    }

    pub(crate) fn stall() -> Self {
        Self::new(0, "", "", End::Mute)
    }

    /// Says headers for ever, slowly.
    pub(crate) fn endless_headers() -> Self {
        Self::new(200, "", "", End::Headers)
    }

    /// Says something else for ever behind the body.
    pub(crate) fn then_trickling(self, words: &'static str) -> Self {
        Self { end: End::Then(words), ..self }
    }

    /// Sends interim responses for ever, as fast as it can.
    pub(crate) fn interim_without_end() -> Self {
        Self::new(0, "", "", End::Interim)
    }

    /// Puts other bytes in the place of the body.
    pub(crate) fn with_body(self, body: Vec<u8>) -> Self {
        Self { body, ..self }
    }

    fn new(status: u16, content_type: &str, body: &str, end: End) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.as_bytes().to_vec(), piece_bytes: usize::MAX, end }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in HTTP chunks of `bytes` bytes.
    pub(crate) fn in_pieces_of(self, bytes: usize) -> Self {
        Self { piece_bytes: bytes, ..self }
    }

    /// Closes the connection after the body, without the end that HTTP asks for.
    pub(crate) fn cut_off(self) -> Self {
        Self { end: End::CutOff, ..self }
    }

    /// Says nothing after the body and keeps the connection.
    pub(crate) fn then_stall(self) -> Self {
        Self { end: End::Stall, ..self }
    }

    /// Says the body for ever, a byte at a time.
    pub(crate) fn trickling(self) -> Self {
        Self { end: End::Trickle, piece_bytes: 1, ..self }
    }

    /// Says the body for ever.
    pub(crate) fn without_end(self) -> Self {
        Self { end: End::Endless, ..self }
    }
}

/// A request as it arrived.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    body: Vec<u8>,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

#[derive(Default)]
struct Shared {
    responses: Mutex<VecDeque<Response>>,
    requests: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    heads: AtomicUsize,
    asked: Notify,
    client_gone: Notify,
}

pub(crate) struct FaultServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl FaultServer {
    pub(crate) async fn start(responses: Vec<Response>) -> Self {
        Self::start_at(TcpListener::bind("127.0.0.1:0").await.unwrap(), responses).await
    }

    /// Starts to answer on a listener that is open.
    pub(crate) async fn start_at(listener: TcpListener, responses: Vec<Response>) -> Self {
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { responses: Mutex::new(responses.into()), ..Shared::default() });
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepting.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&accepting)));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.shared.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns how many requests for headers alone came; they take no response from the list.
    pub(crate) fn heads(&self) -> usize {
        self.shared.heads.load(Ordering::SeqCst)
    }

    /// Returns once a request has come.
    pub(crate) async fn asked(&self) {
        self.shared.asked.notified().await;
    }

    /// Returns once a response that stalls or never ends has seen its client go away; at once where no request has come,
    /// because on a busy machine a client may give up before it could send one.
    pub(crate) async fn client_gone(&self) {
        if !self.requests().is_empty() {
            self.shared.client_gone.notified().await;
        }
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    while let Some(seen) = read_request(&mut stream).await {
        if seen.head.starts_with("HEAD ") {
            shared.heads.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"HTTP/1.1 404 Status\r\ncontent-length: 9\r\n\r\n").await;
            continue;
        }
        shared.requests.lock().unwrap().push(seen);
        shared.asked.notify_one();
        let response = shared.responses.lock().unwrap().pop_front();
        let response = response.unwrap_or_else(|| Response::new(418, "text/plain", "no more", End::Proper));
        match response.end {
            End::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
            End::Mute | End::Interim => {}
            End::Headers => {
                let _ = stream.write_all(b"HTTP/1.1 200 Status\r\n").await;
            }
            End::Proper | End::CutOff | End::Stall | End::Endless | End::Trickle | End::Then(_) => {
                write_response(&mut stream, &response).await;
            }
        }
        match response.end {
            End::Proper => {}
            End::CutOff | End::Reset => return,
            End::Endless => {
                let body = chunked(&response);
                while stream.write_all(&body).await.is_ok() {}
            }
            End::Interim => {
                let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000);
                while stream.write_all(interim.as_bytes()).await.is_ok() {}
            }
            End::Then(words) => {
                trickle(&mut stream, format!("{:x}\r\n{words}\r\n", words.len()).as_bytes()).await;
            }
            End::Trickle => trickle(&mut stream, &chunked(&response)).await,
            End::Headers => trickle(&mut stream, b"x: y\r\n").await,
            End::Stall | End::Mute => {
                let _ = stream.read(&mut [0; 16]).await;
            }
        }
        if response.end != End::Proper {
            shared.client_gone.notify_one();
            return;
        }
    }
}

/// Says `bytes` for ever, a few at a time with pauses between, until the client goes away.
async fn trickle(stream: &mut TcpStream, bytes: &[u8]) {
    let mut pace = tokio::time::interval(Duration::from_millis(1));
    for piece in bytes.chunks(8).cycle() {
        pace.tick().await;
        if stream.write_all(piece).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let end = head_end + length.parse::<usize>().unwrap();
    while bytes.len() < end {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Seen { head, body: bytes[head_end..end].to_vec() })
}

async fn write_response(stream: &mut TcpStream, response: &Response) {
    let mut head = format!("HTTP/1.1 {} Status\r\ntransfer-encoding: chunked\r\n", response.status);
    for (name, value) in &response.headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend(chunked(response));
    if response.end == End::Proper {
        bytes.extend_from_slice(b"0\r\n\r\n");
    }
    // A client that has read enough may be gone already.
    let _ = stream.write_all(&bytes).await;
}

/// Returns the body in chunks as HTTP/1.1 writes them, without the end.
fn chunked(response: &Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in response.body.chunks(response.piece_bytes) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
