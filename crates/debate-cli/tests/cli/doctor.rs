//! `debate doctor`: stores, configurations and providers, sound and broken.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Program, Ran};
use crate::provider::{Answer, Provider};

const KEY: &str = "sk-very-secret";

/// Runs the doctor on an OpenAI-compatible server.
fn examine(program: &Program, base_url: &str, args: &[&str]) -> Ran {
    let mut command = program.command(["doctor", "--model", "openai:some-model"]);
    command.args(args).envs([("OPENAI_BASE_URL", base_url), ("OPENAI_API_KEY", KEY)]);
    let ran = Ran::of(command.output().unwrap());
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
    ran
}

/// Answers as a good model does.
fn good(request: &str) -> Answer {
    if request.contains("json_schema") {
        return Answer::words(&[
            r#"{"argument": "The March extent falls by 2.5 % a decade.", "supports": "no","#,
            r#" "probabilities": {"yes": 0.2, "no": 0.8}, "confidence": 0.6}"#,
        ]);
    }
    Answer::words(&["rea", "dy"])
}

/// Returns the questions that a provider was asked, and not what a server is asked about itself.
fn questions(provider: &Provider) -> Vec<Value> {
    provider.asked().into_iter().filter(|body| !body["messages"].is_null()).collect()
}

/// Returns the lines that begin with a verdict.
fn lines<'a>(ran: &'a Ran, verdict: &str) -> Vec<&'a str> {
    ran.stdout.lines().filter(|line| line.starts_with(verdict)).collect()
}

#[test]
fn k22_doctor_measures_five_openings_at_once() {
    let program = Program::new();
    let provider = Provider::start(good);
    let ran = examine(&program, &provider.base_url, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(lines(&ran, "ok").len(), 14, "{}", ran.stdout);
    let said = "asking openai:some-model a small question, then 5 openings of a debate at once: at most ";
    assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
    for text in [
        "ok    model   openai:some-model at http://127.0.0.1:",
        "a key is set",
        "first words after ",
        "21 tokens read, 8 written, HTTP/1.1, request req-7",
        "read as an argument",
        "thinks  the model shows no thinking",
        "limit   5 of 5 answers ended within the limit of ",
        "speed   5 of 5 calls were answered at once",
        "pipelined (6 calls in a row)",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
    let asked = questions(&provider);
    assert_eq!(asked.len(), 6);
    assert!(asked.iter().all(|body| body["stream"] == true && body["model"] == "some-model"), "{asked:?}");
    let shapes: Vec<bool> = asked.iter().map(|body| !body["response_format"].is_null()).collect();
    assert_eq!(shapes, [false, true, true, true, true, true]);
    let most = asked[1].to_string();
    assert!(most.contains("Arctic") && most.contains("8692"), "thinking has its room: {most}");
}

#[test]
fn what_the_doctor_finds_is_one_json_object() {
    let program = Program::new();
    let provider = Provider::start(good);
    let found = examine(&program, &provider.base_url, &["--json"]).json();
    assert_eq!((&found["ok"], &found["simulated"]), (&json!(true), &json!(false)));
    let calls = found["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 6);
    for call in calls {
        assert_eq!(call["usage"], json!({"input": 21, "output": 8, "cached": null, "reasoning": null}));
        assert_eq!(
            (call["request_id"].as_str(), call["http_version"].as_str()),
            (Some("req-7"), Some("HTTP/1.1"))
        );
        assert_eq!((call["model"].as_str(), call["wire_retries"].as_u64()), (Some("some-model-2"), Some(0)));
        assert!(call["first_words_ms"].as_u64() <= call["latency_ms"].as_u64(), "{call}");
    }
    let read: Vec<Option<bool>> = calls.iter().map(|call| call["is_read"].as_bool()).collect();
    assert_eq!(read, [None, Some(true), Some(true), Some(true), Some(true), Some(true)]);
    assert!(calls.iter().all(|call| call["ended"] == "complete"), "{calls:?}");
    let seconds = |field: &str| found["estimate"][field].as_f64().unwrap();
    assert!((seconds("six_calls_s") - 6.0 * seconds("call_s")).abs() < 1e-9);
    assert!((seconds("eight_calls_s") - 8.0 * seconds("call_s")).abs() < 1e-9);
}

#[test]
fn each_fault_of_a_provider_is_a_clear_line_with_what_to_do() {
    let error = |code: &str, message: &str| json!({"error": {"code": code, "message": message}});
    let html =
        Answer { status: "200 OK", content_type: "text/html", body: "<html>sign in</html>".to_owned() };
    for (answer, says, remedy) in [
        (
            Answer::json("401 Unauthorized", &error("invalid_api_key", &format!("wrong key {KEY}"))),
            "unauthorised: the provider refused the key (HTTP 401);",
            "set OPENAI_API_KEY",
        ),
        (
            Answer::json("404 Not Found", &error("model_not_found", "no model some-model")),
            "unknown_model: ",
            "check the model's name",
        ),
        (
            Answer::json("429 Too Many Requests", &error("insufficient_quota", "no credit")),
            "quota_exhausted: ",
            "add credit",
        ),
        (html, "malformed_response", "for a proxy in between"),
        (
            Answer { body: String::new(), ..Answer::words(&[]) },
            "the response is empty",
            "check OPENAI_BASE_URL",
        ),
    ] {
        let program = Program::new();
        let shown = format!("{answer:?}");
        let provider = Provider::start(move |_| answer.clone());
        let ran = examine(&program, &provider.base_url, &[]);
        assert_eq!(ran.code, Some(5), "{shown}: {ran:?}");
        let failed = lines(&ran, "FAIL");
        assert_eq!((failed.len(), questions(&provider).len()), (1, 1), "{shown}: {}", ran.stdout);
        assert!(
            failed.iter().all(|line| line.contains(says) && line.contains(remedy)),
            "{shown}: {failed:?}"
        );
        assert!(!ran.stdout.contains("pipelined"), "nothing is reckoned from nothing: {}", ran.stdout);
    }
}

#[test]
fn doctor_warns_of_answers_that_a_debate_cannot_read() {
    let program = Program::new();
    let provider = Provider::start(|_| Answer::words(&["Kiel lies", " at the Baltic"]));
    let ran = examine(&program, &provider.base_url, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let warned = lines(&ran, "warn");
    let are_calls = warned.iter().all(|line| line.contains("a debate cannot read this answer"));
    assert!(warned.len() == 5 && are_calls, "{warned:?}");
}

#[test]
fn p23_doctor_says_that_thinking_uses_up_the_limit() {
    let thoughts = |request: &str| {
        if !request.contains("json_schema") {
            return good(request);
        }
        let usage = json!({"prompt_tokens": 600, "completion_tokens": 500,
            "completion_tokens_details": {"reasoning_tokens": 500}});
        let end = json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "usage": usage});
        let body = format!("data: {end}\n\ndata: [DONE]\n\n");
        Answer { status: "200 OK", content_type: "text/event-stream", body }
    };
    let program = Program::new();
    let provider = Provider::start(thoughts);
    let ran = examine(&program, &provider.base_url, &[]);
    for text in [
        "the answer was cut: thinking used up its limit of tokens",
        "the model thinks: in 5 of 5 answers, about 500 tokens each; debate run --effort low",
        "of 5 answers 5 were cut while the model was thinking, 0 in their text",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
}

#[test]
fn a_simulated_model_is_said_to_be_one_and_is_not_measured() {
    let program = Program::new();
    let ran = program.run(["doctor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(lines(&ran, "warn")[0].contains("simulated:0 is SIMULATED"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("call 1"), "{}", ran.stdout);
    let found = program.run(["doctor", "--json"]).json();
    assert_eq!(
        (&found["simulated"], &found["ok"], &found["calls"]),
        (&json!(true), &json!(true), &json!([]))
    );
    assert_eq!(fs::read_dir(program.path(".")).unwrap().count(), 0, "the doctor leaves nothing behind");
}

#[test]
fn a_store_that_is_there_is_opened_and_a_broken_one_fails_without_keeping_the_rest_from_being_checked() {
    let program = Program::new();
    program.debate("deliberation.json");
    let sound = program.run(["doctor"]);
    assert!(sound.stdout.contains("ok    store   debates.sqlite opens, can be written"), "{sound:?}");
    program.write("text.txt", "this is no database, whatever its name says, and it is long enough to be one");
    for (store, says) in [
        ("sqlite://text.txt", "FAIL  store   text.txt is not a SQLite database"),
        ("sqlite://gone/a.db", "FAIL  folder  gone cannot be written"),
    ] {
        let ran = program.run(["doctor", "--store", store]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(5), ""), "{store}: {ran:?}");
        assert!(ran.stdout.contains(says), "{store}: {}", ran.stdout);
        assert!(ran.stdout.contains("SIMULATED"), "{store}: {}", ran.stdout);
    }
    let memory = program.run(["doctor", "--store", "memory"]);
    assert!(memory.stdout.starts_with("warn  store   "), "{memory:?}");
}

#[test]
fn unusable_models_all_fail_at_once_and_no_model_is_called() {
    let program = Program::new();
    let args = ["doctor", "--model", "openai:a", "--offer", "anthropic:b,gemini:c"];
    let command = |variables: &[(&str, &str)]| {
        let mut command = program.command(args);
        Ran::of(command.envs(variables.iter().copied()).output().unwrap())
    };
    let ran = command(&[("OPENAI_BASE_URL", "localhost:1/v1"), ("GEMINI_API_KEY", "a\nb")]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(5), ""), "{ran:?}");
    let failed = lines(&ran, "FAIL");
    assert_eq!(failed.len(), 3, "{}", ran.stdout);
    for (line, says) in
        failed.iter().zip(["must begin with http://", "ANTHROPIC_API_KEY is not set", "GEMINI_API_KEY holds"])
    {
        assert!(line.contains(says), "{line}");
    }
    assert!(!ran.stdout.contains("call 1"), "{}", ran.stdout);
}

#[test]
fn files_of_tls_that_the_configuration_names_are_looked_at() {
    let program = Program::new();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    for (not_after, code, says) in [
        (
            rcgen::date_time_ymd(2020, 1, 1),
            5,
            "FAIL  tls     chain.pem ran out, 2020-01-01T00:00:00.000Z; renew it",
        ),
        (
            rcgen::date_time_ymd(2999, 1, 1),
            0,
            "ok    tls     chain.pem and its key go together until 2999-01-01",
        ),
    ] {
        params.not_after = not_after;
        program.write("chain.pem", params.self_signed(&key).unwrap().pem());
        program.write("key.pem", key.serialize_pem());
        program.write("debate.toml", "tls-certificate = \"chain.pem\"\ntls-key = \"key.pem\"\n");
        let ran = program.run(["doctor", "--config", "debate.toml"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
        assert!(ran.stdout.contains("files and connections may be open"), "{}", ran.stdout);
    }
    let half = Ran::of(program.command(["doctor"]).env("DEBATE_TLS_KEY", "key.pem").output().unwrap());
    assert!(half.stdout.contains("FAIL  config  tls-key needs tls-certificate"), "{half:?}");
}
