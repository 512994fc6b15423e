//! Serves measurements to scrapers: `/metrics`, on its own port.

use std::convert::Infallible;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::access;
use crate::listen::{Connections, listen};
use crate::refusal::Refusal;

/// The media type of Prometheus's text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4";
/// Connections at one time, which no scraper needs more of: each takes a file that clients and the store could use.
const CONNECTIONS_MAX: usize = 64;

/// Serves what `scraped` returns, in Prometheus's text format, at `/metrics`; never ends.
///
/// Connections have the limits of all others, and there are 64 of them, each with one answer at one time: HTTP/2 is not
/// spoken. Where only this machine can connect, pages of other sites in the browsers on it are refused.
pub async fn serve_metrics(listener: TcpListener, scraped: fn() -> String) -> Infallible {
    let is_private = listener.local_addr().is_ok_and(access::is_private);
    let answer = async move |request: Request| -> Result<Response, Refusal> {
        if is_private && access::is_of_another_site(request.headers(), request.uri()) {
            return Ok(StatusCode::FORBIDDEN.into_response());
        }
        let text = Refusal::instead_of_panic(async { Ok(scraped()) }).await?;
        Ok(([(CONTENT_TYPE, TEXT_FORMAT)], text).into_response())
    };
    let app = Router::new().route("/metrics", get(answer));
    listen(listener, None, app, connections(), CancellationToken::new()).await;
    std::future::pending().await
}

fn connections() -> Connections {
    Connections {
        max: CONNECTIONS_MAX,
        per_address_max: CONNECTIONS_MAX,
        http2: false,
        ..Connections::default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn measurements_are_for_scrapers_and_neither_for_pages_of_other_sites_nor_for_floods() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve_metrics(listener, || "debate_ready 1".to_owned()));
        let ask = async |headers: String| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("GET /metrics HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
            // A server that has read enough may have ended already.
            let _unread = stream.write_all(request.as_bytes()).await;
            let mut reply = Vec::new();
            let _reset = stream.read_to_end(&mut reply).await;
            String::from_utf8_lossy(&reply).into_owned()
        };
        let here = format!("Host: {address}\r\n");
        let reply = ask(here.clone()).await;
        assert!(reply.starts_with("HTTP/1.1 200") && reply.ends_with("debate_ready 1"), "{reply}");
        for other in ["Host: evil.example\r\n".to_owned(), format!("{here}Origin: https://evil.example\r\n")]
        {
            let reply = ask(other).await;
            assert!(reply.starts_with("HTTP/1.1 403") && !reply.contains("debate_ready"), "{reply}");
        }
        let flood: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
        let reply = ask(format!("{here}{flood}")).await;
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431"), "{reply}");
        let mut silent = Vec::new();
        for _ in 0..64 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let waits = tokio::time::timeout(Duration::from_millis(300), ask(here.clone())).await;
        assert!(waits.is_err(), "no more files are taken than there are places: {waits:?}");
        drop(silent);
        let served = async { while !ask(here.clone()).await.contains("debate_ready") {} };
        tokio::time::timeout(Duration::from_secs(60), served).await.expect("a place is free again");
        serving.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn scrapers_that_stay_silent_lose_their_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve_metrics(listener, || "debate_ready 1".to_owned()));
        let asked = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
        for (said, answer) in [("", ""), ("GET /", ""), (&*format!("{asked}GET /"), "200"), (&*asked, "200")]
        {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(said.as_bytes()).await.unwrap();
            let silent = Instant::now();
            let mut reply = Vec::new();
            let reading = tokio::time::timeout(Duration::from_secs(1_000), stream.read_to_end(&mut reply));
            assert!(reading.await.is_ok(), "{said:?} and no more keeps its place");
            let reply = String::from_utf8_lossy(&reply);
            assert!(
                silent.elapsed() < Duration::from_secs(20) && reply.contains(answer),
                "{said:?}: {reply}"
            );
        }
        serving.abort();
        let others = crate::ServeOptions::default().connections;
        assert_eq!(connections(), Connections { max: 64, per_address_max: 64, http2: false, ..others });
    }

    #[tokio::test]
    async fn scrapers_get_one_answer_at_one_time_on_a_connection_for_http_2_is_not_spoken() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve_metrics(listener, || "debate_ready 1".to_owned()));
        let mut stream = TcpStream::connect(address).await.unwrap();
        // The preface of HTTP/2, and empty settings.
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        let mut reply = Vec::new();
        let reading = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut reply)).await;
        assert!(reading.is_ok(), "the connection goes on: {reply:?}");
        assert!(reply.is_empty() || reply.starts_with(b"HTTP/1.1 4"), "{reply:?}");
        serving.abort();
    }
}
