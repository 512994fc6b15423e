//! Refusals as gRPC statuses, with details that programs can act on.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::refusal::Refusal;

/// Who says so, in every google.rpc.ErrorInfo.
pub(crate) const DOMAIN: &str = "debate.v1";

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let mut details = ErrorDetails::new();
        let facts = refusal.facts().into_iter().map(|(name, fact)| (name.to_owned(), fact));
        details.set_error_info(refusal.reason(), DOMAIN, facts.collect::<HashMap<_, _>>());
        if let Refusal::Invalid(violations) = &refusal {
            let violations = violations.0.iter();
            let fields =
                violations.map(|found| FieldViolation::new(found.field.as_str(), found.reason.as_str()));
            details.set_bad_request(fields.collect::<Vec<_>>());
        }
        if let Refusal::State { debate, why } = &refusal {
            details.add_precondition_failure_violation("STATE", debate.to_string(), why.as_str());
        }
        if let Refusal::NotFound(id) = &refusal {
            details.set_resource_info(
                "debate.v1.Debate",
                id.as_str(),
                "",
                "there is none that the caller may see",
            );
        }
        if let Some(wait) = refusal.retry_after() {
            details.set_retry_info(Some(wait));
        }
        Self::with_error_details(code(&refusal), refusal.to_string(), details)
    }
}

fn code(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::Invalid(_)
        | Refusal::Unreadable
        | Refusal::Undecodable(_)
        | Refusal::NotJson
        | Refusal::NotGrpc => Code::InvalidArgument,
        Refusal::NotFound(_) | Refusal::Archived { .. } | Refusal::NoPart { .. } | Refusal::NoProposal(_) => {
            Code::NotFound
        }
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
        Refusal::Corrupt(_) => Code::DataLoss,
        Refusal::Defect => Code::Internal,
    }
}
