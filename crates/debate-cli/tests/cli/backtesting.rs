//! `debate backtest`: on real questions where they are there, and on made-up ones.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::Program;

/// Questions of the real file that are resolved, all of which are debated.
const HELD: usize = 117;

/// Returns the real questions, or says that they are not here.
fn real_questions() -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/questions/questions.jsonl");
    if !file.is_file() {
        eprintln!("skipped: ../shared/data/questions is not here");
        return None;
    }
    Some(file)
}

fn question(number: usize, market: f64) -> String {
    let line = json!({
        "id": format!("q-{number}"), "question": format!("Will harbour {number} freeze?"), "outcomes": ["Yes", "No"],
        "crowd": {"value": market}, "resolution": "no", "resolve_date": "2026-03-01",
    });
    format!("{line}\n")
}

/// Returns the mean Brier score of the market over the first questions that are resolved, reckoned from the file alone.
fn market_brier(file: &Path) -> f64 {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.split('\n').filter(|line| !line.is_empty());
    let questions = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let resolved = questions.filter(|question| !question["resolution"].is_null());
    let losses: Vec<f64> = resolved
        .map(|question| {
            let happened = f64::from(u8::from(question["resolution"] == "yes"));
            (question["crowd"]["value"].as_f64().unwrap() - happened).powi(2)
        })
        .collect();
    losses.iter().sum::<f64>() / losses.len() as f64
}

fn forecast<'a>(report: &'a Value, of: &str) -> &'a Value {
    report["forecasts"].as_array().unwrap().iter().find(|found| found["of"] == of).unwrap()
}

#[test]
fn k16_real_questions_run_once_and_are_compared_with_market() {
    let Some(file) = real_questions() else { return };
    let program = Program::new();
    let args = ["backtest", file.to_str().unwrap(), "--rounds", "1", "--output", "found.json"];
    let ran = program.run(args.iter().chain(&["--json"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.starts_with("SIMULATED: "), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("117 resolved questions; 71 more are not resolved and left out: 117 to be debated")
    );
    assert!(ran.stderr.contains("about 1,287 calls of simulated") && ran.stderr.contains("costs nothing"));
    assert!(ran.stderr.contains("117/117 q-"), "{}", ran.stderr);
    let found = ran.json();
    assert_eq!(std::fs::read_to_string(program.path("found.json")).unwrap(), ran.stdout);
    assert_eq!((&found["simulated"], &found["questions"]["new"]), (&true.into(), &HELD.into()));
    assert_eq!(found["estimate"]["calls"], 1_287);
    let report = &found["calibration"];
    assert_eq!(
        (&report["resolved"], &report["simulated"], &report["void"]),
        (&HELD.into(), &HELD.into(), &0.into())
    );
    let market = forecast(report, "market")["brier_mean"].as_f64().unwrap();
    assert!((market - market_brier(&file)).abs() < 1e-12, "{market}");
    for of in ["final", "consensus", "judge", "blind", "role", "opening"] {
        assert_eq!(forecast(report, of)["debates"], HELD, "{of}");
    }
    let over: Vec<&Value> =
        report["comparisons"].as_array().unwrap().iter().map(|found| &found["of"]).collect();
    assert!(over.contains(&&"market".into()) && over.contains(&&"blind".into()), "{over:?}");
    assert_eq!(
        &program.run(["calibration", "--json"]).json(),
        report,
        "`calibration` prints the same numbers"
    );

    let first = &found["debates"][0];
    let log = program.run(["log", first["debate_id"].as_str().unwrap(), "--json"]).lines();
    let resolved = log.iter().find(|event| event["kind"] == "resolved").unwrap();
    assert_eq!(resolved["body"]["market"], first["market"]);
    let again = program.run(args);
    assert!(again.stderr.contains("0 to be debated, 0 to go on, 117 concluded before"), "{}", again.stderr);
    assert!(again.stdout.starts_with("SIMULATED: a program made up replies"), "{}", again.stdout);
    assert!(again.stdout.contains("117 simulated debates on 117 questions resolved"), "{}", again.stdout);
    assert!(again.stdout.contains("  market "), "{}", again.stdout);
    let market =
        report["comparisons"].as_array().unwrap().iter().find(|found| found["of"] == "market").unwrap();
    assert_eq!(market["finding"], "worse", "replies that a program made up know less than a market");
    assert!(market["brier"]["high"].as_f64().unwrap() < 0.0, "{market}");
    assert_eq!(
        program.run(["list", "--json", "--limit", "1000"]).lines().len(),
        HELD,
        "nothing is held twice"
    );
}

#[test]
fn k12_every_fault_of_the_file_is_named_and_nothing_is_begun() {
    let program = Program::new();
    let faulty = json!({"id": "b", "question": " ", "outcomes": ["Yes", "No"], "resolution": "maybe"});
    let file = format!("{}{{\n{faulty}\n{}", question(1, 0.2), question(1, 2.0));
    program.write("questions.jsonl", file);
    let ran = program.run(["backtest", "questions.jsonl"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[0], "error: questions.jsonl cannot be debated:");
    for (line, start) in lines[1..].iter().zip([
        "  line 2: is not JSON",
        "  line 3: question: must not be empty",
        "  line 3: resolution: \"maybe\" is none of its outcomes",
        "  line 4: crowd.value: must be from 0 to 1",
    ]) {
        assert!(line.starts_with(start), "{line} is not {start}");
    }
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert!(!program.path("debates.sqlite").exists());
    for (args, why) in [
        (vec!["backtest", "nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (vec!["backtest", "questions.jsonl", "--median", "soon"], "--median"),
        (vec!["backtest", "questions.jsonl", "--parallel", "0"], "--parallel"),
    ] {
        let ran = program.run(&args);
        assert!(ran.code == Some(2) && ran.stderr.contains(why), "{ran:?}");
    }
    program.write("open.jsonl", question(1, 0.2).replace("\"no\"", "null"));
    let ran = program.run(["backtest", "open.jsonl"]);
    let want = "error: open.jsonl has no question that is resolved\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), want));
}

#[test]
fn k8_a_real_model_is_asked_only_where_its_cost_was_seen() {
    let program = Program::new();
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", provider.local_addr().unwrap());
    program.write("questions.jsonl", (0..9).map(|number| question(number, 0.2)).collect::<String>());
    program.write("prices.json", r#"{"openai:x": {"input": 1, "output": 10}}"#);
    let held = ["backtest", "questions.jsonl", "--parallel", "3", "--rounds", "1"];
    let args = held.iter().copied().chain(["--model", "openai:x", "--openai-base-url", &url]);
    let ran = program.run(args.clone().chain(["--prices", "prices.json"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines[0].starts_with("9 resolved questions: 9 to be debated"), "{lines:#?}");
    assert!(lines[1].starts_with("about 99 calls of openai:x, "), "{lines:#?}");
    assert!(lines[2].starts_with("about $0.") && lines[2].contains("at most $"), "{lines:#?}");
    assert!(lines[3].ends_with(" s, 3 debates at once"), "{lines:#?}");
    assert_eq!(lines[4], "error: refusing to call openai:x without --yes");
    assert!(program.run(args).stderr.contains("cost unknown: openai:x has no price"));
    assert_eq!(program.run(["list", "--json"]).lines().len(), 0);
}
