//! A wire to PostgreSQL that can be cut, be slow, and lead to another server.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use crate::FixtureError;

/// Passes bytes between a loopback port and a server's socket until it is cut.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    wire: Arc<Wire>,
}

#[derive(Debug)]
struct Wire {
    /// The socket that new connections lead to.
    server: Mutex<PathBuf>,
    /// How long every piece of an answer takes, in ms.
    delay_ms: AtomicU64,
    /// Every connection of an earlier generation is cut.
    generation: watch::Sender<u64>,
    /// Answers that still pass; below zero there is no limit. At zero, everything is cut before the next one does.
    answers_left: AtomicI64,
    cuts: AtomicU64,
}

impl Proxy {
    /// Starts to pass bytes to a socket; must be called on a tokio runtime, which it lives on.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn start(socket: PathBuf) -> Result<Self, FixtureError> {
        let io = || FixtureError::io("127.0.0.1");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(io())?;
        let port = listener.local_addr().map_err(io())?.port();
        let wire = Arc::new(Wire {
            server: Mutex::new(socket),
            delay_ms: AtomicU64::new(0),
            generation: watch::Sender::new(0),
            answers_left: AtomicI64::new(-1),
            cuts: AtomicU64::new(0),
        });
        let shared = Arc::clone(&wire);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = UnixStream::connect(shared.server()).await {
                    tokio::spawn(pass(client, server, Arc::clone(&shared)));
                }
            }
        });
        Ok(Self { port, wire })
    }

    /// Returns the URL of a database behind it, for its superuser.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.url_for("postgres", database)
    }

    /// Returns the URL of a database behind it for one of its users.
    #[must_use]
    pub fn url_for(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Lets some more answers pass, then cuts every connection before the next one does.
    pub fn cut_after(&self, answers: i64) {
        self.wire.answers_left.store(answers, Ordering::SeqCst);
    }

    /// Returns how often it has cut, other than to lead elsewhere.
    #[must_use]
    pub fn cuts(&self) -> u64 {
        self.wire.cuts.load(Ordering::SeqCst)
    }

    /// Lets every piece of an answer take so long from now on.
    pub fn delay(&self, time: Duration) {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.wire.delay_ms.store(time_ms, Ordering::SeqCst);
    }

    /// Leads to another server from now on; connections to the one before are cut.
    pub fn lead_to(&self, socket: PathBuf) {
        *self.wire.server.lock().unwrap_or_else(PoisonError::into_inner) = socket;
        self.wire.cut();
    }
}

async fn pass(client: TcpStream, server: UnixStream, wire: Arc<Wire>) {
    let mut generation = wire.generation.subscribe();
    generation.mark_unchanged();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = copy(from_client, to_server, None) => {}
        () = copy(from_server, to_client, Some(&wire)) => {}
        _ = generation.changed() => {}
    }
}

/// Copies until either side ends, or, of answers on a wire, until a piece may not pass.
async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, answers: Option<&Wire>) {
    let mut piece = vec![0; 64 * 1_024];
    while let Ok(size @ 1..) = from.read(&mut piece).await {
        if let Some(wire) = answers
            && !wire.may_answer().await
        {
            return;
        }
        if to.write_all(&piece[..size]).await.is_err() {
            return;
        }
    }
}

impl Wire {
    fn server(&self) -> PathBuf {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cut(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Returns, in its time, whether an answer may pass; the one that may not is lost with all connections.
    async fn may_answer(&self) -> bool {
        let delay_ms = self.delay_ms.load(Ordering::SeqCst);
        if delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
        if self.answers_left.load(Ordering::SeqCst) < 0 {
            return true;
        }
        if self.answers_left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return true;
        }
        self.answers_left.store(-1, Ordering::SeqCst);
        self.cuts.fetch_add(1, Ordering::SeqCst);
        self.cut();
        false
    }
}
