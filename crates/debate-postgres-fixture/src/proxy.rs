//! A wire to PostgreSQL that can be cut.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// Passes bytes between a port of loopback and a server's socket, until told to cut.
pub(crate) struct Proxy {
    port: u16,
    wire: Arc<Wire>,
}

struct Wire {
    /// Every connection of an earlier generation is cut.
    generation: watch::Sender<u64>,
    /// Answers that still pass; below zero there is no limit. At zero, everything is cut before the next one does.
    answers_left: AtomicI64,
    cuts: AtomicU64,
}

impl Proxy {
    /// Starts to pass bytes to a socket.
    pub(crate) async fn start(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (generation, answers_left) = (watch::Sender::new(0), AtomicI64::new(-1));
        let wire = Arc::new(Wire { generation, answers_left, cuts: AtomicU64::new(0) });
        let shared = Arc::clone(&wire);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = UnixStream::connect(&socket).await {
                    tokio::spawn(pass(client, server, Arc::clone(&shared)));
                }
            }
        });
        Self { port, wire }
    }

    /// Returns the URL of a database behind it.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Lets some more answers pass, then cuts every connection before the next one does.
    pub(crate) fn cut_after(&self, answers: i64) {
        self.wire.answers_left.store(answers, Ordering::SeqCst);
    }

    /// Returns how often it has cut.
    pub(crate) fn cuts(&self) -> u64 {
        self.wire.cuts.load(Ordering::SeqCst)
    }
}

async fn pass(client: TcpStream, server: UnixStream, wire: Arc<Wire>) {
    let mut generation = wire.generation.subscribe();
    generation.mark_unchanged();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = copy(from_client, to_server, || true) => {}
        () = copy(from_server, to_client, || wire.may_answer()) => {}
        _ = generation.changed() => {}
    }
}

/// Copies until either side ends, or a piece may not pass.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    may_pass: impl Fn() -> bool,
) {
    let mut piece = vec![0; 64 * 1_024];
    while let Ok(size @ 1..) = from.read(&mut piece).await {
        if !may_pass() || to.write_all(&piece[..size]).await.is_err() {
            return;
        }
    }
}

impl Wire {
    /// Returns whether an answer may pass; the one that may not is lost with all connections.
    fn may_answer(&self) -> bool {
        if self.answers_left.load(Ordering::SeqCst) < 0 {
            return true;
        }
        if self.answers_left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return true;
        }
        self.answers_left.store(-1, Ordering::SeqCst);
        self.cuts.fetch_add(1, Ordering::SeqCst);
        self.generation.send_modify(|generation| *generation += 1);
        false
    }
}
