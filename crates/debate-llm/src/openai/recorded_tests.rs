//! Recorded responses of real providers, split anywhere, against what the official SDK made of the same bytes.

use std::path::{Path, PathBuf};

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::decode::{Answer, Decoder};
use super::failure;
use crate::{FinishReason, ModelError, ModelErrorKind};

/// How many ways each body is split.
const SPLITS: u64 = 12;

struct Record {
    index: Value,
    body: Vec<u8>,
}

impl Record {
    fn text(&self, field: &str) -> &str {
        self.index[field].as_str().unwrap_or_default()
    }
}

fn chat_records(format: &str) -> Vec<Record> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/sse");
    let Ok(index) = std::fs::read_to_string(folder.join("index.jsonl")) else {
        eprintln!("skipped: ../shared/data/sse is absent");
        return Vec::new();
    };
    let rows = index.split('\n').filter(|line| !line.is_empty());
    rows.map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|row| row["api"] == "chat" && row["format"] == format)
        .map(|row| Record {
            body: std::fs::read(folder.join(row["file"].as_str().unwrap())).unwrap(),
            index: row,
        })
        .collect()
}

/// Decodes `body` in pieces of 1 to 2ⁿ bytes drawn from `seed`; seed 0 takes it whole.
fn decode(body: &[u8], seed: u64) -> (Result<Answer, ModelError>, String) {
    let mut streamed = String::new();
    let mut chunks = |delta: &str| streamed.push_str(delta);
    let mut decoder = Decoder::new(4 << 20);
    let mut state = seed;
    let mut rest = body;
    let mut result = Ok(());
    while !rest.is_empty() && result.is_ok() && !decoder.is_done() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = if seed == 0 { rest.len() } else { 1 + (state >> 33) as usize % (1 << (seed % 10)) };
        let (piece, after) = rest.split_at(size.min(rest.len()));
        result = decoder.push(piece, &mut chunks);
        rest = after;
    }
    let answer = result.and_then(|()| decoder.finish(&mut chunks));
    (answer, streamed)
}

fn check_against_sdk(id: &str, body: &[u8], sdk: &Value) {
    for seed in 0..SPLITS {
        let (answer, streamed) = decode(body, seed);
        if sdk.get("sdk_error").is_some() {
            let error = answer.err().unwrap();
            assert_eq!(error.kind, ModelErrorKind::StreamError, "{id}");
            assert!(
                sdk["message"].as_str().unwrap().starts_with(error.message.trim_end_matches('…')),
                "{id}"
            );
            continue;
        }
        if sdk["refusal"].is_string() {
            assert_eq!(answer.err().map(|error| error.kind), Some(ModelErrorKind::Refused), "{id}");
            continue;
        }
        let answer = answer.unwrap_or_else(|error| panic!("{id}, split {seed}: {error}"));
        assert_eq!(answer.text, sdk["text"].as_str().unwrap(), "{id}, split {seed}");
        assert_eq!(answer.text, streamed, "{id}, split {seed}");
        let finish = sdk["finish_reasons"].as_array().unwrap().last().unwrap();
        assert_eq!(answer.finish.as_ref().map(FinishReason::as_str), finish.as_str(), "{id}");
        let reasoning = sdk["reasoning_content_chars"].as_u64().unwrap() as usize;
        assert!(reasoning == 0 || answer.reasoning.chars().count() == reasoning, "{id}");
        let usage = &sdk["usage"];
        if !usage.is_null() {
            assert_eq!(answer.usage.input, usage["prompt_tokens"].as_u64(), "{id}");
            assert_eq!(answer.usage.output, usage["completion_tokens"].as_u64(), "{id}");
        }
    }
}

#[test]
fn recorded_streams_read_as_the_official_sdk_reads_them_at_every_split() {
    let streams = chat_records("sse");
    let is_absent = streams.is_empty();
    let lines = chat_records("chunks-jsonl").into_iter().map(|record| {
        let text = String::from_utf8(record.body).unwrap();
        let body = text.lines().filter(|line| !line.is_empty()).map(|line| format!("data: {line}\n\n"));
        Record { body: body.collect::<String>().into_bytes(), index: record.index }
    });
    let mut checked = 0;
    for record in streams.into_iter().chain(lines) {
        let sdk = &record.index["derived_by_sdk"];
        // One record is filed under chat but holds a realtime session; it has no choices at all.
        if sdk["finish_reasons"].as_array().is_some_and(Vec::is_empty) {
            assert_eq!(decode(&record.body, 1).0.err().map(|e| e.kind), Some(ModelErrorKind::Truncated));
            continue;
        }
        check_against_sdk(record.text("id"), &record.body, sdk);
        checked += 1;
    }
    eprintln!("{checked} recorded streams checked");
    assert!(is_absent || checked >= 75, "only {checked} checked");
}

#[test]
fn a_recorded_stream_that_is_cut_anywhere_is_never_taken_for_a_whole_answer() {
    let streams = chat_records("sse");
    let is_absent = streams.is_empty();
    let mut checked = 0;
    for record in streams.iter().filter(|record| record.body.len() < 20_000) {
        let (Ok(whole), _) = decode(&record.body, 0) else { continue };
        for cut in (0..record.body.len()).step_by(89) {
            match decode(&record.body[..cut], 0).0 {
                // From the finish reason on all text is there; only usage may be missing.
                Ok(answer) => assert_eq!(answer.text, whole.text, "{} at {cut}", record.text("id")),
                Err(error) => assert!(
                    matches!(error.kind, ModelErrorKind::Truncated | ModelErrorKind::Malformed),
                    "{} at {cut}: {error}",
                    record.text("id")
                ),
            }
            checked += 1;
        }
    }
    assert!(is_absent || checked >= 1000, "only {checked} checked");
}

#[test]
fn recorded_whole_bodies_give_their_message() {
    let bodies = chat_records("json");
    let is_absent = bodies.is_empty();
    let mut checked = 0;
    for record in bodies.iter().filter(|record| record.index["status"] == 200) {
        let json: Value = serde_json::from_slice(&record.body).unwrap();
        let Some(message) = json["choices"].get(0).map(|choice| &choice["message"]) else {
            assert_eq!(decode(&record.body, 1).0.err().map(|e| e.kind), Some(ModelErrorKind::Malformed));
            continue;
        };
        let (answer, streamed) = decode(&record.body, 3);
        if message["refusal"].is_string() {
            assert_eq!(answer.err().map(|error| error.kind), Some(ModelErrorKind::Refused));
            continue;
        }
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", record.text("id")));
        if !message["content"].is_array() {
            assert_eq!(answer.text, message["content"].as_str().unwrap_or_default(), "{}", record.text("id"));
        }
        assert_eq!(answer.text, streamed);
        assert_eq!(answer.usage.input, json["usage"]["prompt_tokens"].as_u64(), "{}", record.text("id"));
        assert_eq!(answer.usage.output, json["usage"]["completion_tokens"].as_u64());
        checked += 1;
    }
    assert!(is_absent || checked >= 45, "only {checked} checked");
}

#[test]
fn recorded_errors_have_the_kind_of_their_status() {
    let bodies = chat_records("json");
    let is_absent = bodies.is_empty();
    let mut checked = 0;
    for record in bodies.iter().filter(|record| record.index["status"] != 200) {
        let status = u16::try_from(record.index["status"].as_u64().unwrap()).unwrap();
        let failure = failure::from_response(status, &HeaderMap::new(), &record.body);
        let want = match status {
            401 | 403 => "unauthorised",
            404 => "unknown_model",
            429 => "rate_limited",
            500 => "server_error",
            _ => "bad_request",
        };
        assert_eq!(failure.error.kind.label(), want, "{}", record.text("id"));
        assert!(failure.error.message.len() > 12, "{}: {}", record.text("id"), failure.error.message);
        checked += 1;
    }
    assert!(is_absent || checked >= 20, "only {checked} checked");
}

mod shapes {
    use super::*;
    use crate::Usage;

    fn check(body: &str, want: Result<(&str, &str), &str>) {
        for seed in 0..8 {
            let (answer, _) = decode(body.as_bytes(), seed);
            let got = answer.as_ref().map_or_else(
                |error| Err(error.kind.label()),
                |answer| Ok((answer.text.as_str(), answer.reasoning.as_str())),
            );
            assert_eq!(got, want, "{body:?}, split {seed}");
        }
    }

    #[test]
    fn only_an_end_mark_or_a_finish_reason_ends_a_stream() {
        let part = r#"data: {"choices":[{"index":0,"delta":{"content":"héé"},"finish_reason":null}]}"#;
        let stop = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
        check(&format!("{part}\n\n{stop}\n\ndata: [DONE]\n\n"), Ok(("héé", "")));
        check(&format!("{part}\n\n{stop}\n\n"), Ok(("héé", "")));
        check(&format!("{part}\n\n{stop}"), Ok(("héé", "")));
        check(&format!("{part}\n\ndata: [DONE]"), Ok(("héé", "")));
        check(&format!("{part}\n\n"), Err("truncated"));
        check(&format!("{part}\n\n{}", &stop[..40]), Err("truncated"));
        check(": keep-alive\n\n", Err("malformed_response"));
        check(": keep-alive\n\ndata: {}\n\n", Err("truncated"));
    }

    #[test]
    fn other_bodies_are_told_apart() {
        check("", Err("malformed_response"));
        check(" \n", Err("malformed_response"));
        check("<!doctype html><p>no", Err("malformed_response"));
        check("upstream connect error", Err("malformed_response"));
        check("data: nothing\n\n", Err("malformed_response"));
        check("{\"choices\":", Err("malformed_response"));
        check("[]", Err("malformed_response"));
        check(r#"{"ok":true}"#, Err("malformed_response"));
        check(r#"{"choices":[]}"#, Err("malformed_response"));
        check(r#"{"choices":[{"message":{"content":"x"}}]}"#, Ok(("x", "")));
        check(r#"{"error":{"message":"busy","code":429}}"#, Err("rate_limited"));
        check(r#"{"error":"broken"}"#, Err("stream_error"));
        check("event: error\ndata: {\"error\":{\"message\":\"oops\"}}\n\n", Err("stream_error"));
    }

    #[test]
    fn k10_thoughts_are_kept_apart_from_the_answer() {
        let parts = r#"data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]},"finish_reason":"stop"}]}"#;
        check(&format!("{parts}\n\n"), Ok(("yes", "hm")));
        for field in ["reasoning", "reasoning_content"] {
            let delta = format!(r#"{{"choices":[{{"delta":{{"{field}":"hm","content":null}}}}]}}"#);
            check(&format!("data: {delta}\n\ndata: [DONE]\n\n"), Ok(("", "hm")));
        }
    }

    #[test]
    fn a_refusal_is_no_answer() {
        check(r#"{"choices":[{"message":{"content":null,"refusal":"I will not."}}]}"#, Err("refused"));
        check(r#"{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}"#, Err("refused"));
    }

    #[test]
    fn k3_unknown_usage_stays_unknown() {
        let usage = |usage: &str| {
            let body = format!(r#"{{"choices":[{{"message":{{"content":"x"}}}}],"usage":{usage}}}"#);
            decode(body.as_bytes(), 0).0.unwrap().usage
        };
        assert_eq!(usage("null"), Usage::default());
        assert_eq!(usage(r#"{"prompt_tokens":null,"completion_tokens":"3"}"#), Usage::default());
        let known = Usage { input: Some(5), output: Some(0), cached: Some(4), reasoning: None };
        let details = r#""prompt_tokens_details":{"cached_tokens":4}"#;
        assert_eq!(usage(&format!(r#"{{"prompt_tokens":5,"completion_tokens":0,{details}}}"#)), known);
        assert_eq!(usage(r#"{"prompt_tokens":5,"completion_tokens":0,"prompt_cache_hit_tokens":4}"#), known);
    }

    #[test]
    fn a_body_over_the_limit_is_refused() {
        let mut decoder = Decoder::new(100);
        let error = decoder.push(&[b'x'; 101], &mut |_: &str| {}).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TooLarge);
    }
}
