//! Refusals as gRPC statuses, with details that programs can act on.

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::refusal::Refusal;

/// Who says so, in every google.rpc.ErrorInfo.
pub(crate) const DOMAIN: &str = "debate.v1";
/// When a client may try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let mut details = ErrorDetails::new();
        let debate = refusal.debate().map(|debate| ("debate_id".to_owned(), debate));
        details.set_error_info(refusal.reason(), DOMAIN, debate.into_iter().collect::<HashMap<_, _>>());
        if let Refusal::Invalid(violations) = &refusal {
            let violations = violations.0.iter();
            let fields =
                violations.map(|found| FieldViolation::new(found.field.as_str(), found.reason.as_str()));
            details.set_bad_request(fields.collect::<Vec<_>>());
        }
        if let Refusal::State { debate, why } = &refusal {
            details.add_precondition_failure_violation("STATE", debate.to_string(), why.as_str());
        }
        if refusal.should_retry() {
            details.set_retry_info(Some(RETRY_AFTER));
        }
        Self::with_error_details(code(&refusal), refusal.to_string(), details)
    }
}

fn code(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::Invalid(_) | Refusal::TooLong(_) | Refusal::Unreadable => Code::InvalidArgument,
        Refusal::NotFound(_) | Refusal::Archived { .. } | Refusal::NoPart { .. } => Code::NotFound,
        Refusal::RequestTaken { .. } => Code::AlreadyExists,
        Refusal::Busy { .. } => Code::ResourceExhausted,
        Refusal::BeyondHead { .. } => Code::OutOfRange,
        Refusal::State { .. } | Refusal::Void { .. } => Code::FailedPrecondition,
        Refusal::Unserved(_) | Refusal::NoRoute | Refusal::NoMethod => Code::Unimplemented,
        Refusal::Unauthenticated => Code::Unauthenticated,
        Refusal::ShuttingDown | Refusal::Unavailable => Code::Unavailable,
        Refusal::DeadlineExceeded => Code::DeadlineExceeded,
        Refusal::Corrupt(_) => Code::DataLoss,
        Refusal::Defect => Code::Internal,
    }
}
