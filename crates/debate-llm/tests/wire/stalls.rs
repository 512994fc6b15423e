//! Servers that fall silent, or never come to an end.

use std::time::Duration;

use debate_llm::{CallTime, ChatRequest, HttpModel, Provider};
use serde_json::json;
use tokio::time::timeout;

use crate::fault_server::{FaultServer, Response};
use crate::speech::{ok, part, stop};
use crate::{ask, config, model, outcome, request};

const SHORT: Duration = Duration::from_millis(30);

/// Within which a call whose time was short has ended, on a machine with much else to do.
const PROMPTLY: Duration = Duration::from_secs(10);

/// A name, a response that stalls, the limit to shorten, and what comes of it.
type Stall<'a> = (&'a str, Response, fn(&mut CallTime), Result<&'a str, &'a str>);

#[tokio::test]
async fn every_stall_ends_at_its_own_limit() {
    let first_byte = |time: &mut CallTime| time.first_token = SHORT;
    let idle = |time: &mut CallTime| time.idle = SHORT;
    for provider in Provider::ALL {
        let half = part(provider, &["hé"]);
        let complete = format!("{half}{}", stop(provider));
        let table: [Stall<'_>; 5] = [
            ("no headers", Response::stall(), first_byte, Err("timeout_first_byte")),
            ("headers alone", Response::events("").then_stall(), first_byte, Err("timeout_first_byte")),
            ("silence in the answer", Response::events(&half).then_stall(), idle, Err("timeout_idle")),
            ("silence after the answer", Response::events(&complete).then_stall(), idle, Ok("hé")),
            ("silence after the end mark", ok(provider).then_stall(), idle, Ok("héllo")),
        ];
        for (name, response, shorten, want) in table {
            let server = FaultServer::start(vec![response]).await;
            let model = model(provider, &server.base_url());
            let mut request = request();
            shorten(&mut request.time);
            let (reply, _) = ask(&model, &request).await;
            assert_eq!(outcome(&reply), want, "{provider}: {name}");
        }
    }
}

#[tokio::test]
async fn a_call_ends_in_its_time_whether_the_server_is_silent_trickles_or_never_stops() {
    for provider in Provider::ALL {
        let half = || Response::events(&part(provider, &["hé"]));
        let comment = || Response::events(": ping\n\n");
        for (name, response) in [
            ("no headers", Response::stall()),
            ("headers without end", Response::endless_headers()),
            ("headers alone", Response::events("").then_stall()),
            ("half an answer", half().then_stall()),
            ("a flood of comments", comment().without_end()),
            ("a trickle of comments", comment().trickling()),
            ("a trickle of text", half().trickling()),
            ("a trickle of blanks", Response::events(" ").trickling()),
        ] {
            let server = FaultServer::start(vec![response]).await;
            let mut config = config(provider, &server.base_url());
            config.limits.reply_bytes_max = usize::MAX;
            let model = HttpModel::new(config).unwrap();
            let (reply, _) = ask(&model, &ChatRequest { time: SHORT.into(), ..request() }).await;
            assert_eq!(outcome(&reply), Err("timeout_total"), "{provider}: {name}");
            server.client_gone().await;
        }
    }
}

#[tokio::test]
async fn a_call_ends_in_its_time_whether_the_body_of_an_error_stalls_or_trickles() {
    for provider in Provider::ALL {
        let error = || Response::json(500, &json!({"error": {"message": "no"}}));
        for (name, response) in [("silence", error().then_stall()), ("a trickle", error().trickling())] {
            let server = FaultServer::start(vec![response]).await;
            let model = model(provider, &server.base_url());
            let time = CallTime { idle: Duration::from_secs(3_600), ..SHORT.into() };
            let request = ChatRequest { time, ..request() };
            let ended = timeout(PROMPTLY, ask(&model, &request)).await;
            let (reply, _) = ended.unwrap_or_else(|_| panic!("{provider}: {name}"));
            // On a busy machine the time may be over before the error came.
            let is_expected = matches!(outcome(&reply), Err("server_error" | "timeout_total"));
            assert!(is_expected, "{provider}: {name}: {reply:?}");
            server.client_gone().await;
        }
    }
}

#[tokio::test]
async fn headers_without_end_are_waited_for_like_a_first_byte() {
    for provider in Provider::ALL {
        let server = FaultServer::start(vec![Response::endless_headers()]).await;
        let mut request = request();
        request.time.first_token = SHORT;
        let (reply, _) = ask(&model(provider, &server.base_url()), &request).await;
        assert_eq!(outcome(&reply), Err("timeout_first_byte"), "{provider}");
        server.client_gone().await;
    }
}

#[tokio::test]
async fn server_error_with_an_endless_body_is_retried() {
    for provider in Provider::ALL {
        let error = Response::json(500, &json!({"error": {"message": "no"}}));
        let server = FaultServer::start(vec![error.trickling(), ok(provider)]).await;
        let mut request = request();
        request.time.idle = SHORT;
        let (reply, _) = ask(&model(provider, &server.base_url()), &request).await;
        assert_eq!(outcome(&reply), Ok("héllo"), "{provider}");
        assert_eq!(reply.unwrap().wire_retries, 1, "{provider}");
        server.client_gone().await;
    }
}
