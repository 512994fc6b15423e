//! What the words of providers for the end of an answer mean: one table for all protocols, as servers pass on
//! each other's.

use crate::Ending;

/// Returns what a provider's word means; all that is not in the table is unknown (rule K18).
pub(super) fn ending_of(word: &str) -> Ending {
    match word.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "complete" | "completed" => {
            Ending::Complete
        }
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => Ending::ToolCalls,
        "length"
        | "max_tokens"
        | "model_length"
        | "max_output_tokens"
        | "max_completion_tokens"
        | "model_context_window_exceeded"
        // The status of a response; why it is incomplete is said elsewhere, and left out by some servers.
        | "incomplete" => Ending::CutInText,
        "content_filter" | "refusal" | "sensitive" | "safety" | "recitation" | "blocklist"
        | "prohibited_content" | "spii" | "language" | "model_armor" | "image_safety" => Ending::Refused,
        "pause_turn" => Ending::Paused,
        "error"
        | "network_error"
        | "server_error"
        | "upstream_error"
        | "insufficient_system_resource"
        | "abort"
        | "aborted"
        | "cancelled"
        | "canceled"
        | "failed"
        | "timeout"
        | "malformed_response"
        | "malformed_function_call"
        | "unexpected_tool_call"
        | "too_many_tool_calls" => Ending::Failed,
        _ => Ending::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k18_a_word_that_is_not_in_the_table_is_unknown() {
        for word in ["stop", "STOP", "end_turn", "COMPLETE"] {
            assert_eq!(ending_of(word), Ending::Complete, "{word}");
        }
        for word in ["error", "network_error", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL"] {
            assert_eq!(ending_of(word), Ending::Failed, "{word}");
        }
        for word in ["", "stopped", "finish", "null", "OTHER", "FINISH_REASON_UNSPECIFIED", "in_progress"] {
            assert_eq!(ending_of(word), Ending::Unknown, "{word}");
        }
    }
}
