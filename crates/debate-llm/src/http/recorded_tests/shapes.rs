//! Bodies written for the purpose: what ends an answer, what is none, what is kept apart.

use super::*;
use crate::{ToolCall, Usage};

fn check_by(provider: Provider, body: &str, want: Result<(&str, &str), &str>) {
    for seed in 0..8 {
        let (answer, _) = decode(provider, body.as_bytes(), seed);
        let got = answer.as_ref().map_or_else(
            |error| Err(error.kind.label()),
            |answer| Ok((answer.text.as_str(), answer.reasoning.as_str())),
        );
        assert_eq!(got, want, "{provider}: {body:?}, split {seed}");
    }
}

fn check(body: &str, want: Result<(&str, &str), &str>) {
    check_by(Provider::OpenAi, body, want);
}

#[test]
fn k18_only_a_finish_reason_that_is_known_ends_a_stream() {
    let part = r#"data: {"choices":[{"index":0,"delta":{"content":"héé"},"finish_reason":null}]}"#;
    let stop = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    check(&format!("{part}\n\n{stop}\n\ndata: [DONE]\n\n"), Ok(("héé", "")));
    check(&format!("{part}\n\n{stop}\n\n"), Ok(("héé", "")));
    check(&format!("{part}\n\n{stop}"), Ok(("héé", "")));
    check(&format!("{part}\n\ndata: [DONE]"), Err("truncated"));
    check(&format!("{part}\n\n"), Err("truncated"));
    check(&format!("{part}\n\n{}", &stop[..40]), Err("truncated"));
    check(": keep-alive\n\n", Err("malformed_response"));
    check(": keep-alive\n\ndata: {}\n\n", Err("truncated"));
}

#[test]
fn unusual_bodies_decode_or_fail_by_kind() {
    check("", Err("malformed_response"));
    check(" \n", Err("malformed_response"));
    check("<!doctype html><p>no", Err("malformed_response"));
    check("upstream connect error", Err("malformed_response"));
    check("data: nothing\n\n", Err("malformed_response"));
    check("{\"choices\":", Err("malformed_response"));
    check("[]", Err("malformed_response"));
    check(r#"{"ok":true}"#, Err("malformed_response"));
    check(r#"{"choices":[]}"#, Err("malformed_response"));
    check(r#"{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}"#, Ok(("x", "")));
    check(r#"{"choices":[{"message":{"content":"x"}}]}"#, Err("truncated"));
    check(r#"{"error":{"message":"busy","code":429}}"#, Err("rate_limited"));
    check(r#"{"error":"broken"}"#, Err("stream_error"));
    check("event: error\ndata: {\"error\":{\"message\":\"oops\"}}\n\n", Err("stream_error"));
}

#[test]
fn k10_thoughts_are_kept_apart_from_the_answer() {
    let parts = r#"data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]},"finish_reason":"stop"}]}"#;
    check(&format!("{parts}\n\n"), Ok(("yes", "hm")));
    let named = [
        r#""reasoning":"hm""#,
        r#""reasoning_content":"hm""#,
        r#""reasoning":null,"reasoning_details":[{"type":"reasoning.text","text":"h"},{"type":"reasoning.summary","summary":"m"},{"type":"reasoning.encrypted","data":"x"}]"#,
        r#""reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]"#,
        r#""reasoning":["h",{"content":[{"text":"m"}]}]"#,
    ];
    for thoughts in named {
        let delta =
            format!(r#"{{"choices":[{{"delta":{{{thoughts},"content":null}},"finish_reason":"stop"}}]}}"#);
        check(&format!("data: {delta}\n\ndata: [DONE]\n\n"), Ok(("", "hm")));
    }
}

#[test]
fn k6_parts_of_a_content_are_text_or_thoughts() {
    for kind in ["text", "output_text", "output"] {
        let parts = format!(
            r#"[{{"type":"reasoning","summary":[{{"type":"summary_text","text":"h"}}]}},{{"type":"summary","text":"m"}},{{"type":"{kind}","text":"yes"}},{{"type":"{kind}","text":null}},{{"type":"image","text":"no"}}]"#
        );
        let body = format!(r#"{{"choices":[{{"message":{{"content":{parts}}},"finish_reason":"stop"}}]}}"#);
        check(&body, Ok(("yes", "hm")));
        let item = r#"{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}],"summary":null}"#;
        let body = format!(
            r#"{{"status":"completed","output":[{item},{{"type":"message","content":[{{"type":"{kind}","text":"yes"}}]}}]}}"#
        );
        check_by(Provider::OpenAiResponses, &body, Ok(("yes", "hm")));
    }
    check(r#"{"choices":[{"message":{"content":["y","es"]},"finish_reason":"stop"}]}"#, Ok(("yes", "")));
}

#[test]
fn a_refusal_is_no_answer() {
    check(r#"{"choices":[{"message":{"content":null,"refusal":"I will not."}}]}"#, Err("refused"));
    check(r#"{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}"#, Err("refused"));
}

#[test]
fn k3_unknown_usage_stays_unknown() {
    let usage = |usage: &str| {
        let body = format!(
            r#"{{"choices":[{{"message":{{"content":"x"}},"finish_reason":"stop"}}],"usage":{usage}}}"#
        );
        decode(Provider::OpenAi, body.as_bytes(), 0).0.unwrap().usage
    };
    assert_eq!(usage("null"), Usage::default());
    assert_eq!(usage(r#"{"prompt_tokens":null,"completion_tokens":"3"}"#), Usage::default());
    let known = Usage { input: Some(5), output: Some(1), cached: Some(4), ..Usage::default() };
    let details = r#""prompt_tokens_details":{"cached_tokens":4}"#;
    assert_eq!(usage(&format!(r#"{{"prompt_tokens":5,"completion_tokens":1,{details}}}"#)), known);
    assert_eq!(usage(r#"{"prompt_tokens":5,"completion_tokens":1,"prompt_cache_hit_tokens":4}"#), known);
    // A prompt and an answer that are there cannot have no tokens.
    assert_eq!(usage(r#"{"prompt_tokens":0,"completion_tokens":0}"#), Usage::default());
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let mut decoder = Decoder::new(Provider::OpenAi.protocol().events(), 100);
    let error = decoder.push(&[b'x'; 101], &mut |_: &str| {}).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TooLarge);
}

#[test]
fn whatever_is_no_answer_is_none_in_any_protocol() {
    for provider in Provider::ALL {
        for (body, want) in [
            ("", "malformed_response"),
            (" \r\n", "malformed_response"),
            ("<html>bad gateway</html>", "malformed_response"),
            ("no healthy upstream", "malformed_response"),
            ("data: <html>\n\n", "malformed_response"),
            ("[]", "malformed_response"),
            ("\"text\"", "malformed_response"),
            ("{\"ok\": true}", "malformed_response"),
            (": ping\n\n: ping\n\n", "malformed_response"),
        ] {
            check_by(provider, body, Err(want));
        }
    }
}

fn stream_of(events: &[&str]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

#[test]
fn a_message_ends_with_its_stop_reason_and_not_before() {
    let part = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"héé"}}"#;
    let thought =
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"hm"}}"#;
    let stop = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#;
    let refusal = r#"{"type":"message_delta","delta":{"stop_reason":"refusal"}}"#;
    let end = r#"{"type":"message_stop"}"#;
    let news = r#"{"type":"something_new","what":[1]}"#;
    let check = |events: &[&str], want| check_by(Provider::Anthropic, &stream_of(events), want);
    check(&[part, thought, news, stop, end], Ok(("héé", "hm")));
    check(&[part, stop], Ok(("héé", "")));
    check(&[part], Err("truncated"));
    check(&[], Err("malformed_response"));
    check(&[news], Err("truncated"));
    check(&[refusal, end], Err("refused"));
    check(&[part, r#"{"type":"error","error":{"type":"api_error","message":"x"}}"#], Err("server_error"));
    check(&[part, r#"{"type":"error","error":{"type":"new_error","message":"x"}}"#], Err("stream_error"));
    check_by(
        Provider::Anthropic,
        r#"{"type":"error","error":{"type":"rate_limit_error"}}"#,
        Err("rate_limited"),
    );
}

#[test]
fn a_question_that_a_filter_stops_is_refused() {
    let check = |body: &str, want| check_by(Provider::Gemini, body, want);
    check(
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}}"#,
        Err("refused"),
    );
    check(r#"{"candidates":[{"finishReason":"PROHIBITED_CONTENT"}]}"#, Err("refused"));
    check("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}]}\n\n", Err("truncated"));
    check(r#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#, Err("overloaded"));
    check(
        r#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}]"#,
        Ok(("ab", "")),
    );
}

#[test]
fn k3_usage_separates_cached_and_reasoning_tokens() {
    for (provider, cache_written, body) in [
        (
            Provider::Anthropic,
            Some(2),
            r#"{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":9,"output_tokens_details":{"thinking_tokens":5}}}"#,
        ),
        (
            Provider::Gemini,
            None,
            r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"cachedContentTokenCount":4,"candidatesTokenCount":4,"thoughtsTokenCount":5}}"#,
        ),
        (
            Provider::OpenAi,
            Some(2),
            r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":9,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
        ),
    ] {
        let usage = decode(provider, body.as_bytes(), 0).0.unwrap().usage;
        let want =
            Usage { input: Some(7), output: Some(9), cached: Some(4), cache_written, reasoning: Some(5) };
        assert_eq!(usage, want, "{provider}");
    }
}

#[test]
fn pieces_of_tool_calls_find_their_call_whatever_the_server_numbers() {
    let calls = |deltas: &[&str]| {
        let chunks = deltas
            .iter()
            .map(|calls| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{calls}]}}}}]}}\n\n"));
        let body = chunks
            .chain(["data: {\"choices\":[{\"finish_reason\":\"tool_calls\"}]}\n\n".to_owned()])
            .collect::<String>();
        decode(Provider::OpenAi, body.as_bytes(), 3).0.unwrap().tool_calls
    };
    let want = [ToolCall::new("1", "add", r#"{"x":1}"#), ToolCall::new("2", "sub", "{}")];
    let numbered = [
        r#"{"index":0,"id":"1","function":{"name":"add","arguments":""}},{"index":1,"id":"2","function":{"name":"sub","arguments":"{}"}}"#,
        r#"{"index":0,"function":{"arguments":"{\"x\""}}"#,
        r#"{"index":0,"id":"","function":{"arguments":":1}"}}"#,
    ];
    assert_eq!(calls(&numbered), want);
    let bare = [
        r#"{"id":"1","function":{"name":"add","arguments":"{\"x\""}}"#,
        r#"{"function":{"arguments":":1}"}}"#,
        r#"{"id":"2","function":{"name":"sub","arguments":{}}}"#,
    ];
    assert_eq!(calls(&bare), want);
}

#[test]
fn the_mark_of_a_call_is_kept_for_its_way_back() {
    let body = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"add","args":{"x":1}},"thoughtSignature":"s1"},{"functionCall":{"name":"sub"}}]},"finishReason":"STOP"}]}"#;
    let answer = decode(Provider::Gemini, body.as_bytes(), 0).0.unwrap();
    let signed = ToolCall { signature: Some("s1".into()), ..ToolCall::new("call-1", "add", r#"{"x":1}"#) };
    assert_eq!(answer.tool_calls, [signed, ToolCall::new("call-2", "sub", "{}")]);
    assert_eq!(answer.ending, Some(crate::Ending::ToolCalls));
}

#[test]
fn a_response_ends_with_its_last_event_and_not_before() {
    let check = |events: &[&str], want| check_by(Provider::OpenAiResponses, &stream_of(events), want);
    let part = r#"{"type":"response.output_text.delta","output_index":1,"delta":"héé"}"#;
    let thought = r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}"#;
    let item = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"héé"}]}}"#;
    let news = r#"{"type":"response.something_new","delta":{"x":1}}"#;
    let end = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
    check(&[thought, part, news, item, end], Ok(("héé", "hm")));
    check(&[item, end], Ok(("héé", "")));
    check(&[part, item], Err("truncated"));
    let refusal = r#"{"type":"response.refusal.delta","delta":"no"}"#;
    check(&[refusal, end], Err("refused"));
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}"#;
    check(&[part, failed], Err("stream_error"));
    let cut = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#;
    let without_reason = r#"{"type":"response.incomplete","response":{"status":"incomplete"}}"#;
    for end in [cut, without_reason] {
        let answer = decode(Provider::OpenAiResponses, stream_of(&[part, end]).as_bytes(), 1).0.unwrap();
        assert_eq!(answer.ending, Some(crate::Ending::CutInText), "{end}");
    }
}
