//! The adapters against a TLS server on loopback that speaks HTTP/2.
//!
//! Certificates are trusted where the system trusts them, or by `SSL_CERT_FILE`. A process reads that once, so the
//! test runs itself again with it set.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use debate_llm::{
    ChatModel as _, ChatReply, ChatRequest, HttpConfig, HttpModel, Message, ModelError, Provider,
};
use h2::SendStream;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::{Barrier, Notify};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// Where the test that runs itself again finds the server.
const ADDRESS: &str = "DEBATE_TEST_TLS_ADDRESS";

/// How many calls are under way at once.
const CALLS: usize = 5;

const ANSWER: &str = "data: {\"choices\": [{\"delta\": {\"content\": \"hello\"}}]}\n\n";
const END: &str = "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n";

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: AtomicUsize,
    cancelled: Notify,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_at_once_share_one_http2_connection_and_a_dropped_one_ends_its_stream_alone() {
    if let Ok(address) = std::env::var(ADDRESS) {
        return ask_the_server(&address).await;
    }
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cert.pem");
    std::fs::write(&file, cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Seen::default());
    tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), Arc::clone(&seen)));

    let name = "calls_at_once_share_one_http2_connection_and_a_dropped_one_ends_its_stream_alone";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ADDRESS, format!("https://localhost:{port}/v1"))
        .env("SSL_CERT_FILE", &file)
        .env_remove("SSL_CERT_DIR")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let counted = [&seen.connections, &seen.requests].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counted, [1, CALLS + 2], "connections, requests");
}

/// Asks at once, then drops a call, then asks again.
async fn ask_the_server(address: &str) {
    let model = Arc::new(HttpModel::new(HttpConfig::new(Provider::OpenAi, address, "m")).unwrap());
    model.warm_up().await;
    let tasks: Vec<_> = (0..CALLS)
        .map(|_| {
            let model = Arc::clone(&model);
            tokio::spawn(async move { ask(&model, "together").await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap().text, "hello");
    }
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let request = request("silence");
    let mut hear = move |delta: &str| sender.send(delta.to_owned()).unwrap();
    tokio::select! {
        reply = model.complete(&request, &mut hear) => panic!("{reply:?}"),
        first = heard.recv() => assert_eq!(first.as_deref(), Some("hello")),
    }
    assert_eq!(ask(&model, "alone").await.unwrap().text, "hello");
}

async fn ask(model: &HttpModel, question: &str) -> Result<ChatReply, ModelError> {
    model.complete(&request(question), &mut |_: &str| {}).await
}

fn request(question: &str) -> ChatRequest {
    ChatRequest::new(vec![Message::user(question)], 10, Duration::from_secs(20))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, seen: Arc<Seen>) {
    let together = Arc::new(Barrier::new(CALLS));
    while let Ok((stream, _)) = listener.accept().await {
        let stream = acceptor.accept(stream).await.unwrap();
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let (seen, together) = (Arc::clone(&seen), Arc::clone(&together));
        tokio::spawn(async move {
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let (seen, together) = (Arc::clone(&seen), Arc::clone(&together));
                tokio::spawn(async move {
                    if request.method() == "HEAD" {
                        let response = http::Response::builder().status(404).body(()).unwrap();
                        respond.send_response(response, true).unwrap();
                        return;
                    }
                    seen.requests.fetch_add(1, Ordering::SeqCst);
                    let body = read(request.into_body()).await;
                    let response = http::Response::builder().header("content-type", "text/event-stream");
                    let response = response.body(()).unwrap();
                    let mut stream = respond.send_response(response, false).unwrap();
                    answer(&body, &mut stream, &together, &seen).await;
                });
            }
        });
    }
}

async fn answer(body: &str, stream: &mut SendStream<Bytes>, together: &Barrier, seen: &Seen) {
    if body.contains("together") {
        // No call is answered before all calls have arrived.
        together.wait().await;
    }
    if body.contains("alone") {
        // Not before the end of the call that was dropped arrived.
        seen.cancelled.notified().await;
    }
    stream.send_data(Bytes::from_static(ANSWER.as_bytes()), false).unwrap();
    if body.contains("silence") {
        std::future::poll_fn(|context| stream.poll_reset(context)).await.unwrap();
        seen.cancelled.notify_one();
        return;
    }
    stream.send_data(Bytes::from_static(END.as_bytes()), true).unwrap();
}

async fn read(mut body: h2::RecvStream) -> String {
    let mut bytes = Vec::new();
    while let Some(Ok(piece)) = body.data().await {
        body.flow_control().release_capacity(piece.len()).unwrap();
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).unwrap()
}
