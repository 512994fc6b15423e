//! Refusals as problem+json (RFC 9457), with all violations in `errors`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use debate_core::request::Violation;
use serde::Serialize;
use serde_json::{Value, json};

use crate::refusal::Refusal;

/// The media type of a problem.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

#[derive(Serialize)]
struct Problem<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    /// The same word as in google.rpc.ErrorInfo.
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    debate_id: Option<String>,
    #[serde(skip_serializing_if = "<[Violation]>::is_empty")]
    errors: &'a [Violation],
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = http_status(&self);
        let errors: &[Violation] = match &self {
            Self::Invalid(violations) => &violations.0,
            _ => &[],
        };
        let detail = match &self {
            Self::Invalid(violations) => violations.summary(),
            other => other.to_string(),
        };
        let reason = self.reason();
        let problem = Problem {
            r#type: format!("urn:debate:problem:{}", reason.to_lowercase().replace('_', "-")),
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail,
            reason,
            debate_id: self.debate(),
            errors,
        };
        let body = serde_json::to_string(&problem).expect("a problem has string keys");
        let mut response = (status, [(header::CONTENT_TYPE, PROBLEM_JSON)], body).into_response();
        let headers = response.headers_mut();
        if let Some(wait) = self.retry_after() {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self == Self::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Returns why a stream of server-sent events does not go on.
pub(crate) fn of_stream(refusal: &Refusal) -> Value {
    let mut problem = json!({ "reason": refusal.reason(), "detail": refusal.to_string() });
    for (name, fact) in refusal.facts() {
        problem[name] = fact.into();
    }
    problem
}

fn http_status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::Unreadable | Refusal::Undecodable(_) => StatusCode::BAD_REQUEST,
        Refusal::NotJson | Refusal::NotGrpc => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Refusal::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::NotFound(_)
        | Refusal::NoPart { .. }
        | Refusal::NoProposal(_)
        | Refusal::NoPrompt(_)
        | Refusal::NoRoute => StatusCode::NOT_FOUND,
        Refusal::Archived { .. } => StatusCode::GONE,
        Refusal::NoMethod => StatusCode::METHOD_NOT_ALLOWED,
        Refusal::RequestTaken { .. }
        | Refusal::State { .. }
        | Refusal::Policy(_)
        | Refusal::PolicyRaced(_) => StatusCode::CONFLICT,
        Refusal::Busy { .. }
        | Refusal::TooFast { .. }
        | Refusal::TooManyAtOnce
        | Refusal::TooManyDebates { .. }
        | Refusal::Spent { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Forbidden { .. } => StatusCode::FORBIDDEN,
        Refusal::TooSlow | Refusal::Unread(_) => StatusCode::REQUEST_TIMEOUT,
        Refusal::BeyondHead { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
        Refusal::Unserved(_) => StatusCode::NOT_IMPLEMENTED,
        Refusal::Unauthenticated => StatusCode::UNAUTHORIZED,
        Refusal::Void { .. } | Refusal::ShuttingDown | Refusal::Unavailable => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Refusal::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Refusal::Corrupt(_) | Refusal::CorruptEvent(_) | Refusal::Defect => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
