//! `debate fork` and `diff`: what a debate had come to with one thing changed (rule K14).

use serde_json::Value;

use crate::program::{Program, Ran};

fn fork(program: &Program, parent: &str, args: &[&str]) -> (String, Ran) {
    let ran = program.run(["fork", parent, "--json"].iter().chain(args));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (ran.json()["debate_id"].as_str().unwrap().to_owned(), ran)
}

fn probability(result: &Value) -> f64 {
    result["probability_distribution"][0]["probability"].as_f64().unwrap()
}

#[test]
fn k14_a_fork_without_a_role_runs_anew_what_saw_it_and_says_where_it_is_from() {
    let program = Program::new();
    let parent = program.debate("ice.json");
    let before = program.run(["log", &parent, "--json"]).stdout;
    let (id, ran) = fork(&program, &parent, &["--without", "optimist"]);
    let result = ran.json();
    assert_eq!(result["metadata"]["sonnet_calls"], 17);
    assert_eq!(result["probability_distribution"][0]["role_assessments"].as_array().unwrap().len(), 4);
    let head = before.lines().count();
    let origin = serde_json::json!({ "debate_id": parent, "at": head, "change": "without=optimist" });
    assert_eq!(result["extra"]["forked_from"], origin);
    assert_eq!(program.run(["show", &id, "--json"]).json(), result);
    let shown = program.run(["show", &id]).stdout;
    assert!(
        shown.contains(&format!("Forked from debate {parent} at event {head}: without=optimist")),
        "{shown}"
    );

    let listed = program.run(["list", "--json"]).lines();
    assert_eq!((&listed[0]["debate_id"], &listed[0]["forked_from"]), (&id.as_str().into(), &origin));
    assert_eq!((&listed[0]["status"], &listed[0]["title"]), (&"concluded".into(), &listed[1]["title"]));
    let wide = Ran::of(program.command(["list"]).env("COLUMNS", "200").output().unwrap()).stdout;
    assert!(wide.contains(&format!("fork of {} at {head}, without=optimist: Wil", &parent[..8])), "{wide}");

    let verified = program.run(["verify", &id, "--json"]).json();
    assert_eq!((&verified["ok"], &verified["inherited"]), (&true.into(), &head.into()));
    assert_eq!(program.run(["log", &parent, "--json"]).stdout, before, "the parent is as it was");
    let log = program.run(["log", &id, "--json"]).lines();
    assert_eq!((&log[0]["kind"], &log[0]["seq"]), (&"forked".into(), &1.into()));
    assert_eq!(program.run(["watch", &id, "--json"]).lines(), log);
    assert_eq!(program.run(["watch", &id, "--json", "--after", "5"]).lines(), log[5..]);
    assert_eq!(program.run(["watch", &id]).stdout, program.run(["log", &id]).stdout);
    let replayed = program.run(["replay", &id, "--at", "1", "--json"]).json();
    assert_eq!((&replayed["seq"], &replayed["lifecycle"]), (&1.into(), &"running".into()));
}

#[test]
fn k14_fork_of_fork_with_other_pooling_calls_no_model() {
    let program = Program::new();
    let parent = program.debate("ice.json");
    let (child, _) = fork(&program, &parent, &["--at", "50", "--judge-order", "reversed"]);
    let (grandchild, ran) = fork(&program, &child, &["--pooling", "log_odds"]);
    let result = ran.json();
    assert_eq!(result["metadata"]["sonnet_calls"], 0);
    let consensus = &result["probability_distribution"][0]["consensus_probability"];
    assert_eq!(consensus, &result["extra"]["pools"]["log_odds"][0]);
    let verified = program.run(["verify", "--all", "--json"]).lines();
    assert_eq!(verified.len(), 3);
    assert!(verified.iter().all(|found| found["ok"] == true), "{verified:?}");

    let diff = program.run(["diff", &child, &grandchild, "--json"]).json();
    assert_eq!(diff["first_difference"], Value::Null, "another pooling is no event: {diff}");
    let child = program.run(["show", &child, "--json"]).json();
    let moved = probability(&result) - probability(&child);
    assert!((diff["moves"][0]["change"].as_f64().unwrap() - moved).abs() < 1e-12, "{diff}");
}

#[test]
fn k14_another_model_answers_from_there_on_and_diff_shows_where_they_part() {
    let program = Program::new();
    let parent = program.debate("ice.json");
    let other = "model=simulated:seed=5";
    let (id, ran) = fork(&program, &parent, &["--at", "30", "--set", other]);
    let result = ran.json();
    let model = result["metadata"]["model"].as_str().unwrap();
    assert!(model.contains("simulated:5") && model.contains(','), "{model}");
    let diff = program.run(["diff", &parent, &id, "--json"]).json();
    let first = &diff["first_difference"];
    assert_eq!(
        (&first["a"]["debate_id"], &first["a"]["kind"]),
        (&parent.as_str().into(), &"call_started".into())
    );
    assert_eq!(
        (&first["b"]["debate_id"], &first["field"]),
        (&id.as_str().into(), &"model".into()),
        "{first}"
    );
    assert_eq!(first["b_value"], "simulated:5");
    let page = program.run(["diff", &parent, &id]).stdout;
    assert!(page.starts_with("The first difference\n") && page.contains("log-odds"), "{page}");
    let same = program.run(["diff", &parent, &parent]);
    assert_eq!(same.stdout, "they differ in nothing but ids, times and spend\n");
    let twin = program.debate("ice.json");
    assert_eq!(program.run(["diff", &parent, &twin, "--json"]).json()["first_difference"], Value::Null);
    let (unchanged, _) = fork(&program, &parent, &["--at", "30"]);
    assert_eq!(program.run(["diff", &parent, &unchanged, "--json"]).json()["first_difference"], Value::Null);
}

#[test]
fn k14_a_roundtable_without_an_agent_asks_anew_only_who_heard_it() {
    let program = Program::new();
    let parent = program.debate("roundtable-adversarial.json");
    let (id, ran) = fork(&program, &parent, &["--without", "chatgpt"]);
    let result = ran.json();
    // The first agent spoke before it in the first round; all others heard it.
    assert_eq!(result["metadata"]["calls"], 3);
    let agents: Vec<_> =
        result["agent_responses"].as_array().unwrap().iter().map(|agent| &agent["agent"]).collect();
    assert_eq!(agents, ["claude", "gemini"]);
    assert_eq!(result["completeness"]["state"], "full");
    assert_eq!(program.run(["verify", &id, "--json"]).json()["ok"], true);
}

#[test]
fn k14_a_fork_that_cannot_be_is_one_clear_error() {
    let program = Program::new();
    let parent = program.debate("deliberation.json");
    let unknown_id = "00000000-0000-4000-8000-000000000000";
    for (args, code, why) in [
        (vec![parent.as_str(), "--at", "9999"], 2, "cannot be forked at 9999"),
        (vec![&parent, "--without", "stranger"], 2, "stranger is no participant of this debate"),
        (vec![&parent, "--pooling", "trimmed"], 2, "a deliberation pools nothing"),
        (vec![&parent, "--pooling", "best"], 2, "write one of linear, log_odds, extremised, trimmed"),
        (vec![&parent, "--set", "rounds=3"], 2, "is no change"),
        (vec![&parent, "--set", "model=unknown:x"], 2, "write one of simulated"),
        (vec![&parent, "--without", "a", "--pooling", "linear"], 2, "cannot be used with"),
        (vec![unknown_id], 3, "there is no debate"),
    ] {
        let ran = program.run(["fork"].iter().chain(&args));
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(program.run(["list", "--json"]).lines().len(), 1);
}
