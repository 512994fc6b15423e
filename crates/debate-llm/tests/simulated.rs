//! What a simulated model promises: the same answers from the same seed, faults at the set rates, time as it is set.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::time::Duration;

use debate_llm::simulated::{Draw, Flaws, Mind, SimulatedConfig, SimulatedModel};
use debate_llm::{ChatModel, ChatReply, ChatRequest, Ending, Message, ModelError, Usage};
use tokio::time::Instant;

/// Says the prompt, a drawn number and the flaws, often enough to be worth streaming.
struct Parrot;

impl Mind for Parrot {
    fn reply(&self, request: &ChatRequest, draw: &mut Draw, flaws: &Flaws) -> String {
        let number = draw.next_u64();
        let weak = if flaws.weak_argument { " weak" } else { "" };
        format!("{} {number}{weak} — ", request.messages[0].content).repeat(10)
    }

    fn role<'a>(&self, request: &'a ChatRequest) -> Option<&'a str> {
        request.messages[0].content.split_once(':').map(|(role, _)| role)
    }
}

fn model(settings: &str) -> SimulatedModel<Parrot> {
    SimulatedModel::new(settings.parse::<SimulatedConfig>().unwrap(), Parrot)
}

fn request(content: &str, attempt: u32) -> ChatRequest {
    ChatRequest { attempt, ..ChatRequest::new(vec![Message::user(content)], 10_000, Duration::from_secs(60)) }
}

async fn ask(model: &impl ChatModel, request: &ChatRequest) -> (Result<ChatReply, ModelError>, Vec<String>) {
    let mut pieces = Vec::new();
    let mut sink = |delta: &str| pieces.push(delta.to_owned());
    let reply = model.complete(request, &mut sink).await;
    (reply, pieces)
}

/// Asks 2,000 questions and counts the outcomes by label; `ok` when there is an answer.
async fn outcomes(settings: &str, attempt: u32) -> (HashMap<&'static str, usize>, Vec<String>) {
    let model = model(settings);
    let (mut counts, mut texts) = (HashMap::new(), Vec::new());
    for n in 0..2000 {
        let (reply, _) = ask(&model, &request(&format!("question {n}"), attempt)).await;
        let label = match &reply {
            Ok(reply) if reply.ending == Ending::CutInText => "length",
            Ok(_) => "ok",
            Err(error) => error.kind.label(),
        };
        *counts.entry(label).or_default() += 1;
        texts.push(reply.map_or_else(|error| error.to_string(), |reply| reply.text));
    }
    (counts, texts)
}

#[tokio::test]
async fn k2_an_answer_depends_on_seed_and_prompt_alone() {
    let (one, other) = (model("simulated:7"), model("simulated:7"));
    let text =
        async |model, content: &str, attempt| ask(model, &request(content, attempt)).await.0.unwrap().text;
    let (a, b) = (text(&one, "a", 0).await, text(&one, "b", 0).await);
    assert_eq!(text(&other, "b", 3).await, b, "neither order nor attempt counts");
    assert_eq!(text(&other, "a", 1).await, a);
    assert_ne!(a.replace('a', ""), b.replace('b', ""));
    assert_ne!(text(&model("simulated:8"), "a", 0).await, a);
    assert!(one.is_simulated());
    assert_eq!(one.name(), "simulated:7");
}

#[tokio::test]
async fn faults_come_at_their_rates_and_a_later_attempt_can_succeed() {
    let settings = "rate_limited=0.1,server_error=0.1,timeout=0.1,truncated=0.2,malformed=0.1,refused=0.1";
    let (counts, texts) = outcomes(settings, 0).await;
    for (label, want) in [
        ("ok", 600 + 200), // a malformed answer is a whole answer to the wire
        ("rate_limited", 200),
        ("server_error", 200),
        ("timeout_total", 200),
        ("truncated", 200),
        ("length", 200),
        ("refused", 200),
    ] {
        assert!(counts[label].abs_diff(want) < 60, "{label}: {counts:?}");
    }
    let readable = texts.iter().filter(|text| text.starts_with("question")).count();
    assert!(readable.abs_diff(600 + 200) < 80, "{readable}");
    let (_, again) = outcomes(settings, 0).await;
    assert_eq!(texts, again, "the same attempts meet the same faults");
    let (_, later) = outcomes(settings, 1).await;
    assert!(texts.iter().zip(&later).filter(|(first, second)| first != second).count() > 800);
    let (clean, _) = outcomes("simulated", 0).await;
    assert_eq!(clean["ok"], 2000);
}

#[tokio::test]
async fn k5_a_failure_of_the_wire_has_its_wire_retries_behind_it() {
    let (reply, pieces) = ask(&model("rate_limited=1"), &request("q", 0)).await;
    let error = reply.unwrap_err();
    assert_eq!((error.wire_retries, error.status, error.received_any), (3, Some(429), false));
    assert!(pieces.is_empty());
}

#[tokio::test]
async fn a_flaw_shows_in_what_is_said_and_not_in_the_wire() {
    let (_, texts) = outcomes("weak_argument=0.25", 0).await;
    let weak = texts.iter().filter(|text| text.contains("weak")).count();
    assert!(weak.abs_diff(500) < 80, "{weak}");
}

#[tokio::test]
async fn p16_an_absent_role_declines_every_time() {
    let model = model("absent_role=historian");
    for attempt in 0..5 {
        let (reply, _) = ask(&model, &request("historian: speak", attempt)).await;
        assert_eq!(reply.unwrap_err().kind.label(), "refused");
    }
    assert!(ask(&model, &request("optimist: speak", 0)).await.0.is_ok());
}

#[tokio::test]
async fn k10_pieces_joined_are_the_text() {
    for settings in ["simulated", "tokens_per_second=1000", "truncated=1"] {
        for n in 0..10 {
            let (reply, pieces) = ask(&model(settings), &request(&format!("é{n}"), 0)).await;
            match reply {
                Ok(reply) => assert_eq!(reply.text, pieces.concat()),
                Err(error) => assert_eq!(error.received_any, !pieces.is_empty()),
            }
        }
    }
}

#[tokio::test]
async fn usage_is_reported_and_the_output_limit_is_kept() {
    let whole = ask(&model("simulated"), &request("four", 0)).await.0.unwrap();
    assert_eq!(whole.usage.input, Some(1));
    let limited = ChatRequest { max_output_tokens: 5, ..request("four", 0) };
    let cut = ask(&model("simulated"), &limited).await.0.unwrap();
    assert_eq!(cut.ending, Ending::CutInText);
    assert_eq!(cut.usage, Usage { input: Some(1), output: Some(5), cached: Some(0), ..Usage::default() });
    assert!(whole.text.starts_with(&cut.text));
}

#[tokio::test(start_paused = true)]
async fn p21_time_passes_as_it_is_set() {
    let took = async |settings: &str, request: &ChatRequest| {
        let started = Instant::now();
        let reply = ask(&model(settings), request).await.0;
        (reply, started.elapsed().as_millis())
    };
    assert_eq!(took("simulated", &request("q", 0)).await.1, 0);
    let (reply, ms) = took("latency=200ms", &request("q", 0)).await;
    assert_eq!((ms, reply.unwrap().latency.as_millis()), (200, 200));
    let (reply, ms) = took("latency=200ms,tokens_per_second=100", &request("q", 0)).await;
    let reply = reply.unwrap();
    let streaming = u128::from(reply.usage.output.unwrap()) * 10;
    assert!(ms.abs_diff(200 + streaming) <= 20, "{ms} for {streaming}");
    assert_eq!(reply.first_byte.unwrap().as_millis(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_timeout() {
    let short =
        |timeout_ms| ChatRequest { time: Duration::from_millis(timeout_ms).into(), ..request("q", 0) };
    for (settings, timeout_ms, received_any) in [
        ("latency=200ms", 150, false),
        ("latency=200ms,timeout=1", 5000, false),
        ("latency=200ms,tokens_per_second=10", 1000, true),
    ] {
        let started = Instant::now();
        let error = ask(&model(settings), &short(timeout_ms)).await.0.unwrap_err();
        assert_eq!(error.kind.label(), "timeout_total");
        assert_eq!(started.elapsed().as_millis(), u128::from(timeout_ms));
        assert_eq!(error.received_any, received_any, "{settings}");
    }
}
