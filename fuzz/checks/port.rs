//! Whatever bytes come in by the port, over HTTP/1.1 or HTTP/2, no handler panics and the next client is served: bodies, paths,
//! queries, tokens, page tokens, `Last-Event-ID`, `Prefer`, deadlines. An input is one connection.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use debate_engine::Engine;
use debate_grpc::{Connections, ServeOptions, serve};
use debate_llm::simulated::debater;
use debate_llm::{ChatModel, SimulatedConfig};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::MemoryStore;
use tokio::net::TcpListener;

/// How long a client that says nothing more is borne.
const PATIENCE: Duration = Duration::from_millis(50);

/// How often the next client tries: a busy machine may take longer to hear it than it is borne.
const TRIES: usize = 20;

/// Where the server is, which is started once.
static SERVER: LazyLock<SocketAddr> = LazyLock::new(|| {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        std::process::abort();
    }));
    let (tell, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let model: Arc<dyn ChatModel> = Arc::new(debater(SimulatedConfig::default()));
            let engine =
                Engine::builder(Arc::new(MemoryStore::new()), model).format(PredictionPrompts).build();
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell.send(listener.local_addr().expect("an address")).expect("somebody waits");
            let connections = Connections {
                first_request: PATIENCE,
                headers: PATIENCE,
                body: PATIENCE,
                idle: PATIENCE,
                ..Connections::default()
            };
            // A debate that is held takes no longer than this.
            let options = ServeOptions { connections, patience: PATIENCE, ..ServeOptions::default() };
            serve(listener, engine, options, std::future::pending()).await.expect("it serves");
        });
    });
    address.recv().expect("the server is up")
});

/// Checks what holds for every connection.
pub(crate) fn check(data: &[u8]) {
    say(data);
    let health = || say(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let is_served = (0..TRIES).any(|_| health().starts_with(b"HTTP/1.1 200"));
    assert!(is_served, "the next client is served");
}

/// Sends bytes and returns what comes back until the end.
fn say(bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(*SERVER).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time is not zero");
    let mut answer = Vec::new();
    // A server that has read enough may end the connection.
    let _unread = stream.write_all(bytes).and_then(|()| stream.shutdown(Shutdown::Write));
    let _ended = stream.read_to_end(&mut answer);
    answer
}
