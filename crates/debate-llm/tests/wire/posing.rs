//! Who poses as a provider or as a search service, behind a name that was led elsewhere.
//!
//! Certificates are trusted where the system trusts them, or by `SSL_CERT_FILE`. A process reads that once, so the test
//! runs itself again with it set.

use std::sync::{Arc, Mutex};

use debate_llm::http::search::{SearchEndpoint, SearchQuestion};
use debate_llm::{ApiKey, Provider};
use rcgen::{Certificate, CertificateParams, KeyPair, date_time_ymd};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::{KEY, ask, model, request};

/// Where the test that runs itself again finds the servers.
const PORTS: &str = "DEBATE_TEST_POSING_PORTS";

/// A server with a certificate of its own making, and what each connection brought: nothing where the client would not go on.
struct Server {
    certificate: Certificate,
    port: u16,
    brought: Arc<Mutex<Vec<Option<String>>>>,
}

impl Server {
    async fn start(name: &str, last_year: i32) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
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
        let brought = Arc::<Mutex<Vec<_>>>::default();
        let noted = Arc::clone(&brought);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut bytes = vec![0; 16 * 1024];
                let read = match acceptor.accept(stream).await {
                    Ok(mut stream) => Some(stream.read(&mut bytes).await.unwrap()),
                    Err(_) => None,
                };
                let text = read.map(|read| String::from_utf8_lossy(&bytes[..read]).into_owned());
                noted.lock().unwrap().push(text);
            }
        });
        Self { certificate, port, brought }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_poses_as_a_provider_or_a_search_service_is_sent_nothing() {
    if let Ok(ports) = std::env::var(PORTS) {
        for port in ports.split(' ') {
            ask_both(port).await;
        }
        return;
    }
    let honest = Server::start("localhost", 2999).await;
    let posers = [
        ("of another name", Server::start("elsewhere.test", 2999).await),
        ("that ran out", Server::start("localhost", 2020).await),
        ("that nobody vouches for", Server::start("localhost", 2999).await),
    ];
    let trusted = [&honest, &posers[0].1, &posers[1].1].map(|server| server.certificate.pem()).concat();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trusted.pem"), trusted).unwrap();
    let ports = [&honest, &posers[0].1, &posers[1].1, &posers[2].1].map(|server| server.port.to_string());
    let name = "posing::who_poses_as_a_provider_or_a_search_service_is_sent_nothing";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(PORTS, ports.join(" "))
        .env("SSL_CERT_FILE", folder.path().join("trusted.pem"))
        .env_remove("SSL_CERT_DIR")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let brought = honest.brought.lock().unwrap().clone();
    let has_key = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(KEY));
    assert!(brought.len() > 1 && brought.iter().all(has_key), "{brought:?}");
    for (what, poser) in posers {
        let brought = poser.brought.lock().unwrap().clone();
        assert!(
            brought.len() > 1 && brought.iter().all(Option::is_none),
            "a certificate {what}: {brought:?}"
        );
    }
}

/// Asks whoever is at a port as a model, and as a search service; nobody there answers.
async fn ask_both(port: &str) {
    let base_url = format!("https://localhost:{port}/v1");
    let search = SearchEndpoint::new(&base_url, Some(&ApiKey::new(KEY))).unwrap();
    let question = SearchQuestion { tool: "search_web", query: "harbour rents", count: 8 };
    let unfound = search.ask(&question).await.unwrap_err();
    let refused = ask(&model(Provider::OpenAi, &base_url), &request()).await.0.unwrap_err();
    assert!(!format!("{refused:?} {unfound:?}").contains(KEY), "{refused:?} {unfound:?}");
}
