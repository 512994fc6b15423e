//! The limits of tokens that refusals name: that of an answer, and the context window.

/// How a refusal names the limit of an answer, in lower case.
const CAP_WORDS: [&str; 8] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxoutputtokens",
    "max_new_tokens",
    "max output tokens",
    "completion tokens",
    "in the completion",
];

/// How it says that the limit is too large.
const TOO_LARGE: [&str; 7] =
    ["too large", "at most", "maximum", "less than or equal", "range", "exceeds", "<="];

/// How a refusal says that question and answer do not fit into the context window, in lower case.
const WINDOW_WORDS: [&str; 10] = [
    "context length",
    "context window",
    "context size",
    "context_length_exceeded",
    "exceed_context_size",
    "prompt is too long",
    "input is too long",
    "input token count",
    "prompt exceeds n_ctx",
    "longer than the context",
];

/// What stands before the size of the window, the surest first.
const BEFORE_WINDOW: [&str; 11] = [
    "maximum context length is",
    "maximum context length of",
    "context length is only",
    "context size (",
    "\"n_ctx\":",
    "tokens >",
    "tokens allowed (",
    "context length of",
    "context window of",
    "context length",
    "context window",
];

/// What stands behind the size of the question.
const BEHIND_INPUT: [&str; 5] =
    ["in the messages", "input tokens", "of text input", "in your prompt", "in the prompt"];

/// The fewest tokens that a limit can be: smaller numbers are parts of names.
const LIMIT_MIN: u32 = 64;

/// How far behind its words a number is looked for.
const NEAR_CHARS: usize = 24;

/// A limit of an answer that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cap {
    /// By the model, whatever it is asked.
    OfModel(u32),
    /// With this question, which leaves no more room.
    OfQuestion(u32),
}

/// Returns the limit that is taken instead of `sent`, where a refusal names one; `visible` tokens are needed.
pub(super) fn cap(message: &str, sent: u32, visible: u32) -> Option<Cap> {
    let message = message.to_lowercase();
    if !is_about_cap(&message) {
        return None;
    }
    if let Some(window) = window(&message) {
        let input = BEHIND_INPUT.iter().find_map(|words| number_before(&message, words))?;
        let room = window.saturating_sub(input);
        return (room >= visible && room < sent).then_some(Cap::OfQuestion(room));
    }
    let largest = numbers(&message).filter(|number| (LIMIT_MIN..sent).contains(number)).max()?;
    let is_first_refused =
        message.contains("(exclusive)") && number_before(&message, "(exclusive)") == Some(largest);
    Some(Cap::OfModel(largest - u32::from(is_first_refused)))
}

/// Returns whether a refusal says, in lower case, that the limit of an answer is too large.
pub(super) fn is_about_cap(message: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|words| message.contains(words));
    has(&CAP_WORDS) && has(&TOO_LARGE)
}

/// Returns whether a refusal, its whole body, says that the window is exceeded, and the window where it is named.
pub(super) fn window_exceeded(body: &str) -> Option<Option<u32>> {
    let body = body.to_lowercase();
    WINDOW_WORDS.iter().any(|words| body.contains(words)).then(|| window(&body))
}

fn window(text: &str) -> Option<u32> {
    BEFORE_WINDOW.iter().find_map(|words| number_behind(text, words))
}

/// Returns the first number close behind `words`.
fn number_behind(text: &str, words: &str) -> Option<u32> {
    let rest = &text[text.find(words)? + words.len()..];
    let near = rest.char_indices().nth(NEAR_CHARS).map_or(rest.len(), |(end, _)| end);
    let digits = rest[..near].find(|c: char| c.is_ascii_digit())?;
    numbers(&rest[digits..]).next().filter(|number| *number >= LIMIT_MIN)
}

/// Returns the last number before `words`, with nothing but blanks between.
fn number_before(text: &str, words: &str) -> Option<u32> {
    let before = text[..text.find(words)?].trim_end();
    let begins = before.rfind(|c: char| !c.is_ascii_digit() && c != ',' && c != '_')? + 1;
    numbers(&before[begins..]).next()
}

/// Returns the whole numbers in a text, however their digits are grouped; what is too large for a limit is left out.
fn numbers(text: &str) -> impl Iterator<Item = u32> {
    let parts = text.split(|c: char| !c.is_ascii_digit() && c != ',' && c != '_');
    parts.filter_map(|part| part.replace([',', '_'], "").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p23_a_refused_cap_is_read_as_providers_say_it() {
        let of_model = |limit| Some(Cap::OfModel(limit));
        for (message, want) in [
            (
                "max_tokens is too large: 100000. This model supports at most 4096 completion tokens, \
                 whereas you provided 100000.",
                of_model(4096),
            ),
            (
                "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for \
                 claude-sonnet-4-5-20250929",
                of_model(64_000),
            ),
            (
                "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range \
                 is from 1 (inclusive) to 65537 (exclusive).",
                of_model(65_536),
            ),
            ("`max_completion_tokens` must be less than or equal to `32768`", of_model(32_768)),
            ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", of_model(8_192)),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context \
                 length is 64001 tokens and your request has 24235 input tokens (100000 > 64001 - 24235).",
                Some(Cap::OfQuestion(39_766)),
            ),
            (
                "This endpoint's maximum context length is 131,072 tokens. However, you requested about 132,000 \
                 tokens (32,000 of text input, 100,000 in the output). max_tokens exceeds it",
                Some(Cap::OfQuestion(99_072)),
            ),
            (
                "This model's maximum context length is 1024 tokens. However, you requested 100500 tokens \
                 (500 in the messages, 100000 in the completion).",
                None,
            ),
            (
                "Unsupported parameter: 'max_tokens' is not supported with o3-mini. Use 'max_completion_tokens'.",
                None,
            ),
            ("messages.1: the maximum is 5", None),
        ] {
            assert_eq!(cap(message, 100_000, 600), want, "{message}");
        }
    }

    #[test]
    fn p23_an_exceeded_window_is_read_as_servers_say_it() {
        for (body, want) in [
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}"#,
                Some(Some(8_192)),
            ),
            (
                "request (1407 tokens) exceeds the available context size (256 tokens), try increasing it",
                Some(Some(256)),
            ),
            (
                "This model's maximum context length is 4097 tokens, however you requested 4430",
                Some(Some(4_097)),
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(Some(200_000))),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(Some(1_048_576)),
            ),
            ("Your input exceeds the context window of this model. Please adjust your input", Some(None)),
            ("Requested tokens (5000) exceed context window of 2048", Some(Some(2_048))),
            ("messages.0.content: too long", None),
        ] {
            assert_eq!(window_exceeded(body), want, "{body}");
        }
    }
}
