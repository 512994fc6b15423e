//! The two ways in which a caller understands a refusal.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use tonic::{Code, Status};

use crate::refusal::Refusal;

/// What a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// gRPC: statuses in headers or trailers.
    Grpc,
    /// HTTP with problem+json.
    Rest,
}

impl Protocol {
    /// Tells by the type of the request's content.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let is_grpc = content_type.is_some_and(|value| value.starts_with(b"application/grpc"));
        if is_grpc { Self::Grpc } else { Self::Rest }
    }

    /// Reports a message that could not be decoded as the caller's fault; tonic says INTERNAL.
    ///
    /// All else that is INTERNAL is refused here, with details.
    pub(crate) fn refuse_undecodable(self, response: Response) -> Response {
        let headers = response.headers();
        if self == Self::Rest || headers.contains_key(Status::GRPC_STATUS_DETAILS) {
            return response;
        }
        match Status::from_header_map(headers) {
            Some(status) if status.code() == Code::Internal => {
                self.refuse(Refusal::Undecodable(status.message().to_owned()))
            }
            Some(_) | None => response,
        }
    }

    /// Refuses a request.
    pub(crate) fn refuse(self, refusal: Refusal) -> Response {
        match self {
            Self::Grpc => Status::from(refusal).into_http::<Body>(),
            Self::Rest => refusal.into_response(),
        }
    }
}
