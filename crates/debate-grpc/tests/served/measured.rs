//! Every request is measured once, with its method and how it ended, and panics where no token is needed are reported.

use axum::Router;
use axum::routing::get;
use debate_grpc::{ServeOptions, serve_metrics};
use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::hearing::Hearing;
use crate::house::House;
use crate::tokens::start;

const ID: &str = "00000000-0000-4000-8000-000000000000";

#[tokio::test]
async fn requests_are_measured_by_method_and_status_and_never_by_what_strangers_make_up() {
    let (hearing, _listening) = Hearing::begin();
    let house = House::quiet().await;
    let mut client = DebateServiceClient::new(house.channel().await);
    let id = client.start_debate(start("")).await.unwrap().into_inner().debate.unwrap().id;
    let get = v1::GetDebateRequest { debate_id: ID.to_owned(), ..Default::default() };
    client.get_debate(get).await.unwrap_err();
    let watch = v1::WatchDebateRequest { debate_id: id.clone(), ..Default::default() };
    let left = client.watch_debate(watch.clone()).await.unwrap();
    drop(left);
    let mut stays = client.watch_debate(watch).await.unwrap().into_inner();
    house.let_all_answer();
    while stays.message().await.unwrap().is_some() {}
    house.get("/api/v1/debates").await;
    house.get(&format!("/api/v1/debates/{ID}")).await;
    house.get("/made/up").await;
    house.ask("MADEUP", "/api/v1/debates", &[], b"").await;
    let over_grpc = |method: &str, code: &str| {
        format!(
            "histogram.rpc.server.call.duration rpc.system.name=grpc rpc.method={method} rpc.response.status_code={code}"
        )
    };
    let over_http = |route: &str, status: u16| {
        format!(
            "histogram.http.server.request.duration http.request.method=GET http.route={route} http.response.status_code={status}"
        )
    };
    for measurement in [
        over_grpc("debate.v1.DebateService/StartDebate", "OK"),
        over_grpc("debate.v1.DebateService/GetDebate", "NOT_FOUND"),
        over_grpc("debate.v1.DebateService/WatchDebate", "CANCELLED"),
        over_grpc("debate.v1.DebateService/WatchDebate", "OK"),
        over_http("/api/v1/debates", 200),
        over_http("/api/v1/debates/{debate_id}", 404),
        over_http("_OTHER", 404),
        over_http("/api/v1/debates", 405).replace("=GET", "=_OTHER"),
    ] {
        hearing.wait(&measurement, 1).await;
    }
}

#[tokio::test]
async fn a_panic_where_no_token_is_needed_is_an_answer_without_its_message_and_an_error_in_the_log() {
    fn panics() -> String {
        panic!("on purpose")
    }
    let (hearing, _listening) = Hearing::begin();
    let pages = Router::new().route("/page", get(async || panics()));
    let house = House::with(ServeOptions { pages, ..ServeOptions::default() }, "simulated:7").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let scraped = listener.local_addr().unwrap();
    let scraping = tokio::spawn(serve_metrics(listener, panics));
    for (address, path) in [(house.address, "/page"), (scraped, "/metrics")] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let asked = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, problem) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{path}: no answer"));
        let problem: Value = serde_json::from_str(problem).unwrap();
        assert!(head.starts_with("HTTP/1.1 500") && problem["reason"] == "INTERNAL", "{path}: {text}");
        assert!(!text.contains("purpose"), "{path}: {text}");
    }
    assert_eq!(hearing.logged("ERROR", "a handler panicked").len(), 2);
    scraping.abort();
}
