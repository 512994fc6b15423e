//! `debate report`: a debate as one file.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use debate_core::id::Digest;
use serde_json::Value;

use crate::program::Program;
use crate::verifying::alter;

#[test]
fn a_report_is_one_file_that_says_what_the_result_says() {
    let program = Program::new();
    for example in
        ["ice.json", "deliberation.json", "roundtable-delphi.json", "review.json", "leap_second.json"]
    {
        let id = program.debate(example);
        let result = program.run(["show", &id, "--json"]).json();
        let json = program.run(["report", &id, "--format", "json"]).json();
        assert_eq!((&json["page"]["result"], &json["verification"]["ok"]), (&result, &true.into()));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        let ran = program.run(["report", &id, "-o", path.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
        let html = fs::read_to_string(&path).unwrap();
        let (_, data) = html.split_once("<script type=\"application/json\" id=\"report\">").unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(data["page"], json["page"]);
        runs_its_own_alone(&html);

        let markdown = program.run(["report", &id, "--format", "md"]).stdout;
        for said in ["**Simulated:", "- Completeness: full", "- Log: intact"] {
            assert!(markdown.contains(said), "{said}: {markdown}");
        }
        says_what_the_page_says(
            &markdown,
            &json["page"],
            example == "ice.json" || example.starts_with("roundtable"),
        );
        assert_eq!(markdown.contains("### What came of the round"), example == "ice.json", "{markdown}");
        for decided in json["page"]["decision"]["decided"].as_array().into_iter().flatten() {
            let first = decided
                .as_str()
                .unwrap()
                .split(|c: char| c.is_control() || ".*_[]<>&`#|~!".contains(c))
                .next()
                .unwrap();
            assert!(markdown.contains(&format!("- What was decided: {first}")), "{first}: {markdown}");
        }
        if let Some(answers) = result["probability_distribution"].as_array() {
            let answer = answers[0]["probability"].as_f64().unwrap() * 100.0;
            assert!(markdown.contains(&format!("| Yes | {answer:.1}\u{a0}% |")), "{markdown}");
        }
        let then = program.run(["report", &id, "--format", "json", "--at", "3"]).json();
        assert_eq!((&then["page"]["seq"], &then["page"]["state"]), (&3.into(), &"running".into()));
        let log = program.run(["log", &id, "--json"]).lines();
        let hash = |place: usize| log[place]["hash"].as_str().unwrap().to_owned();
        assert_eq!(then["page"]["hash"], hash(2).as_str(), "the hash is that event's own");
        let markdown = program.run(["report", &id, "--format", "md", "--at", "3"]).stdout;
        let head = log.len();
        let expected =
            format!("hash {}. The log was checked to event {head}, hash {}.", hash(2), hash(head - 1));
        assert!(markdown.contains(&expected), "{expected}: {markdown}");
        assert!(
            markdown.contains(&format!("- As it was at event 3 of {head}; at event {head} it is concluded"))
        );
    }
}

/// Checks that the policy of a report as HTML lets its own script and style run, by their hashes, and nothing be loaded.
fn runs_its_own_alone(html: &str) {
    let between = |start: &str, end: &str| html.split_once(start).unwrap().1.split_once(end).unwrap().0;
    let own = ["script", "style"].map(|tag| {
        let text = between(&format!("<{tag}>"), &format!("</{tag}>"));
        format!("{tag}-src 'sha256-{}'", BASE64_STANDARD.encode(Digest::of_text(text).0))
    });
    let policy = between("Content-Security-Policy\" content=\"", "\"");
    assert_eq!(policy, format!("default-src 'none'; {}", own.join("; ")));
    assert!(!html.contains("<link") && !html.contains("<script src"), "everything is in it");
}

/// Checks that a report as text says what the page says first, and of a prediction what arguments rest on.
fn says_what_the_page_says(markdown: &str, page: &Value, has_numbers: bool) {
    let decision = &page["decision"];
    let numbers = ["confidence", "agreement"]
        .map(|name| decision["sure"].as_str().is_some_and(|sure| sure.contains(name)));
    if has_numbers {
        assert_eq!(numbers, [true, true], "{decision}");
        assert!(
            markdown.contains(&format!("- How sure: {}", decision["sure"].as_str().unwrap())),
            "{markdown}"
        );
    }
    if let Some(dissenters) = decision["dissenters"].as_array() {
        let who: Vec<&str> = dissenters.iter().filter_map(Value::as_str).collect();
        let disagreed = markdown.lines().find_map(|line| line.strip_prefix("- Who disagreed: ")).unwrap();
        let names = who.iter().all(|who| disagreed.contains(who.split(' ').next().unwrap()));
        assert!(names && (who.is_empty() == (disagreed == "no one")), "{disagreed}: {who:?}");
    }
    let spent = page["spent"].as_str().unwrap();
    for line in [
        format!("calls of {} planned, {spent}", page["calls_expected"]),
        "- Why it stopped: ".to_owned() + &page["stop"]["words"].as_str().unwrap()[..5],
    ] {
        assert!(markdown.contains(&line), "{line}: {markdown}");
    }
    let rounds = page["result"]["debate_log"]["rounds"].as_array().into_iter().flatten();
    let arguments = rounds.flat_map(|round| round["arguments"].as_array().unwrap());
    let evidenced = arguments.filter(|argument| argument["evidence_cited"][0].is_string()).count();
    assert_eq!(markdown.matches("\nEvidence:\n").count(), evidenced, "{markdown}");
}

#[test]
fn k15_a_report_of_a_log_to_which_somebody_added_an_event_says_so_or_is_not_made() {
    // A record of a deletion may stand behind a conclusion, a beginning may not.
    for (kind, body, is_made) in
        [("'redacted'", "'{\"seq\":1}'", true), ("opened.kind", "opened.body", false)]
    {
        let program = Program::new();
        let id = program.debate("ice.json");
        let head = program.run(["log", &id, "--json"]).lines().len();
        let added = format!(
            "INSERT INTO events (stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, body)
             SELECT last.stream_kind, last.stream_id, last.seq + 1, {kind}, 1, last.at, last.tenant, last.actor, last.hash, {body}
             FROM events AS last, events AS opened WHERE last.seq = {head} AND opened.seq = 1"
        );
        alter(&program, &[&added]);
        let added = head + 1;
        let fault = program.run(["verify", &id, "--json"]).json();
        assert_eq!((&fault["ok"], &fault["fault_seq"]), (&false.into(), &added.into()), "{fault}");
        for format in ["html", "md", "json"] {
            let ran = program.run(["report", &id, "--format", format]);
            if !is_made {
                assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{format}: {ran:?}");
                assert!(ran.stderr.starts_with(&format!("error: event {added}: ")), "{format}: {ran:?}");
                continue;
            }
            assert_eq!(ran.code, Some(0), "{format}: {ran:?}");
            if format == "json" {
                let found = &ran.json()["verification"];
                assert_eq!((&found["ok"], &found["fault_seq"]), (&false.into(), &added.into()), "{found}");
            } else {
                let expected = format!("- Log: NOT INTACT at event {added}: ");
                assert!(ran.stdout.contains(&expected), "{expected}: {ran:?}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_new_file_of_a_report_or_a_backtest_is_for_its_owner_alone_and_an_old_one_stays_for_whom_it_was() {
    use std::os::unix::fs::PermissionsExt as _;

    let program = Program::new();
    let id = program.debate("deliberation.json");
    let mode = |name: &str| fs::metadata(program.path(name)).unwrap().permissions().mode() & 0o777;
    let report = |name: &str| {
        let ran = program.run(["report", &id, "--format", "md", "-o", name]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        fs::read_to_string(program.path(name)).unwrap()
    };
    report("report.md");
    assert_eq!(mode("report.md"), 0o600);
    let shared = program.write("shared.md", "x".repeat(100_000));
    fs::set_permissions(shared, fs::Permissions::from_mode(0o640)).unwrap();
    let text = report("shared.md");
    assert!(text.starts_with("# ") && text.trim_end().ends_with('.'), "nothing of what was there is left");
    assert_eq!(mode("shared.md"), 0o640);
    let known = r#"{"id": "q", "question": "Will it rain?", "outcomes": ["Yes", "No"], "resolution": "no"}"#;
    program.write("questions.jsonl", known);
    let ran = program.run(["backtest", "questions.jsonl", "--rounds", "1", "--output", "found.json"]);
    assert!(program.path("found.json").is_file(), "{ran:?}");
    assert_eq!(mode("found.json"), 0o600);
}

#[test]
fn a_report_that_cannot_be_made_is_one_clear_error() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    let unknown_id = "00000000-0000-4000-8000-000000000000";
    for (args, code, why) in [
        (vec!["report", unknown_id], 3, "there is no debate"),
        (vec!["report", &id, "--at", "999"], 2, "there is no event 999 yet"),
        (vec!["report", &id, "-o", "/nowhere/at/all.html"], 2, "cannot write /nowhere/at/all.html"),
    ] {
        let ran = program.run(&args);
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(code), 1), "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
    }
}
