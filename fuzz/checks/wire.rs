//! Whatever comes in as a message of gRPC says the same as JSON would: a debate that can be opened, or why not.

use debate_core::formats::accept::accept;
use debate_grpc::from_proto::request_json;
use debate_proto::v1;
use prost::Message as _;

/// Checks what holds for every message.
pub(crate) fn check(data: &[u8]) {
    let Ok(request) = v1::StartDebateRequest::decode(data) else { return };
    match request_json(request).and_then(|json| accept(&json).map(|accepted| (json, accepted.digest()))) {
        Ok((json, digest)) => {
            let again = accept(&json).expect("what was accepted is accepted again");
            assert_eq!(again.digest(), digest, "a request has one digest");
        }
        Err(violations) => assert!(!violations.0.is_empty(), "a refusal says why"),
    }
}
