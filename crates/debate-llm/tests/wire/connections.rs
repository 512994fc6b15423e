//! When connections are opened, kept and closed.

use std::sync::Arc;
use std::time::Duration;

use debate_llm::{ChatModel, Models, Provider};

use crate::fault_server::{FaultServer, Response};
use crate::speech::{ok, part};
use crate::{ask, model, request};

/// Within which a server sees that its client is gone, on a machine with much else to do.
const PROMPTLY: Duration = Duration::from_secs(5);

#[tokio::test]
async fn k9_dropping_the_call_closes_the_connection() {
    for provider in Provider::ALL {
        let server = FaultServer::start(vec![Response::events(&part(provider, &["hé"])).then_stall()]).await;
        let model = model(provider, &server.base_url());
        let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let mut sink = move |delta: &str| sender.send(delta.to_owned()).unwrap();
        let request = request();
        tokio::select! {
            reply = model.complete(&request, &mut sink) => panic!("{reply:?}"),
            first = heard.recv() => assert_eq!(first.as_deref(), Some("hé")),
        }
        server.client_gone().await;
    }
}

#[tokio::test]
async fn k9_dropping_the_call_closes_the_connection_wherever_the_server_is() {
    for provider in Provider::ALL {
        for (name, response) in [
            ("before the headers", Response::stall()),
            ("in the headers", Response::endless_headers()),
            ("after the headers", Response::events("").then_stall()),
            ("in a trickle", Response::events(&part(provider, &["hé"])).trickling()),
        ] {
            let server = FaultServer::start(vec![response]).await;
            let model = model(provider, &server.base_url());
            let request = request();
            let mut hear = |_: &str| {};
            tokio::select! {
                reply = model.complete(&request, &mut hear) => panic!("{provider}: {name}: {reply:?}"),
                () = server.asked() => {}
            }
            let gone = tokio::time::timeout(PROMPTLY, server.client_gone()).await;
            assert!(gone.is_ok(), "{provider}: {name}");
        }
    }
}

#[tokio::test]
async fn a_finished_stream_leaves_its_connection_for_the_next_call() {
    for provider in Provider::ALL {
        let server = FaultServer::start(vec![ok(provider), ok(provider), ok(provider)]).await;
        let model = model(provider, &server.base_url());
        for _ in 0..3 {
            ask(&model, &request()).await.0.unwrap();
        }
        assert_eq!((server.requests().len(), server.connections()), (3, 1), "{provider}");
    }
}

#[tokio::test]
async fn a_warm_model_and_its_siblings_share_the_connection_that_was_opened_early() {
    for provider in Provider::ALL {
        let server = FaultServer::start(vec![ok(provider), ok(provider)]).await;
        let model = model(provider, &server.base_url());
        model.warm_up().await;
        assert_eq!((server.heads(), server.requests().len(), server.connections()), (1, 0, 1));
        ask(&model, &request()).await.0.unwrap();
        let sibling = model.with_model("another").unwrap();
        assert_eq!(sibling.name(), format!("{provider}:another"));
        ask(&sibling, &request()).await.0.unwrap();
        assert_eq!((server.requests().len(), server.connections()), (2, 1), "{provider}");
        let last = &server.requests()[1];
        assert!(last.head.contains("another") || last.json()["model"] == "another", "{provider}");
    }
}

#[tokio::test]
async fn models_of_one_provider_are_warmed_up_once_and_can_all_be_asked() {
    let server = FaultServer::start(vec![ok(Provider::OpenAi)]).await;
    let first = model(Provider::OpenAi, &server.base_url());
    let second = Arc::new(first.with_model("another").unwrap());
    let models = Models::new(Arc::new(first), [second as Arc<dyn ChatModel>]);
    models.warm_up().await;
    assert_eq!((server.heads(), server.connections()), (1, 1));
    let named = models.get("openai:another").unwrap();
    named.complete(&request(), &mut |_: &str| {}).await.unwrap();
    assert_eq!((server.requests()[0].json()["model"].as_str(), server.connections()), (Some("another"), 1));
}

#[tokio::test]
async fn warming_up_a_server_that_is_not_there_says_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let model = model(Provider::OpenAi, &base_url);
    model.warm_up().await;
    let error = ask(&model, &request()).await.0.unwrap_err();
    assert_eq!(error.kind.label(), "connection_failed");
}
