//! What can be measured of requests and streams. Names are those of OpenTelemetry's conventions where there is one (see
//! docs/telemetry.md), else they begin with `debate.`. Nothing here holds what anybody said, and no path that a stranger made up.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use tonic::{Code, Status};

use crate::protocol::Protocol;

/// Replaces paths that are not served and methods that are not known: what strangers make up is not counted separately.
const OTHER: &str = "_OTHER";

/// Tells a measurement, as `tracing-opentelemetry` reads them.
macro_rules! measured {
    ($($field:tt)*) => {
        tracing::event!(target: "debate_grpc::metrics", tracing::Level::DEBUG, $($field)*)
    };
}

/// Tells that a stream was given up, whose client does not read.
pub(crate) fn given_up() {
    measured!(monotonic_counter.debate.streams_given_up = 1_u64);
}

/// Tells that a server became ready, or is so no longer.
pub(crate) fn ready(is_ready: bool) {
    measured!(counter.debate.ready = if is_ready { 1_i64 } else { -1_i64 });
}

/// Tells when the first certificate of the server's chain runs out, in seconds since 1970.
pub(crate) fn certificate_expires(ends: SystemTime) {
    let since = ends.duration_since(UNIX_EPOCH).unwrap_or_default();
    measured!(gauge.debate.tls.certificate_expires = since.as_secs());
}

/// One request, from its arrival to the end of its answer; reported when it is dropped.
#[derive(Debug)]
pub(crate) struct Call {
    began: Instant,
    protocol: Protocol,
    method: Method,
    place: &'static str,
    http: Option<StatusCode>,
    grpc: Option<Code>,
}

impl Call {
    /// Begins at a place of the table of scopes, where it is one.
    pub(crate) fn begin(protocol: Protocol, method: Method, place: Option<&'static str>) -> Self {
        let place = place.unwrap_or(OTHER);
        Self { began: Instant::now(), protocol, method, place, http: None, grpc: None }
    }

    /// Notes how the answer begins.
    pub(crate) fn answered(&mut self, response: &Response) {
        self.http = Some(response.status());
        self.ended(response.headers());
    }

    /// Notes the status of gRPC, which stands in the trailers, or in the headers where there is nothing else.
    pub(crate) fn ended(&mut self, headers: &HeaderMap) {
        self.grpc = Status::from_header_map(headers).map(|status| status.code()).or(self.grpc);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !tracing::enabled!(target: "debate_grpc::metrics", tracing::Level::DEBUG) {
            return;
        }
        let took = self.began.elapsed().as_secs_f64();
        match self.protocol {
            Protocol::Grpc => measured!(
                histogram.rpc.server.call.duration = took,
                rpc.system.name = "grpc",
                rpc.method = self.place.trim_start_matches('/'),
                // A client that went away before the end has cancelled.
                rpc.response.status_code = name(self.grpc.unwrap_or(Code::Cancelled))
            ),
            Protocol::Rest => measured!(
                histogram.http.server.request.duration = took,
                http.request.method = known(&self.method),
                http.route = self.place,
                http.response.status_code = self.http.map(|status| u64::from(status.as_u16()))
            ),
        }
    }
}

/// Returns the name of a method that HTTP knows (RFC 9110, PATCH of RFC 5789).
fn known(method: &Method) -> &str {
    let known = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::HEAD,
        Method::OPTIONS,
        Method::CONNECT,
        Method::PATCH,
        Method::TRACE,
    ];
    if known.contains(method) { method.as_str() } else { OTHER }
}

/// Returns a code's name as gRPC writes it, such as `NOT_FOUND`.
fn name(code: Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_grpc() {
        let names = [Code::Ok, Code::NotFound, Code::DeadlineExceeded].map(name);
        assert_eq!(names, ["OK", "NOT_FOUND", "DEADLINE_EXCEEDED"]);
    }
}
