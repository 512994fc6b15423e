//! Refusals as gRPC statuses, with details that programs can act on.

use std::collections::HashMap;

use axum::http::HeaderMap;
use debate_core::request::{Violations, WHOLE};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::refusal::Refusal;

/// Who says so, in every google.rpc.ErrorInfo.
pub(crate) const DOMAIN: &str = "debate.v1";

/// Bytes of one text of a status, and of all violations that it lists: a status travels in headers, and gRPC's own clients
/// take 8 KiB of them.
const TEXT_BYTES_MAX: usize = 500;
const VIOLATIONS_BYTES_MAX: usize = 3_500;
/// Bytes of a violation in addition to its texts.
const VIOLATION_FRAME_BYTES: usize = 10;

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let mut details = ErrorDetails::new();
        let facts = refusal.facts().into_iter().map(|(name, fact)| (name.to_owned(), cut(&fact)));
        details.set_error_info(refusal.reason(), DOMAIN, facts.collect::<HashMap<_, _>>());
        if let Refusal::Invalid(violations) = &refusal {
            details.set_bad_request(fitting(violations));
        }
        if let Refusal::State { debate, why } = &refusal {
            details.add_precondition_failure_violation("STATE", debate.to_string(), cut(why));
        }
        if let Refusal::NotFound(id) = &refusal {
            details.set_resource_info(
                "debate.v1.Debate",
                cut(id),
                "",
                "there is none that the caller may see",
            );
        }
        if let Some(wait) = refusal.retry_after() {
            details.set_retry_info(Some(wait));
        }
        Self::with_error_details(code(&refusal), cut(&refusal.to_string()), details)
    }
}

/// Returns the violations that fit into a status; where some do not, the last one says so.
fn fitting(violations: &Violations) -> Vec<FieldViolation> {
    let mut left = VIOLATIONS_BYTES_MAX;
    let mut listed = Vec::new();
    for found in &violations.0 {
        let violation = FieldViolation::new(cut(&found.field), cut(&found.reason));
        let bytes = violation.field.len() + violation.description.len() + VIOLATION_FRAME_BYTES;
        if bytes > left {
            listed.push(FieldViolation::new(WHOLE, "breaks more rules than fit here"));
            break;
        }
        left -= bytes;
        listed.push(violation);
    }
    listed
}

/// Returns a text, or its beginning.
fn cut(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(TEXT_BYTES_MAX)])
}

/// Cuts the text of a status in headers, even if a library wrote it: libraries repeat what a client sent, however long.
pub(crate) fn shorten(headers: &mut HeaderMap) {
    // Every byte of a text that is cut is escaped at most.
    let is_long = headers.get(Status::GRPC_MESSAGE).is_some_and(|text| text.len() > 4 * TEXT_BYTES_MAX);
    if is_long && let Some(status) = Status::from_header_map(headers) {
        let shorter = Status::new(status.code(), cut(status.message()));
        let _written = shorter.add_header(headers);
    }
}

fn code(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::Invalid(_)
        | Refusal::Unreadable
        | Refusal::Undecodable(_)
        | Refusal::NotJson
        | Refusal::NotGrpc => Code::InvalidArgument,
        Refusal::NotFound(_)
        | Refusal::Archived { .. }
        | Refusal::NoPart { .. }
        | Refusal::NoProposal(_)
        | Refusal::NoPrompt(_) => Code::NotFound,
        Refusal::RequestTaken { .. } => Code::AlreadyExists,
        Refusal::Busy { .. }
        | Refusal::TooFast { .. }
        | Refusal::TooManyAtOnce
        | Refusal::TooManyDebates { .. }
        | Refusal::Spent { .. }
        | Refusal::TooLong(_) => Code::ResourceExhausted,
        Refusal::BeyondHead { .. } => Code::OutOfRange,
        Refusal::State { .. } | Refusal::Void { .. } | Refusal::Policy(_) => Code::FailedPrecondition,
        Refusal::Unserved(_) | Refusal::NoRoute | Refusal::NoMethod => Code::Unimplemented,
        Refusal::Unauthenticated => Code::Unauthenticated,
        Refusal::Forbidden { .. } => Code::PermissionDenied,
        Refusal::ShuttingDown | Refusal::Unavailable => Code::Unavailable,
        // Resuming, or looking again, is another request than this one, so it is not for a client's transport to send it again.
        Refusal::Unread(_) | Refusal::PolicyRaced(_) => Code::Aborted,
        Refusal::DeadlineExceeded | Refusal::TooSlow => Code::DeadlineExceeded,
        Refusal::Corrupt(_) | Refusal::CorruptEvent(_) => Code::DataLoss,
        Refusal::Defect => Code::Internal,
    }
}

#[cfg(test)]
mod tests {
    use debate_core::id::DebateId;
    use debate_core::request::Violation;

    use super::*;

    /// Returns the bytes of a status as it is sent, as HTTP/2 counts headers.
    fn header_bytes(refusal: Refusal) -> usize {
        let mut headers = HeaderMap::new();
        Status::from(refusal).add_header(&mut headers).unwrap();
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
    }

    #[test]
    fn k12_whatever_a_refusal_says_its_status_fits_into_the_headers_that_clients_take() {
        let long = "é".repeat(1_000_000);
        let violation =
            |field: &str, reason: &str| Violation { field: field.to_owned(), reason: reason.to_owned() };
        let many =
            (0..101).map(|n| violation(&format!("prediction_context.key_variables[{n}]"), "is required"));
        let short = (0..101).map(|_| violation("a", "b"));
        for refusal in [
            Refusal::NotFound(long.clone()),
            Refusal::Unserved(long.clone()),
            Refusal::Undecodable(long.clone()),
            Refusal::State { debate: DebateId(uuid::Uuid::nil()), why: long.clone() },
            Refusal::Invalid(Violations(vec![violation(&long, &long); 100])),
            Refusal::Invalid(Violations(many.collect())),
            Refusal::Invalid(Violations(short.collect())),
        ] {
            let bytes = header_bytes(refusal.clone());
            assert!(bytes <= 8_000, "{bytes} bytes of {:.100}", refusal.to_string());
        }
    }

    #[test]
    fn k12_violations_that_fit_are_listed_whole_and_more_are_noted() {
        let fields_of = |violations: Vec<Violation>| {
            let fields = fitting(&Violations(violations)).into_iter();
            fields.map(|found| (found.field, found.description)).collect::<Vec<_>>()
        };
        let violation =
            |n: usize| Violation { field: format!("criteria[{n}].name"), reason: "is required".to_owned() };
        let few: Vec<_> = (0..50).map(violation).collect();
        assert_eq!(
            fields_of(few.clone()),
            few.iter().map(|found| (found.field.clone(), found.reason.clone())).collect::<Vec<_>>()
        );
        let listed = fields_of((0..101).map(violation).collect());
        let (last, fit) = listed.split_last().unwrap();
        assert!((80..100).contains(&fit.len()), "{}", fit.len());
        assert_eq!(*last, ("request".to_owned(), "breaks more rules than fit here".to_owned()));
        let long = fields_of(vec![Violation { field: "é".repeat(400), reason: "x".repeat(501) }]);
        assert_eq!(long, [(format!("{}…", "é".repeat(250)), format!("{}…", "x".repeat(500)))]);
    }
}
