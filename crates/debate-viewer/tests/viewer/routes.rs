//! What the page is given to show.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use debate_core::codec::{Author, Head, seal};
use debate_core::event::{Event, KernelEvent, Redacted, Resolved};
use debate_core::formats::any::{AnyDebate, FORMATS};
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Seq, Timestamp};
use debate_core::prose::Texts;
use debate_engine::{Control, Fork, Redact, Watched};
use debate_proof::bundle::BundleCheck;
use debate_store::Append;
use debate_viewer::{DebatePage, Log, Report};
use flate2::read::GzDecoder;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::house::{Answer, House, asked, deliberation, investigation, prediction, review, roundtable};

async fn page(house: &House, debate: DebateId, at: &str) -> Value {
    house.data(&format!("/data/debates/{debate}{at}")).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_every_format_shows_the_debate_as_it_was_at_every_event() {
    let house = House::open();
    let mut formats = BTreeSet::new();
    for request in [prediction(), deliberation(), roundtable(), review(), investigation()] {
        let debate = house.held(&request).await;
        let log = house.engine.history(debate, None).await.unwrap();
        for at in (1..=log.len()).rev() {
            let shown = page(&house, debate, &format!("?at={at}")).await;
            let then = AnyDebate::replay(&log[..at]).unwrap();
            let result: Value = serde_json::from_str(&then.result_json(Texts::Shown)).unwrap();
            assert_eq!(shown["result"], result, "{} at {at}", then.format());
            assert_eq!((&shown["seq"], &shown["head_seq"]), (&json!(at), &json!(log.len())));
            assert_eq!(shown["hash"], log[at - 1].hash.to_string());
            assert_eq!(shown["head_state"], "concluded", "a past moment knows how it went on");
            assert_eq!(
                (&shown["state"], &shown["title"]),
                (&json!(then.lifecycle().as_str()), &json!(then.title()))
            );
            assert_eq!(shown["completeness"]["state"], then.completeness().as_str());
            assert_eq!(shown["spend"], serde_json::to_value(then.spend()).unwrap());
        }
        let last = page(&house, debate, "").await;
        assert_eq!((&last["state"], &last["simulated"]), (&json!("concluded"), &json!(true)), "{last}");
        assert!(last["stop"]["rule"].is_string() && last["concluded_at"].is_string(), "{last}");
        assert!(last["decision"]["decided"][0].is_string(), "{last}");
        formats.insert(last["format"].as_str().unwrap().to_owned());
    }
    assert_eq!(formats, FORMATS.into_iter().map(str::to_owned).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_in_a_format_without_a_layout_of_its_own_stands_by_role_and_round() {
    let house = House::open();
    let debate = house.held(&deliberation()).await;
    let shown = page(&house, debate, "").await;
    let said = shown["said"].as_array().unwrap();
    let turns: Vec<String> = said
        .iter()
        .map(|said| format!("{} {}", said["round"], said["role"].as_str().unwrap_or("-")))
        .collect();
    let wanted = ["1 pilot", "1 mayor", "2 pilot", "2 mayor", "3 pilot", "3 mayor", "4 moderator"];
    assert_eq!(turns, wanted);
    assert!(said.iter().all(|said| said["words"]["content"].as_str().is_some_and(|text| !text.is_empty())));
    let decision = &shown["decision"];
    assert_eq!(
        (&decision["decided"][0], &decision["dissenters"]),
        (&shown["result"]["consensus"], &shown["result"]["disagreements"])
    );
    assert_eq!(shown["calls_expected"], shown["spend"]["calls"], "nothing went wrong");
}

/// Returns who said what kind of thing in which round, in order; `-` where it follows from others.
fn turns(shown: &Value) -> Vec<String> {
    let said = shown["said"].as_array().unwrap().iter();
    said.map(|said| {
        assert_eq!(said["role"].is_null(), said["words"].is_null(), "text without a role: {said}");
        let text = |name: &str| said[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", said["round"], text("role"), text("kind"))
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn t10_the_page_of_a_roundtable_shows_who_stands_where() {
    let house = House::open();
    let shown = page(&house, house.held(&roundtable()).await, "").await;
    let said = turns(&shown);
    for round in [1, 2] {
        let place = said.iter().position(|turn| *turn == format!("{round} - round_judged")).unwrap();
        let mut before = said[place - 3..place].to_vec();
        before.sort();
        assert_eq!(before, ["ada", "ben", "cy"].map(|agent| format!("{round} {agent} response_given")));
    }
    let (decision, summary) = (&shown["result"]["decision"], &shown["decision"]);
    assert_eq!(
        (&summary["decided"], &summary["dissenters"]),
        (&json!([decision["position"]]), &decision["dissenters"])
    );
    assert_eq!(summary["open"], decision["cautions"]);
    let sure = format!("agreement {:.2}", decision["agreement_level"].as_f64().unwrap());
    assert!(summary["sure"].as_str().unwrap().contains(&sure), "{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn v5_the_page_of_a_review_shows_every_pair_and_its_judgement() {
    let house = House::open();
    let shown = page(&house, house.held(&review()).await, "").await;
    let said = turns(&shown);
    let debates = shown["result"]["debates"].as_array().unwrap();
    for debate in debates {
        let (pair, a, b) =
            (&debate["pair"], debate["role_a"].as_str().unwrap(), debate["role_b"].as_str().unwrap());
        for turn in [format!("{a} speech_made"), format!("{b} speech_made"), "judge pair_judged".to_owned()] {
            assert!(said.contains(&format!("{pair} {turn}")), "{pair} {turn}: {said:?}");
        }
    }
    let decided = shown["decision"]["decided"].as_array().unwrap();
    assert_eq!((decided.len(), debates.len()), (2, 2));
    for (line, debate) in decided.iter().zip(debates) {
        let (line, judgement) = (line.as_str().unwrap(), &debate["judgement"]);
        let winner = judgement["winner"].as_str().unwrap();
        let prevails = debate[winner].as_str().map_or_else(|| "neither".to_owned(), str::to_owned);
        assert!(line.contains(&format!(": {prevails} prevails")), "{line} {judgement}");
        assert!(line.ends_with(judgement["summary"].as_str().unwrap()), "{line}");
    }
    let mut calm = review();
    calm["debate"]["enabled"] = json!(false);
    let shown = page(&house, house.held(&calm).await, "").await;
    assert_eq!(shown["decision"]["decided"], json!([shown["result"]["not_run"]["reason"]]));
}

#[tokio::test(flavor = "multi_thread")]
async fn i7_the_page_of_an_investigation_shows_hypotheses_challenges_and_the_verdict() {
    let house = House::open();
    let shown = page(&house, house.held(&investigation()).await, "").await;
    let said = turns(&shown);
    for turn in [
        "1 lead hypotheses_proposed",
        "1 ada evidence_reported",
        "1 ben evidence_reported",
        "1 - round_summarised",
    ] {
        assert!(said.contains(&turn.to_owned()), "{turn}: {said:?}");
    }
    assert!(said.iter().any(|turn| turn.ends_with("challenge_raised")), "{said:?}");
    let (verdict, summary) = (&shown["result"]["verdict"], &shown["decision"]);
    assert_eq!(summary["decided"], json!([verdict["statement"]]));
    let confirmed = if verdict["confirmed"] == true { "confirmed, " } else { "not confirmed, " };
    assert!(summary["sure"].as_str().unwrap().starts_with(confirmed), "{summary}");
    let open = shown["result"]["challenges"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|challenge| challenge["state"] == "open");
    let missing = verdict["missing"].as_array().unwrap().len();
    assert_eq!(summary["open"].as_array().unwrap().len(), missing + open.count());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_cut_off_misses_no_event_and_the_stream_says_its_end() {
    let house = House::open();
    let debate = house.held(&prediction()).await;
    let head = house.engine.log(debate, None).await.unwrap().len() as u64;
    let path = format!("/data/debates/{debate}/follow");
    let ids = |text: &str| -> Vec<u64> {
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
    };
    let whole = asked(&house.data, &path, &[]).await;
    assert_eq!(ids(whole.text()), (1..=head).collect::<Vec<_>>());
    assert!(whole.resumable, "the server may drop the stream of a client that does not read");
    let rest = asked(&house.data, &path, &[("last-event-id", "20")]).await;
    assert_eq!(ids(rest.text()), (21..=head).collect::<Vec<_>>());
    assert!(rest.text().trim_end().ends_with("event: end\ndata: {}"), "{}", rest.text());
    let beyond = asked(&house.data, &path, &[("last-event-id", "100000")]).await;
    let odd = asked(&house.data, &path, &[("last-event-id", "x")]).await;
    assert_eq!((beyond.status, odd.status), (StatusCode::NOT_FOUND, StatusCode::BAD_REQUEST));
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_pieces_of_what_is_being_said_are_heard_between_events() {
    let house = House::quiet();
    let debate = house.start(&prediction()).await;
    let path = format!("/data/debates/{debate}/follow");
    let following = tokio::spawn({
        let data = house.data.clone();
        async move { asked(&data, &path, &[]).await }
    });
    house.let_all_speak();
    house.concluded(debate).await;
    let heard = following.await.unwrap();
    let events = heard.text().matches("event: event\n").count();
    assert_eq!(events, house.engine.log(debate, None).await.unwrap().len());
    let texts: Vec<Value> = heard
        .text()
        .split("\n\n")
        .filter_map(|item| serde_json::from_str(item.strip_prefix("event: text\ndata: ")?).ok())
        .collect();
    assert!(texts.iter().any(|text| text["call"] == "argue/2/pessimist"), "{}", heard.text());
    assert!(texts.iter().all(|text| text["text"].as_str().is_some_and(|text| !text.is_empty())));
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_deleted_words_are_gone_from_a_page_that_has_shown_them() {
    let house = House::open();
    let debate = house.held(&prediction()).await;
    let change = "judge_order=reversed".parse().unwrap();
    let fork = Fork { parent: debate, at: Some(Seq(12)), change, actor: "test".to_owned() };
    let fork = house.engine.fork(fork).await.unwrap().debate.unwrap();
    house.concluded(fork).await;
    let before = page(&house, debate, "").await;
    let said =
        before["result"]["debate_log"]["rounds"][0]["arguments"][0]["argument"].as_str().unwrap().to_owned();
    assert!(page(&house, fork, "").await.to_string().contains(&said), "a fork shows what it shares");
    house.engine.redact(debate, Redact::All, "test").await.unwrap();
    for (debate, at) in [(debate, ""), (debate, "?at=40"), (fork, "")] {
        let after = page(&house, debate, at).await;
        assert!(!after.to_string().contains(&said) && after["title"].is_null(), "{after}");
    }
    let first = call_events(&house, debate).await[0];
    for part in ["events", "calls", &format!("calls/{first}/prompt")] {
        let shown = house.data(&format!("/data/debates/{debate}/{part}")).await;
        assert!(!shown.text().contains(&said), "{part}");
    }
    assert_eq!(page(&house, debate, "").await["redacted"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_words_whose_deletion_is_on_record_are_not_shown_though_they_be_there_still() {
    let house = House::open();
    let debate = house.held(&prediction()).await;
    let said =
        page(&house, debate, "").await["result"]["debate_log"]["rounds"][0]["arguments"][0]["argument"]
            .as_str()
            .unwrap()
            .to_owned();
    // As an interrupted redaction leaves it: all is on record, and nothing is deleted.
    let log = house.engine.log(debate, None).await.unwrap();
    let last = log.last().unwrap();
    let with_words = log.iter().filter(|event| event.prose.is_some());
    let events: Vec<Event<Prediction>> =
        with_words.map(|event| Event::Kernel(KernelEvent::Redacted(Redacted { seq: event.seq }))).collect();
    let head = Head { seq: last.seq, hash: last.hash };
    let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
    let records = seal(debate.into(), head, &author, last.at, &events, || [0; 16]).into_envelopes();
    house.engine.store().append(Append::new(debate.into(), last.seq, records)).await.unwrap();
    let stored = house.engine.log(debate, None).await.unwrap();
    assert!(stored.iter().any(|event| event.prose.as_ref().is_some_and(|prose| prose.text.contains(&said))));

    let first = call_events(&house, debate).await[0];
    for part in ["", "?at=40", "/events", "/calls", &format!("/calls/{first}/prompt")] {
        let shown = house.data(&format!("/data/debates/{debate}{part}")).await;
        assert!(!shown.text().contains(&said), "{part}");
    }
    let bundle = house.data(&format!("/data/debates/{debate}/bundle")).await;
    let lines = std::io::read_to_string(GzDecoder::new(bundle.body.as_slice())).unwrap();
    assert!(lines.contains("\"redacted\"") && !lines.contains(&said));
}

#[tokio::test(flavor = "multi_thread")]
async fn debates_are_found_by_words_format_state_completeness_and_time() {
    let house = House::quiet();
    let running = house.start(&deliberation()).await;
    let other = House::open();
    let (harbour, closed) = (other.held(&prediction()).await, other.held(&deliberation()).await);
    let found = async |query: &str| -> Vec<String> {
        let list = other.data(&format!("/data/debates{query}")).await.json();
        list["debates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["debate_id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (harbour, closed) = (harbour.to_string(), closed.to_string());
    assert_eq!(found("").await, [closed.clone(), harbour.clone()]);
    let list = other.data("/data/debates").await.json();
    assert!(list["debates"].as_array().unwrap().iter().all(|entry| entry["simulated"] == true), "{list}");
    assert_eq!(found("?search=FREEZE%20harbour").await, vec![harbour.clone()]);
    assert_eq!(found(&format!("?search={}", &closed[..8])).await, vec![closed.clone()]);
    assert_eq!(found("?format=deliberation&state=concluded&completeness=full").await, [closed]);
    for none in ["?search=absent", "?state=running", "?completeness=void", "?since=2999-01-01T00:00:00Z"] {
        assert!(found(none).await.is_empty(), "{none}");
    }
    assert_eq!(found("?until=2999-01-01T00:00:00Z&since=2000-01-01T00:00:00Z").await.len(), 2);
    let list = house.data("/data/debates?state=running").await.json();
    let entry = &list["debates"][0];
    assert_eq!(entry["debate_id"], running.to_string());
    assert_eq!((&entry["progress"]["calls_expected"], &entry["completeness"]), (&json!(7), &Value::Null));
    house.let_all_speak();
    house.concluded(running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k14_a_fork_is_shown_from_its_own_first_event_and_compared_with_its_parent() {
    let house = House::open();
    let parent = house.held(&prediction()).await;
    let change = "judge_order=reversed".parse().unwrap();
    let fork = Fork { parent, at: Some(Seq(12)), change, actor: "test".to_owned() };
    let fork = house.engine.fork(fork).await.unwrap().debate.unwrap();
    house.concluded(fork).await;
    let shown = page(&house, fork, "?at=1").await;
    assert_eq!(shown["forked_from"]["debate_id"], parent.to_string());
    assert_eq!((&shown["seq"], shown["inherited"].as_u64() > Some(11)), (&json!(1), true));
    let difference = house.data(&format!("/data/difference?a={parent}&b={fork}")).await.json();
    assert!(difference["difference"]["a"]["seq"].is_u64(), "{difference}");
    let same = house.data(&format!("/data/difference?a={parent}&b={parent}")).await.json();
    assert!(same["difference"].is_null(), "{same}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_finds_every_event_every_request_the_check_and_the_bundle() {
    let house = House::open();
    let debate = house.held(&prediction()).await;
    let log = house.engine.log(debate, None).await.unwrap();
    let resolve = Control::Resolve(Resolved::new("no".into()));
    let mut events = Vec::new();
    while events.len() < log.len() {
        let after = events.len();
        let shown = house.data(&format!("/data/debates/{debate}/events?after={after}&limit=10")).await.json();
        events.extend(shown["events"].as_array().unwrap().clone());
    }
    for (event, stored) in events.iter().zip(&log) {
        assert_eq!((&event["seq"], &event["kind"]), (&json!(stored.seq), &json!(stored.kind)));
        assert_eq!((&event["hash"], &event["facts"]), (&json!(stored.hash.to_string()), &json!(stored.body)));
    }
    for part in ["events", "calls"] {
        let behind = house.data(&format!("/data/debates/{debate}/{part}?after={}", log.len() + 9)).await;
        assert_eq!((behind.status, &behind.json()[part]), (StatusCode::OK, &json!([])), "{part}");
    }
    let calls = house.data(&format!("/data/debates/{debate}/calls")).await.json();
    let calls = calls["calls"].as_array().unwrap();
    assert_eq!(calls.len(), log.iter().filter(|event| event.kind == "call_started").count());
    assert!(
        calls
            .iter()
            .all(|call| call["end"]["words"]["text"].is_string() && call["prompt"]["digest"].is_string())
    );
    house.engine.control(debate, resolve, "test").await.unwrap();
    let found = house.data(&format!("/data/debates/{debate}/verification")).await.json();
    assert_eq!((&found["ok"], &found["events"]), (&json!(true), &json!(log.len() + 1)));
    assert_eq!(page(&house, debate, "").await["resolved"]["outcome"], "no");
    let bundle = house.data(&format!("/data/debates/{debate}/bundle")).await;
    let lines = std::io::read_to_string(GzDecoder::new(bundle.body.as_slice())).unwrap();
    let mut check = BundleCheck::new(None, None);
    let read = lines.lines().filter(|line| check.push(line).unwrap().is_some()).count();
    assert!(read == log.len() + 1 && check.finish().unwrap().is_sound());
}

/// The events that begin the requests of a debate.
pub(crate) async fn call_events(house: &House, debate: DebateId) -> Vec<u64> {
    let log = house.engine.log(debate, None).await.unwrap();
    log.iter().filter(|event| event.kind == "call_started").map(|event| event.seq.0).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn k6_what_is_missing_is_said_in_words_on_the_page_and_in_the_report() {
    let house = House::quiet();
    let debate = house.start(&prediction()).await;
    // Two pauses in each answer: the three openings, no more.
    house.let_speak(6);
    let watched = house.engine.watch(debate, Seq::START, false).await.unwrap();
    let made = watched.filter(|item| {
        let is_made = matches!(item, Ok(Watched::Event(event)) if event.kind == "argument_made");
        std::future::ready(is_made)
    });
    assert_eq!(made.take(3).count().await, 3);
    let cancel = Control::Cancel { reason: "enough".to_owned() };
    house.engine.control(debate, cancel, "test").await.unwrap();
    house.let_all_speak();
    house.concluded(debate).await;
    let log = Log::fold(debate, house.engine.history(debate, None).await.unwrap()).unwrap();
    let page = DebatePage::of(&log, log.head().0).unwrap();
    assert!(page.missing.contains(&"optimist, round 2, argue".to_owned()), "{:?}", page.missing);
    assert!(page.missing.iter().all(|what| !what.contains('/')), "{:?}", page.missing);
    let missing = page.missing.join("; ");
    let found = house.engine.verify(debate).await.unwrap();
    let report = Report::new(page, found, Timestamp(0)).markdown();
    assert!(report.contains(&format!("PARTIAL, missing {missing}: ")), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_prompt_of_every_request_is_rendered_again_and_agrees_with_the_log() {
    let house = House::open();
    for request in [prediction(), deliberation(), roundtable(), review(), investigation()] {
        let debate = house.held(&request).await;
        for seq in call_events(&house, debate).await {
            let path = format!("/data/debates/{debate}/calls/{seq}/prompt");
            let shown = house.data(&path).await.json();
            assert_eq!((&shown["agrees"], &shown["finding"]), (&json!(true), &json!("agrees")), "{path}");
            assert_eq!(shown["told"], "rendered again from the log, digest agrees");
            let messages = shown["rendered"]["messages"].as_array().unwrap();
            assert_eq!(messages[0]["speaker"], "system", "{path}");
            assert!(messages.iter().any(|message| message["speaker"] == "user"), "{path}");
            assert!(messages.iter().all(|message| message["text"].as_str().is_some_and(|it| !it.is_empty())));
        }
        let redacted = call_events(&house, debate).await[0];
        house.engine.redact(debate, Redact::All, "test").await.unwrap();
        let shown = house.data(&format!("/data/debates/{debate}/calls/{redacted}/prompt")).await.json();
        assert_eq!((&shown["agrees"], &shown["rendered"]), (&json!(false), &Value::Null));
        assert_eq!(shown["finding"], "words_deleted");
    }
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused_with_a_reason() {
    let house = House::open();
    let missing = "00000000-0000-4000-8000-000000000000";
    let debate = house.held(&prediction()).await;
    for (path, status) in [
        (format!("/data/debates/{missing}"), StatusCode::NOT_FOUND),
        (format!("/data/debates/{missing}/bundle"), StatusCode::NOT_FOUND),
        (format!("/data/debates/{missing}/follow"), StatusCode::NOT_FOUND),
        (format!("/data/debates/{debate}?at=0"), StatusCode::NOT_FOUND),
        (format!("/data/debates/{debate}?at=9999"), StatusCode::NOT_FOUND),
        (format!("/data/debates/{debate}/follow?after=9999"), StatusCode::NOT_FOUND),
        (format!("/data/debates/{debate}?at=x"), StatusCode::BAD_REQUEST),
        (format!("/data/debates/{missing}/calls/3/prompt"), StatusCode::NOT_FOUND),
        (format!("/data/debates/{debate}/calls/9999/prompt"), StatusCode::NOT_FOUND),
        (format!("/data/debates/{debate}/calls/1/prompt"), StatusCode::BAD_REQUEST),
        (format!("/data/debates/{debate}/calls/x/prompt"), StatusCode::BAD_REQUEST),
        ("/data/debates/x".to_owned(), StatusCode::BAD_REQUEST),
        ("/data/debates?state=over".to_owned(), StatusCode::BAD_REQUEST),
        ("/data/debates?since=yesterday".to_owned(), StatusCode::BAD_REQUEST),
        ("/data/debates?format=quarrel".to_owned(), StatusCode::BAD_REQUEST),
        ("/data/debates?completeness=half".to_owned(), StatusCode::BAD_REQUEST),
        ("/data/calibration?source=rumour".to_owned(), StatusCode::BAD_REQUEST),
    ] {
        let answer = house.data(&path).await;
        assert_eq!(answer.status, status, "{path}");
        let problem: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{path}");
    }
}

/// Checks what every answer of the viewer tells a browser that may be led astray: nothing runs, loads, goes out or is
/// framed but what this server itself serves, and nothing is kept.
fn is_guarded(answer: &Answer, of: &str) {
    let header = |name: &str| answer.headers.get(name).map_or("", |value| value.to_str().unwrap());
    let policy: BTreeSet<&str> = header("content-security-policy").split(';').map(str::trim).collect();
    let wanted = [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ];
    assert_eq!(policy, BTreeSet::from(wanted), "{of}");
    assert_eq!(header("x-content-type-options"), "nosniff", "{of}");
    assert_eq!(header("referrer-policy"), "no-referrer", "{of}");
    assert_eq!(header("cache-control"), "no-store", "{of}");
}

/// What a browser fetches to show the page.
const FILES: [&str; 4] = ["/", "/assets/viewer.js", "/assets/viewer.css", "/assets/icon.svg"];

#[tokio::test]
async fn the_first_paint_is_small_and_nothing_is_fetched_from_elsewhere() {
    let house = House::open();
    let mut bytes = 0;
    for path in FILES {
        let answer = asked(&house.viewer.pages, path, &[]).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        is_guarded(&answer, path);
        bytes += answer.body.len();
    }
    assert!(bytes < 200_000, "{bytes}");
    for path in ["/debates/anything", "/compare", "/calibration"] {
        let page = asked(&house.viewer.pages, path, &[]).await;
        is_guarded(&page, path);
        assert!(!page.text().contains("https:") && !page.text().contains("style="), "{}", page.text());
    }
}

#[tokio::test]
async fn no_answer_has_a_copy_of_a_file_of_the_page() {
    let house = House::open();
    for path in FILES {
        let mut answers = Vec::new();
        for _ in 0..2 {
            let request = Request::get(format!("/viewer{path}")).body(Body::empty()).unwrap();
            let answer = house.viewer.pages.clone().oneshot(request).await.unwrap();
            answers.push(answer.into_body().into_data_stream().next().await.unwrap().unwrap());
        }
        assert_eq!(answers[0].as_ptr(), answers[1].as_ptr(), "{path}");
    }
}

#[tokio::test]
async fn whatever_is_opened_by_itself_in_a_browser_runs_nothing_and_is_kept_nowhere() {
    let house = House::open();
    let debate = house.held(&prediction()).await;
    let own = |rest: &str| format!("/data/debates/{debate}{rest}");
    let first = call_events(&house, debate).await[0];
    for path in [
        "/data/formats".to_owned(),
        "/data/debates".to_owned(),
        "/data/calibration".to_owned(),
        format!("/data/difference?a={debate}&b={debate}"),
        own(""),
        own("/events"),
        own("/calls"),
        own(&format!("/calls/{first}/prompt")),
        own("/verification"),
        own("/bundle"),
        own("/follow"),
        own("?at=x"),
    ] {
        is_guarded(&house.data(&path).await, &path);
    }
}
