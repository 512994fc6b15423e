//! TLS, mutual TLS, and certificates that are replaced while the server runs.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use debate_grpc::tls::TlsFiles;
use debate_grpc::{Connections, ServeError, ServeOptions, serve};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use crate::hearing::Hearing;
use crate::house::{House, PATIENCE};

/// An authority, and what it signs.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Signs a certificate; returns it and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

fn write(folder: &TempDir, (certificate, key): &(String, String)) -> TlsFiles {
    let path = |name: &str| folder.path().join(name);
    fs::write(path("chain.pem"), certificate).unwrap();
    fs::write(path("key.pem"), key).unwrap();
    TlsFiles { certificate: path("chain.pem"), key: path("key.pem"), client_authorities: None }
}

/// Asks for health over TLS as a client who trusts `authority`; returns the answer, or nothing where there is none.
async fn ask(house: &House, authority: &Authority, identity: Option<(String, String)>) -> Option<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match identity {
        Some((certificate, key)) => {
            let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let stream = TcpStream::connect(house.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.ok()?;
    let mut received = String::new();
    stream.read_to_string(&mut received).await.ok()?;
    Some(received).filter(|received| !received.is_empty())
}

async fn with_tls(files: TlsFiles) -> House {
    House::with(ServeOptions { tls: Some(files), ..ServeOptions::default() }, "simulated:7").await
}

#[tokio::test]
async fn tls_is_served_alone_and_its_certificate_is_replaced_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Authority::new(), Authority::new());
    let house = with_tls(write(&folder, &old.sign("localhost"))).await;
    assert!(ask(&house, &old, None).await.unwrap().starts_with("HTTP/1.1 200"));
    assert_eq!(ask(&house, &new, None).await, None);
    write(&folder, &new.sign("localhost"));
    assert!(ask(&house, &new, None).await.is_some());
    fs::write(folder.path().join("key.pem"), "no key").unwrap();
    assert!(ask(&house, &new, None).await.is_some(), "files of no use leave things as they were");
    let mut plain = TcpStream::connect(house.address).await.unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut received = Vec::new();
    let _reset = plain.read_to_end(&mut received).await;
    assert!(!String::from_utf8_lossy(&received).contains("200"));
}

#[tokio::test]
async fn with_mutual_tls_only_clients_of_the_authority_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let (server, clients, others) = (Authority::new(), Authority::new(), Authority::new());
    let mut files = write(&folder, &server.sign("localhost"));
    let path = folder.path().join("clients.pem");
    fs::write(&path, &clients.pem).unwrap();
    files.client_authorities = Some(path.clone());
    let house = with_tls(files).await;
    assert!(ask(&house, &server, Some(clients.sign("app"))).await.is_some());
    assert_eq!(ask(&house, &server, None).await, None);
    assert_eq!(ask(&house, &server, Some(others.sign("app"))).await, None);
    fs::write(&path, format!("{}{}", clients.pem, others.pem)).unwrap();
    assert!(ask(&house, &server, Some(others.sign("app"))).await.is_some());
}

#[tokio::test]
async fn unusable_certificates_are_reported_before_serving() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let (certificate, _) = authority.sign("localhost");
    let foreign = write(&folder, &(certificate, authority.sign("localhost").1));
    let other = tempfile::tempdir().unwrap();
    let good = write(&other, &authority.sign("localhost"));
    let no_authorities = ["key.pem", "gone.pem"].map(|name| {
        let client_authorities = Some(other.path().join(name));
        TlsFiles { client_authorities, ..good.clone() }
    });
    // Neither a certificate, nor base64.
    let folders = ["AAAA", "!!!"].map(|text| (text, tempfile::tempdir().unwrap()));
    let no_whole_ones = folders.iter().flat_map(|(text, folder)| {
        let half = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        let authorities = folder.path().join("authorities.pem");
        fs::write(&authorities, format!("{}{half}", authority.pem)).unwrap();
        let (certificate, key) = authority.sign("localhost");
        let half_a_chain = write(folder, &(format!("{certificate}{half}"), key));
        [TlsFiles { client_authorities: Some(authorities), ..good.clone() }, half_a_chain]
    });
    let engine = House::quiet().await.engine;
    for files in no_authorities.into_iter().chain(no_whole_ones).chain([foreign]) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let options = ServeOptions { tls: Some(files.clone()), ..ServeOptions::default() };
        let served = serve(listener, engine.clone(), options, async {}).await;
        assert!(matches!(served, Err(ServeError::Tls(_))), "{files:?}: {served:?}");
    }
}

#[test]
fn the_first_certificate_of_a_chain_that_runs_out_tells_when() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = rcgen::date_time_ymd(2027, 3, 4);
    let certificate = params.signed_by(&key, &authority.issuer).unwrap().pem();
    let chain = format!("{certificate}{}", authority.pem);
    let files = write(&folder, &(chain, key.serialize_pem()));
    let ends = files.expiry().unwrap().unwrap();
    assert_eq!(ends.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(), 1_804_118_400);
    fs::write(&files.key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert!(files.expiry().is_err(), "a key of another certificate is found out");
}

#[tokio::test]
async fn certificate_expiry_metric_follows_a_replacement_when_idle() {
    let (hearing, _listening) = Hearing::begin();
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let ends_in = |year: i32| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(year, 3, 4);
        (params.signed_by(&key, &authority.issuer).unwrap().pem(), key.serialize_pem())
    };
    let _house = with_tls(write(&folder, &ends_in(2027))).await;
    hearing.wait("gauge.debate.tls.certificate_expires=1804118400", 1).await;
    write(&folder, &ends_in(2028));
    hearing.wait("gauge.debate.tls.certificate_expires=1835740800", 1).await;
}

#[tokio::test]
async fn a_server_in_plain_text_beyond_this_machine_says_so_in_its_log() {
    let (hearing, _listening) = Hearing::begin();
    let folder = tempfile::tempdir().unwrap();
    let engine = House::quiet().await.engine;
    let certificate = || Some(write(&folder, &Authority::new().sign("localhost")));
    for (address, tls, warnings) in
        [("127.0.0.1:0", None, 0), ("0.0.0.0:0", certificate(), 0), ("0.0.0.0:0", None, 1)]
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let options = ServeOptions {
            token: Some("a-secret-of-some-length".to_owned()),
            tls,
            ..ServeOptions::default()
        };
        serve(listener, engine.clone(), options, async {}).await.unwrap();
        let logged = hearing.logged("WARN", "tokens and debates go over the network in plain text");
        assert_eq!(logged.len(), warnings, "{address}: {logged:?}");
    }
}

/// How long a TLS handshake may take by default. A server with a shorter limit ends it earlier.
const DEFAULT_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_greeting_that_is_never_finished_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let connections = Connections { first_request: Duration::from_millis(300), ..Connections::default() };
    let tls = Some(write(&folder, &Authority::new().sign("localhost")));
    let house =
        House::with(ServeOptions { tls, connections, ..ServeOptions::default() }, "simulated:7").await;
    for begun in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        stream.write_all(begun).await.unwrap();
        let mut received = Vec::new();
        let read = tokio::time::timeout(DEFAULT_HANDSHAKE_TIMEOUT, stream.read_to_end(&mut received)).await;
        let _reset = read.expect("it is ended");
    }
}

#[tokio::test]
async fn a_greeting_that_comes_byte_by_byte_is_ended_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let connections = Connections { first_request: Duration::from_millis(300), ..Connections::default() };
    let tls = Some(write(&folder, &Authority::new().sign("localhost")));
    let house =
        House::with(ServeOptions { tls, connections, ..ServeOptions::default() }, "simulated:7").await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    let greeted = async {
        // A record as long as one may be, of which a byte comes now and then.
        for byte in [0x16, 3, 1, 0x40, 0, 1].into_iter().chain(std::iter::repeat(0)) {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            let read = tokio::time::timeout(Duration::from_millis(10), stream.read(&mut [0; 16])).await;
            if let Ok(Ok(0) | Err(_)) = read {
                return;
            }
        }
    };
    tokio::time::timeout(DEFAULT_HANDSHAKE_TIMEOUT, greeted).await.expect("it is ended");
}

/// Greets a server as a client that knows no version beyond `version`, and returns how the answer begins.
async fn greet(house: &House, version: [u8; 2]) -> [u8; 7] {
    let (random, cipher) = ([7; 32], [0xc0, 0x2b]);
    let signatures = [0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 4, 1];
    let groups = [0, 10, 0, 4, 0, 2, 0, 0x1d];
    let suites = [&[0, 0, 2][..], &cipher, &[1, 0]].concat();
    let extensions = [&[0, 20][..], &signatures, &groups].concat();
    let hello = [&version[..], &random, &suites, &extensions].concat();
    let record = [&[0x16, 3, 1, 0, 67, 1, 0, 0, 63][..], &hello].concat();
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream.write_all(&record).await.unwrap();
    let mut received = [0; 7];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut received)).await.expect("an answer").unwrap();
    received
}

#[tokio::test]
async fn tls_is_1_2_or_1_3_and_nothing_older() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new());
    let files = write(&folder, &authority.sign("localhost"));
    let house =
        House::with(ServeOptions { tls: Some(files), ..ServeOptions::default() }, "simulated:7").await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
        let config = config.with_root_certificates(roots.clone()).with_no_client_auth();
        let stream = TcpStream::connect(house.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        assert_eq!(stream.get_ref().1.protocol_version(), Some(version.version));
    }
    const PROTOCOL_VERSION: u8 = 70;
    assert_eq!(greet(&house, [3, 3]).await[0], 0x16, "the same greeting with TLS 1.2 is gone on with");
    for older in [[3, 0], [3, 1], [3, 2]] {
        let received = greet(&house, older).await;
        assert_eq!((received[0], received[6]), (0x15, PROTOCOL_VERSION), "{older:?}: {received:?}");
    }
}
