//! Reaching servers through the proxy that the environment names: the test runs itself again with it set.

use std::process::Stdio;

use debate_llm::Provider;
use tokio::process::Command;

use crate::fault_server::{FaultServer, Response};
use crate::speech::ok;
use crate::{ask, model, request};

/// Set where the test runs itself again.
const AGAIN: &str = "DEBATE_TEST_PROXIED";

#[tokio::test]
async fn requests_take_the_proxy_that_the_environment_names() {
    if std::env::var_os(AGAIN).is_some() {
        return ask_through_the_proxy().await;
    }
    let proxy = FaultServer::start(vec![ok(Provider::OpenAi), Response::html(502)]).await;
    let address = proxy.base_url().replace("http://", "http://user:word@").replace("/v1", "");
    let name = "proxied::requests_take_the_proxy_that_the_environment_names";
    let mut again = Command::new(std::env::current_exe().unwrap());
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
        again.env(variable, &address);
    }
    // A machine may have no CA certificates.
    let folder = tempfile::tempdir().unwrap();
    let certificates = folder.path().join("cert.pem");
    let certificate = rcgen::generate_simple_self_signed(["model.invalid".to_owned()]).unwrap();
    std::fs::write(&certificates, certificate.cert.pem()).unwrap();
    again.env("SSL_CERT_FILE", &certificates);
    for variable in ["NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "REQUEST_METHOD"] {
        again.env_remove(variable);
    }
    again.args(["--exact", name, "--nocapture"]).env(AGAIN, "1").stdin(Stdio::null()).kill_on_drop(true);
    let output = again.output().await.unwrap();
    assert!(output.status.success(), "{output:?}");

    let heads: Vec<String> = proxy.requests().into_iter().map(|seen| seen.head).collect();
    let [forwarded, tunnelled, ..] = &heads[..] else { panic!("{heads:?}") };
    assert!(forwarded.starts_with("POST http://model.invalid/v1/chat/completions HTTP/1.1"), "{forwarded}");
    assert!(tunnelled.starts_with("CONNECT model.invalid:443 HTTP/1.1"), "{tunnelled}");
    for (head, asks_for_key) in [(forwarded, true), (tunnelled, false)] {
        let head = head.to_ascii_lowercase();
        assert!(head.contains("proxy-authorization: basic dxnlcjp3b3jk"), "{head}");
        assert_eq!(head.contains("sk-very-secret"), asks_for_key, "{head}");
    }
}

async fn ask_through_the_proxy() {
    let plain = model(Provider::OpenAi, "http://model.invalid/v1");
    ask(&plain, &request()).await.0.unwrap();
    let secured = model(Provider::OpenAi, "https://model.invalid/v1");
    assert_eq!(ask(&secured, &request()).await.0.unwrap_err().kind.label(), "connection_failed");
    // A server on this very machine is reached without.
    let server = FaultServer::start(vec![ok(Provider::OpenAi)]).await;
    ask(&model(Provider::OpenAi, &server.base_url()), &request()).await.0.unwrap();
    assert_eq!(server.connections(), 1);
    let head = server.requests().remove(0).head.to_ascii_lowercase();
    assert!(!head.contains("proxy-authorization"), "its login is the proxy's alone: {head}");
}
