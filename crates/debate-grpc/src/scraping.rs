//! Measurements for whoever scrapes them: `/metrics`, on a port of its own.

use std::io;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::net::TcpListener;

/// The media type of Prometheus's text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4";

/// Serves what `scraped` returns, in Prometheus's text format, at `/metrics`; ends with an error or not at all.
///
/// # Errors
/// The listener failed.
pub async fn serve_metrics(listener: TcpListener, scraped: fn() -> String) -> io::Result<()> {
    let answer = async move || ([(CONTENT_TYPE, TEXT_FORMAT)], scraped());
    axum::serve(listener, Router::new().route("/metrics", get(answer))).await
}
