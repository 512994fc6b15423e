//! What people and models say is shown by every command, and steers no terminal (rule K13).

use std::process::Command;
use std::time::Duration;

use debate_proto::v1;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::{Value, json};

use crate::program::{Program, Ran};
use crate::provider::{Answer, Provider};
use crate::server::Server;

/// Clears the screen, names the window, colours what follows by a control of one character, turns the line around; in a
/// document it has an image fetched, and is a link and HTML.
pub(crate) const STEERS: &str = "a\u{1b}[2Jb\u{1b}]0;owned\u{7}c\u{9b}31md\u{202e}e\rf ![g](http://203.0.113.7/h) [i](//203.0.113.7) <b>j</b>";

/// The id of an outcome, in which no control may be.
const OTHER: &str = "no \u{202e} owned ![g](http://203.0.113.7/h) <b>j</b>";

/// Checks that an output shows and steers nothing; returns whether it has the words.
pub(crate) fn is_calm(text: &str) -> bool {
    let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(steers), "{text:?}");
    text.contains("owned")
}

/// Checks that what was drawn on a terminal, with controls of its own, has none of [`STEERS`].
pub(crate) fn is_drawn_calmly(drawn: &str) {
    let steers = ["\u{1b}[2J", "\u{1b}]0;", "\u{7}", "\u{9b}", "\u{202e}"];
    let sent: Vec<&str> = steers.into_iter().filter(|it| drawn.contains(it)).collect();
    assert!(sent.is_empty(), "{sent:?}: {drawn:?}");
}

/// Checks that a document has no images and HTML, and no links where it may have none.
pub(crate) fn has_no_markup(document: &str, links: bool) {
    for event in Parser::new_ext(document, Options::all()) {
        let is_markup = match event {
            Event::Start(Tag::Link { .. }) => !links,
            Event::Start(Tag::Image { .. } | Tag::HtmlBlock) | Event::Html(_) | Event::InlineHtml(_) => true,
            _ => false,
        };
        assert!(!is_markup, "{event:?} in {document}");
    }
}

/// Runs a command, for which a provider answers.
pub(crate) fn ran(program: &Program, provider: &Provider, arguments: &[&str]) -> Ran {
    let mut command = program.command(arguments);
    Ran::of(answered(command.args(["--model", "openai:some-model"]), provider).output().unwrap())
}

/// Has a provider answer for a command.
fn answered<'c>(command: &'c mut Command, provider: &Provider) -> &'c mut Command {
    command.env("OPENAI_BASE_URL", &provider.base_url).env("OPENAI_API_KEY", "sk-1")
}

#[test]
fn k13_no_command_shows_words_that_steer_the_terminal() {
    let program = Program::new();
    let provider = Provider::start(|_| {
        let said = json!({
            "stance": "YES", "position": STEERS, "reasoning": STEERS, "confidence": 0.9, "citations": [STEERS],
        });
        Answer::words(&[&said.to_string()])
    });
    let table =
        json!({ "format": "roundtable", "topic": STEERS, "agents": ["ada", "bo"], "rounds": 2 }).to_string();
    program.write("table.json", table);
    let run = |arguments: &[&str]| ran(&program, &provider, arguments);
    let held = run(&["run", "table.json"]);
    assert_eq!(held.code, Some(0), "{held:?}");
    let id = program.run(["list", "--json"]).lines()[0]["debate_id"].as_str().unwrap().to_owned();
    let mut outputs = vec![held, run(&["fork", &id])];
    has_no_markup(&run(&["report", &id, "--format", "md"]).stdout, false);
    has_no_markup(&run(&["show", &id, "--markdown"]).stdout, true);
    assert!(!run(&["report", &id]).stdout.contains("<b>j"), "the title of a page is text");
    for arguments in [
        &["list"][..],
        &["show", &id],
        &["show", &id, "--markdown"],
        &["report", &id, "--format", "md"],
        &["report", &id],
        &["log", &id],
        &["log", &id, "--prompt", "3"],
        &["watch", &id],
        &["replay", &id],
        &["verify", &id],
        &["continue", &id, "--focus", STEERS],
    ] {
        outputs.push(run(arguments));
    }
    let mut shown = 0;
    for ran in outputs {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for text in [&ran.stdout, &ran.stderr] {
            shown += usize::from(is_calm(text));
        }
    }
    assert!(shown > 5, "the words are shown all the same");
}

/// Answers whatever is asked in any format, as far as it can be read, with words that steer; as words where no shape is
/// asked for.
pub(crate) fn steering(request: &str) -> Answer {
    if !request.contains("response_format") {
        // An answer that repeats another is none (rule P27).
        let own: u64 = request.bytes().map(u64::from).sum();
        let words = format!("{STEERS} It leaks {own} keys. I saw it {STEERS}.\nUnresolved:\n- {STEERS}");
        return Answer::words(&[&words]);
    }
    let feedback = |role: &str| json!({"role": role, "argument_quality_score": 5.5, "argument_labels": [STEERS], "policy_signal": STEERS});
    // The Historian disagrees, so that the output names a dissenter and their position.
    let supported = if request.contains("You are the Historian.") { "B" } else { "A" };
    let said = json!({
        "argument": format!("It fell to 2.1% in March {STEERS}"), "supports": supported, "probabilities": {"A": 0.5, "B": 0.5},
        "confidence": 0.7, "evidence_cited": [STEERS],
        "precedents": [{"event": STEERS, "date": format!("1994-02 {STEERS}"), "outcome": STEERS, "relevance": STEERS, "similarity_score": 0.7}],
        "reason": STEERS, "scores": {"logical_strength": 0.7, "evidence_quality": 0.7, "novelty": 0.7}, "reasoning": STEERS,
        "disagreements": [{"topic": STEERS, "positions": [{"role": "optimist", "stance": STEERS, "strength": 0.8}], "resolved": false}],
        "insights": [{"insight": STEERS, "source_role": "optimist", "round": 1, "impact": "high", "affected_outcomes": ["A"]}],
        "summary": STEERS, "winner": "tie", "feedback": [feedback("security"), feedback("testing")],
        "rationale": STEERS, "proposed_prompt": STEERS,
    });
    Answer::words(&[&said.to_string()])
}

/// Takes no request, and says so in words that steer.
pub(crate) fn refusing(_: &str) -> Answer {
    Answer::json("400 Bad Request", &json!({"error": {"message": "no \u{202e}such owned parameter"}}))
}

/// Returns a request of every format but the roundtable, with words that steer wherever a client chooses them.
pub(crate) fn requests() -> [(&'static str, &'static str, Value); 4] {
    let outcome = |id: &str| json!({"id": id, "label": format!("{id} {STEERS}"), "description": STEERS});
    let share = |id: &str| json!({"outcome_id": id, "probability": 0.5});
    let operation = |op: &str| json!([{"op": op, "target": STEERS, "value": {STEERS: STEERS}}]);
    let critique = |role: &str, op: &str| json!({"role": role, "system_prompt": STEERS, "operations": operation(op), "findings": [STEERS]});
    [
        (
            "run",
            "prediction",
            json!({
                "task_id": "t-1",
                "prediction_context": {
                    "task": {"question": STEERS, "background": STEERS}, "outcomes": [outcome("yes"), outcome(OTHER)],
                    "simulation_summary": {"final_distribution": [share("yes"), share(OTHER)]},
                },
                "config": {"rounds": 1, "roles": ["optimist", "historian", "judge"]},
            }),
        ),
        (
            "run",
            "deliberation",
            json!({
                "format": "deliberation", "mode": "weak", "topic": STEERS,
                "participants": [{"name": "ada"}, {"name": "bo"}], "orchestrator": {"name": "mod"},
            }),
        ),
        (
            "review",
            "review",
            json!({
                "format": "review", "original_prompt": STEERS, "context": STEERS, "debate": {"enabled": true},
                "critiques": [critique("security", "AddConstraint"), critique("testing", "RemoveConstraint")],
            }),
        ),
        (
            "run",
            "investigation",
            json!({
                "format": "investigation", "problem": STEERS, "context": STEERS, "investigators": ["ada", "bo"],
                "rounds": 1,
            }),
        ),
    ]
}

#[test]
fn k13_words_of_every_format_are_shown_and_steer_no_terminal() {
    let program = Program::new();
    let provider = Provider::start(steering);
    let run = |arguments: &[&str]| ran(&program, &provider, arguments);
    for (command, format, request) in requests() {
        let file = format!("{format}.json");
        program.write(&file, request.to_string());
        let held = run(&[command, &file]);
        let listed = program.run(["list", "--json"]).lines();
        let id = listed.iter().find(|entry| entry["format"] == format);
        let id = id.unwrap_or_else(|| panic!("{held:?}"))["debate_id"].as_str().unwrap();
        let mut outputs = vec![held, run(&["list"]), run(&["policy", "insights"])];
        has_no_markup(&run(&["report", id, "--format", "md"]).stdout, false);
        for arguments in [
            &["show", id][..],
            &["log", id],
            &["watch", id],
            &["report", id, "--format", "md"],
            &["report", id],
        ] {
            outputs.push(run(arguments));
        }
        if format == "prediction" {
            outputs.extend([run(&["resolve", id, OTHER]), run(&["calibration"]), run(&["influence", id])]);
            outputs.push(run(&["report", id, "--format", "md"]));
            has_no_markup(&outputs.last().unwrap().stdout, false);
        }
        let calm = outputs.iter().filter(|ran| is_calm(&ran.stdout) | is_calm(&ran.stderr));
        assert!(calm.count() >= 5, "the words of a {format} are shown all the same: {outputs:?}");
    }
    let provider = Provider::start(refusing);
    let refused = ran(&program, &provider, &["run", "deliberation.json", "--json"]);
    assert!(is_calm(&refused.stderr), "what a provider said is shown all the same: {refused:?}");
}

#[test]
fn k13_words_of_a_proposal_and_words_that_differ_are_shown_and_steer_no_terminal() {
    let program = Program::new();
    let provider = Provider::start(steering);
    let run = |arguments: &[&str]| {
        let ran = ran(&program, &provider, arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    };
    std::fs::create_dir(program.path("reviewers")).unwrap();
    program.write("reviewers/security.cjs", "const SYSTEM_PROMPT = `Look.`;\n");
    let [_, (.., mut deliberation), (.., review), _] = requests();
    program.write("review.json", review.to_string());
    program.write("one.json", deliberation.to_string());
    deliberation["topic"] = "Quiet?".into();
    program.write("other.json", deliberation.to_string());
    for held in
        [&["review", "review.json"], &["review", "review.json"], &["run", "one.json"], &["run", "other.json"]]
    {
        run(held);
    }
    let listed = program.run(["list", "--format", "deliberation", "--json"]).lines();
    let [a, b] = [0, 1].map(|place| listed[place]["debate_id"].as_str().unwrap());
    let evidence = ["--reviewers-dir", "reviewers", "--debates-min", "2", "--anyway"];
    for arguments in [
        &[&["policy", "propose", "security"][..], &evidence].concat()[..],
        &["policy", "show", "security"],
        &["diff", a, b],
    ] {
        let ran = run(arguments);
        assert!(is_calm(&ran.stdout), "the words are shown all the same: {ran:?}");
    }
}

#[test]
fn k13_words_that_are_drawn_live_on_a_terminal_do_not_steer_it() {
    let program = Program::new();
    // What is being said stands there for longer than it takes to draw it.
    let while_drawn = Duration::from_millis(250);
    let provider = Provider::pausing(while_drawn, |_| Answer::words(&[STEERS, " and said"]));
    let [_, (.., deliberation), ..] = requests();
    program.write("it.json", deliberation.to_string());
    let mut run = program.on_terminal("xterm", &["run", "it.json", "--model", "openai:some-model"]);
    let Ok(ran) = answered(&mut run, &provider).output() else {
        return eprintln!("skipped: there is no program `script` to make a terminal");
    };
    let ran = Ran::of(ran);
    assert!(ran.code == Some(0) && ran.stdout.contains("owned"), "{ran:?}");
    is_drawn_calmly(&ran.stdout);
}

#[test]
fn k13_words_of_files_of_questions_and_of_cases_are_shown_and_steer_no_terminal() {
    let program = Program::new();
    let question = json!({
        "id": STEERS, "question": STEERS, "outcomes": ["Yes", "No"], "crowd": {"value": 0.2}, "resolution": "no",
        "resolve_date": "2026-03-01",
    });
    program.write("questions.jsonl", question.to_string());
    let case = json!({
        "id": STEERS, "description": STEERS,
        "input": {"topic": STEERS, "mode": "weak", "participantResponses": {"a": [STEERS], "b": [STEERS], "orchestrator": [STEERS]}},
        "expected": {"roundCount": 9, "phaseSequence": ["initial"]},
    });
    program.write("case.json", case.to_string());
    let name = format!("{}:", json!(STEERS));
    let twice = case.to_string().replace("\"a\":", &name).replace("\"b\":", &name);
    program.write("twice.json", twice);
    for (arguments, code) in [
        (&["backtest", "questions.jsonl", "--rounds", "1"][..], 0),
        (&["golden", "case.json"], 4),
        (&["golden", "twice.json"], 4),
    ] {
        let ran = program.run(arguments);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(is_calm(&ran.stdout) | is_calm(&ran.stderr), "the words are shown all the same: {ran:?}");
    }
}

#[test]
fn k13_what_a_provider_says_to_the_doctor_steers_no_terminal() {
    let program = Program::new();
    let provider = Provider::start(refusing);
    let examined = ran(&program, &provider, &["doctor"]);
    assert!(examined.code != Some(0) && is_calm(&examined.stdout), "{examined:?}");
}

#[tokio::test]
async fn k13_words_in_the_log_of_a_server_begin_no_line_and_steer_no_terminal_in_the_format_asked_for() {
    let speaker = |name: &str, skill: Option<&str>| v1::Speaker {
        name: name.to_owned(),
        skills: skill.map(str::to_owned).into_iter().collect(),
    };
    let request = v1::DeliberationRequest {
        topic: "Ledgers?".to_owned(),
        participants: vec![speaker("a", Some("gone")), speaker("b", None)],
        ..Default::default()
    };
    let request = v1::StartDebateRequest {
        request_id: "odd".to_owned(),
        format: Some(v1::start_debate_request::Format::Deliberation(request)),
    };
    for format in ["text", "json"] {
        let program = Program::new();
        let skills = format!("{STEERS}\n2026-01-01 ERROR");
        let args = ["serve", "--listen", "127.0.0.1:0", "--store", "memory", "--log-format", format];
        let mut command = program.command(args.into_iter().chain(["--skills-dir", &skills]));
        command.stderr(std::fs::File::create(program.path("log")).unwrap());
        let server = Server::of(command);
        server.client().await.start_debate(request.clone()).await.unwrap();
        server.kill();
        let log = std::fs::read_to_string(program.path("log")).unwrap();
        assert!(is_calm(&log));
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("owned")).collect();
        let [line] = lines[..] else { panic!("{log}") };
        let (left_out, entry) = ("skill gone is left out: ", serde_json::from_str::<Value>(line));
        match entry {
            Ok(entry) if format == "json" => {
                assert!(entry["message"].as_str().unwrap().contains(&format!("{left_out}{skills}")), "{log}");
            }
            Ok(_) => panic!("{log}"),
            Err(_) => assert!(format == "text" && line.contains(left_out) && line.contains("ERROR"), "{log}"),
        }
    }
}
