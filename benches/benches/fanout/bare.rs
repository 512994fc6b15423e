//! The floor: a bare tonic server that streams the messages of a store's debates, in the order in which they were written,
//! through one tokio broadcast channel for each debate. It reads no store, checks nothing and knows nobody.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anyhow::Result;
use debate_grpc::to_proto;
use debate_proto::v1;
use debate_store::{EventStore as _, Position, SqliteOptions, SqliteStore};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, ServerStreamingService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use v1::watch_debate_response::Item;

type Message = Arc<v1::WatchDebateResponse>;
type Channels = BTreeMap<String, broadcast::Sender<Message>>;

/// Positions read at once.
const PAGE: u32 = 1_000;

/// Serves until its input ends; the line `go` sets it going, and it answers when all has been handed over.
pub(crate) async fn run(store: &Path) -> Result<()> {
    let messages = read(store).await?;
    let mut lengths: BTreeMap<String, usize> = BTreeMap::new();
    for (debate, _) in &messages {
        *lengths.entry(debate.clone()).or_default() += 1;
    }
    let open = |(debate, length)| (debate, broadcast::Sender::new(length));
    let channels: Channels = lengths.into_iter().map(open).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let bare = Bare(Arc::new(channels.clone()));
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let serving = tokio::spawn(Server::builder().add_service(bare).serve_with_incoming(incoming));
    let mut lines = BufReader::new(stdin()).lines();
    while lines.next_line().await?.is_some() {
        for (debate, message) in &messages {
            // Nobody listens where nobody came.
            let _unheard = channels[debate].send(Arc::clone(message));
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
        messages.extend(page.iter().map(|(_, envelope)| {
            let item = Some(Item::Event(to_proto::event(envelope)));
            (envelope.stream.id.to_string(), Arc::new(v1::WatchDebateResponse { item }))
        }));
    }
    store.close().await?;
    Ok(messages)
}

#[derive(Clone)]
struct Bare(Arc<Channels>);

impl NamedService for Bare {
    const NAME: &'static str = "debate.v1.DebateService";
}

impl ServerStreamingService<v1::WatchDebateRequest> for Bare {
    type Response = v1::WatchDebateResponse;
    type ResponseStream = BoxStream<'static, Result<v1::WatchDebateResponse, Status>>;
    type Future = BoxFuture<'static, Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<v1::WatchDebateRequest>) -> Self::Future {
        let channel = self.0.get(&request.into_inner().debate_id).map(broadcast::Sender::subscribe);
        Box::pin(async move {
            let channel = channel.ok_or_else(|| Status::not_found("there is no such debate"))?;
            let streamed = stream::unfold(channel, |mut channel| async {
                let message = channel.recv().await.ok()?;
                Some((Ok(v1::WatchDebateResponse::clone(&message)), channel))
            });
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
