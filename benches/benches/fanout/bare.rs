//! The floor: a bare tonic server that streams messages through one tokio broadcast channel per debate. It reads no
//! store, checks nothing and has no authentication. Alone, it streams the messages of a store's debates as fast as it
//! can. Together with an engine (`publishing_store`), it streams those of the engine's debates as they are written.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use anyhow::Result;
use debate_core::envelope::Envelope;
use debate_grpc::to_proto;
use debate_proto::v1;
use debate_store::{EventStore as _, Position, SqliteOptions, SqliteStore};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, ServerStreamingService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use v1::watch_debate_response::Item;

pub(crate) type Message = Arc<v1::WatchDebateResponse>;

/// Positions read at once.
const PAGE: u32 = 1_000;
/// Messages kept for a listener that is behind: more than a debate has events.
const MESSAGES_KEPT: usize = 1_024;

/// What was said of one debate, and who listens.
struct Channel {
    said: Vec<Message>,
    listeners: broadcast::Sender<Message>,
}

impl Default for Channel {
    fn default() -> Self {
        Self { said: Vec::new(), listeners: broadcast::Sender::new(MESSAGES_KEPT) }
    }
}

/// One channel for each debate.
#[derive(Clone, Default)]
pub(crate) struct Channels(Arc<Mutex<HashMap<String, Channel>>>);

impl Channels {
    fn open(&self, debate: String) {
        self.channels().entry(debate).or_default();
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<String, Channel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something to those who listen, and keeps it for those who come later.
    pub(crate) fn say(&self, debate: &str, message: Message) {
        let mut channels = self.channels();
        let channel = channels.entry(debate.to_owned()).or_default();
        channel.said.push(Arc::clone(&message));
        // A channel may have no listeners.
        let _unheard = channel.listeners.send(message);
    }

    fn listen(&self, debate: &str) -> Option<(Vec<Message>, broadcast::Receiver<Message>)> {
        let channels = self.channels();
        let channel = channels.get(debate)?;
        Some((channel.said.clone(), channel.listeners.subscribe()))
    }

    /// Streams what is said, and returns where.
    pub(crate) async fn serve(&self) -> Result<(String, JoinHandle<Result<(), tonic::transport::Error>>)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let server = Server::builder().add_service(Bare(self.clone()));
        Ok((address, tokio::spawn(server.serve_with_incoming(incoming))))
    }
}

/// Returns an event as its message, with its debate.
pub(crate) fn message(envelope: &Envelope) -> (String, Message) {
    let item = Some(Item::Event(to_proto::event(envelope)));
    (envelope.stream.id.to_string(), Arc::new(v1::WatchDebateResponse { item }))
}

/// Serves until its input ends; the line `go` sets it going, and it answers when all has been handed over.
pub(crate) async fn run(store: &Path) -> Result<()> {
    let messages = read(store).await?;
    let channels = Channels::default();
    messages.iter().for_each(|(debate, _)| channels.open(debate.clone()));
    let (address, serving) = channels.serve().await?;
    println!("{address}");
    let mut lines = BufReader::new(stdin()).lines();
    while lines.next_line().await?.is_some() {
        for (debate, message) in &messages {
            channels.say(debate, Arc::clone(message));
            tokio::task::yield_now().await;
        }
        println!("ended");
    }
    serving.abort();
    Ok(())
}

/// Reads all events of a store as messages, each with its debate.
async fn read(store: &Path) -> Result<Vec<(String, Message)>> {
    let store = SqliteStore::open(&store.display().to_string(), SqliteOptions::default()).await?;
    let (mut messages, mut after) = (Vec::new(), Position::START);
    loop {
        let page = store.read_all(after, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        messages.extend(page.iter().map(|(_, envelope)| message(envelope)));
    }
    store.close().await?;
    Ok(messages)
}

#[derive(Clone)]
struct Bare(Channels);

impl NamedService for Bare {
    const NAME: &'static str = "debate.v1.DebateService";
}

impl ServerStreamingService<v1::WatchDebateRequest> for Bare {
    type Response = v1::WatchDebateResponse;
    type ResponseStream = BoxStream<'static, Result<v1::WatchDebateResponse, Status>>;
    type Future = BoxFuture<'static, Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<v1::WatchDebateRequest>) -> Self::Future {
        let heard = self.0.listen(&request.into_inner().debate_id);
        Box::pin(async move {
            let (said, channel) = heard.ok_or_else(|| Status::not_found("there is no such debate"))?;
            let new = stream::unfold(channel, |mut channel| async {
                let message = channel.recv().await.ok()?;
                Some((message, channel))
            });
            let all = stream::iter(said).chain(new);
            let streamed = all.map(|message| Ok(v1::WatchDebateResponse::clone(&message)));
            Ok(Response::new(streamed.boxed()))
        })
    }
}

impl tower::Service<http::Request<Body>> for Bare {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = self.clone();
        Box::pin(async move { Ok(Grpc::new(ProstCodec::default()).server_streaming(method, request).await) })
    }
}
