//! Who poses as a provider or as a search service, behind a name that was led elsewhere.
//!
//! Certificates are trusted where the system trusts them, or by `SSL_CERT_FILE`. A process reads that once, so the test
//! runs itself again with it set.

use std::sync::Arc;
use std::time::Duration;

use debate_llm::http::search::{SearchEndpoint, SearchQuestion};
use debate_llm::{ApiKey, Provider};
use rcgen::{Certificate, CertificateParams, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::{KEY, ask, model, request};

/// Where the test that runs itself again finds the servers.
const PORTS: &str = "DEBATE_TEST_POSING_PORTS";

/// How often a model is asked that does not answer; a search service is asked once.
const TRIES: usize = 4;

/// The names by which servers are asked for; the second one leads nowhere but through a proxy.
const NAMES: [&str; 2] = ["localhost", "models.invalid"];

/// A server with a certificate of its own making, and what each connection brought: nothing where the client would not go on.
struct Server {
    certificate: Certificate,
    port: u16,
    brought: UnboundedReceiver<Option<String>>,
}

impl Server {
    async fn start(names: [&str; 2], last_year: i32) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names.map(str::to_owned)).unwrap();
        params.not_after = date_time_ymd(last_year, 1, 1);
        let certificate = params.self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (noting, brought) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut bytes = vec![0; 16 * 1024];
                let read = match acceptor.accept(stream).await {
                    Ok(mut stream) => Some(stream.read(&mut bytes).await.unwrap()),
                    Err(_) => None,
                };
                let text = read.map(|read| String::from_utf8_lossy(&bytes[..read]).into_owned());
                let _receiver_may_be_gone = noting.send(text);
            }
        });
        Self { certificate, port, brought }
    }

    /// Returns what all connections brought, once they have come.
    async fn brought(&mut self) -> Vec<Option<String>> {
        let mut brought = Vec::new();
        while brought.len() < NAMES.len() * (1 + TRIES) {
            let one = timeout(Duration::from_secs(10), self.brought.recv()).await;
            brought.push(one.expect("a connection").expect("a server"));
        }
        brought
    }
}

/// Starts a proxy that leads every name to this machine; returns its address, with a login.
async fn proxy() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let port = head.split([':', ' ']).nth(2).unwrap().parse::<u16>().unwrap();
                let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let _cut = copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
    format!("http://user:word@{address}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_poses_as_a_provider_or_a_search_service_is_sent_nothing() {
    if let Ok(ports) = std::env::var(PORTS) {
        for port in ports.split(' ') {
            ask_both(NAMES[0], port).await;
            ask_both(NAMES[1], port).await;
        }
        return;
    }
    let mut honest = Server::start(NAMES, 2999).await;
    let posers = [
        ("of another name", Server::start(["elsewhere.test", "elsewhere.invalid"], 2999).await),
        ("that ran out", Server::start(NAMES, 2020).await),
        ("that is not trusted", Server::start(NAMES, 2999).await),
    ];
    let trusted = [&honest, &posers[0].1, &posers[1].1].map(|server| server.certificate.pem()).concat();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trusted.pem"), trusted).unwrap();
    let ports = [&honest, &posers[0].1, &posers[1].1, &posers[2].1].map(|server| server.port.to_string());
    let name = "posing::who_poses_as_a_provider_or_a_search_service_is_sent_nothing";
    let (mut again, proxy) = (Command::new(std::env::current_exe().unwrap()), proxy().await);
    for variable in ["NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "REQUEST_METHOD"] {
        again.env_remove(variable);
    }
    let output = again
        .args(["--exact", name, "--nocapture"])
        .envs([("HTTPS_PROXY", &proxy), ("https_proxy", &proxy)])
        .env(PORTS, ports.join(" "))
        .env("SSL_CERT_FILE", folder.path().join("trusted.pem"))
        .env_remove("SSL_CERT_DIR")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let brought = honest.brought().await;
    let has_key = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(KEY));
    assert!(brought.iter().all(has_key), "{brought:?}");
    let brought = brought.into_iter().flatten().collect::<String>().to_ascii_lowercase();
    for name in NAMES {
        assert_eq!(brought.matches(&format!("host: {name}:{}", honest.port)).count(), 1 + TRIES, "{brought}");
    }
    assert!(!brought.contains("proxy-authorization"), "{brought}");
    for (what, mut poser) in posers {
        let brought = poser.brought().await;
        assert!(brought.iter().all(Option::is_none), "a certificate {what}: {brought:?}");
    }
}

/// Calls a port as a model and as a search service, and checks that both calls fail.
async fn ask_both(name: &str, port: &str) {
    let base_url = format!("https://{name}:{port}/v1");
    let search = SearchEndpoint::new(&base_url, Some(&ApiKey::new(KEY))).unwrap();
    let question = SearchQuestion {
        tool: "search_web",
        query: "harbour rents",
        count: 8,
        as_of: "2026-11-21T00:00:00.000Z",
    };
    let unfound = search.ask(&question).await.unwrap_err();
    let refused = ask(&model(Provider::OpenAi, &base_url), &request()).await.0.unwrap_err();
    assert!(!format!("{refused:?} {unfound:?}").contains(KEY), "{refused:?} {unfound:?}");
}
