//! `debate run` and its result.

use debate_core::formats::roundtable::mode::Mode;
use serde_json::{Value, json};

use crate::program::{Program, Ran, example};

/// Returns a result without what may differ from run to run.
fn without_ids_and_times(mut result: Value) -> Value {
    for field in ["debate_id", "completed_at"] {
        result[field] = Value::Null;
    }
    result["metadata"]["wall_clock_time_ms"] = Value::Null;
    result
}

#[test]
fn p3_p7_the_default_debate_takes_31_calls_and_its_probabilities_sum_to_1() {
    for name in ["ice.json", "moon.json", "rates.json", "taper.json", "trade.json"] {
        let program = Program::new();
        let ran = program.run(["run".as_ref(), example(name).as_os_str(), "--json".as_ref()]);
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        let result = ran.json();
        assert_eq!(result["metadata"]["sonnet_calls"], 31, "{name}");
        assert_eq!(result["extra"]["completeness"]["state"], "full", "{name}");
        let outcomes = result["probability_distribution"].as_array().unwrap();
        let sum = |field: &str| outcomes.iter().map(|outcome| outcome[field].as_f64().unwrap()).sum::<f64>();
        for field in ["probability", "judge_probability", "consensus_probability"] {
            assert!((sum(field) - 1.0).abs() <= 1e-9, "{name}: {field} sums to {}", sum(field));
        }
    }
}

#[test]
fn k4_the_same_file_with_the_same_seed_gives_the_same_bytes_ids_and_times_aside() {
    let program = Program::new();
    let run = |seed: &str| {
        let file = example("taper.json");
        let ran = program.run([
            "run".as_ref(),
            file.as_os_str(),
            "--json".as_ref(),
            "--seed".as_ref(),
            seed.as_ref(),
        ]);
        serde_json::to_string(&without_ids_and_times(ran.json())).unwrap()
    };
    let first = run("7");
    assert_eq!(first, run("7"));
    assert_ne!(first, run("8"));
}

#[test]
fn a_simulated_result_says_so_on_every_output() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let file = example("ice.json");
    let shown = program.run(["show", &id]);
    assert!(shown.stdout.starts_with("SIMULATED"), "{}", shown.stdout);
    let ran = program.run(["run".as_ref(), file.as_os_str()]);
    assert!(ran.stdout.starts_with("SIMULATED"), "{}", ran.stdout);
    let ran = program.run(["run".as_ref(), file.as_os_str(), "--json".as_ref()]);
    assert!(ran.stderr.contains("SIMULATED"), "{}", ran.stderr);
    assert_eq!(ran.json()["extra"]["simulated"], true);
}

#[test]
fn a_run_tells_its_rounds_roles_and_scores_in_plain_lines_where_there_is_no_terminal() {
    let program = Program::new();
    let ran = program.run(["run".as_ref(), example("ice.json").as_os_str()]);
    for line in [
        "round 1: opening",
        "round 2: rebuttal",
        "round 3: closing",
        "  optimist: scored 0.",
        "concluded, full",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\x1b') && !ran.stdout.contains('\x1b'), "{ran:?}");
    let quiet = program.run(["run".as_ref(), example("ice.json").as_os_str(), "--quiet".as_ref()]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
}

#[test]
fn on_a_terminal_a_debate_is_a_live_view_and_then_its_result() {
    let program = Program::new();
    std::fs::copy(example("ice.json"), program.path("ice.json")).unwrap();
    let args = ["run", "ice.json", "--model", "simulated:latency=20ms", "--deadline", "110s"];
    let Some(ran) = program.run_on_terminal(&args) else {
        return eprintln!("skipped: there is no program `script` to make a terminal");
    };
    let clock = |ran: &str| ran.contains("calls  00:00:0") && ran.contains(" of 00:0");
    assert!(ran.code == Some(0) && clock(&ran.stdout), "{}", ran.stdout);
    // Calls made of those to be made, time against the deadline, spend, who speaks, and what came of it.
    for drawn in [
        "31/31 calls",
        " of 00:01:50",
        "SIMULATED, ",
        " tokens in, ",
        "optimist",
        "round 1 is over",
        "round 3 is over",
        "the judge's synthesis: ",
    ] {
        assert!(ran.stdout.contains(drawn), "{drawn}: {}", ran.stdout);
    }
    let id = program.run(["list", "--json"]).lines()[0]["debate_id"].as_str().unwrap().to_owned();
    let drawn = program.run_on_terminal(&["watch", &id]).unwrap();
    assert!(clock(&drawn.stdout) && !drawn.stdout.contains("argument_made"), "{}", drawn.stdout);
    let result = program.run(["show", &id]).stdout;
    let last = result.lines().rfind(|line| !line.is_empty()).unwrap();
    assert!(drawn.stdout.contains(last), "{last}: {}", drawn.stdout);
    let lines = program.run_on_terminal(&["watch", &id, "--lines"]).unwrap();
    assert_eq!(lines.stdout.replace('\r', ""), program.run(["watch", &id]).stdout);
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_gets_plain_lines() {
    let program = Program::new();
    std::fs::copy(example("ice.json"), program.path("ice.json")).unwrap();
    let Some(ran) = program.run_on("dumb", &["run", "ice.json"]) else {
        return eprintln!("skipped: there is no program `script` to make a terminal");
    };
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = ran.stdout.replace("\r\n", "\n");
    let steers = |text: &str| text.contains(['\x1b', '\r', '\x08']);
    assert!(!steers(&text), "{text:?}");
    for line in ["round 1: opening\n", "  optimist: scored 0.", "round 3: closing\n", "concluded, full"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("/31 calls"), "nothing is drawn: {text}");
    let id = program.run(["list", "--json"]).lines()[0]["debate_id"].as_str().unwrap().to_owned();
    let watched = program.run_on("dumb", &["watch", &id]).unwrap().stdout.replace("\r\n", "\n");
    assert_eq!(watched, program.run(["watch", &id]).stdout);
}

#[test]
fn piped_output_is_plain_and_the_live_view_stays_on_terminal() {
    let program = Program::new();
    std::fs::copy(example("ice.json"), program.path("ice.json")).unwrap();
    let Some(ran) = program.run_on_terminal(&["run", "ice.json", ">result.txt"]) else {
        return eprintln!("skipped: there is no program `script` to make a terminal");
    };
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("31/31 calls"), "who waits sees it: {}", ran.stdout);
    let result = std::fs::read_to_string(program.path("result.txt")).unwrap();
    assert!(result.starts_with("SIMULATED") && !result.contains('\x1b'), "{result}");
    let id = program.run(["list", "--json"]).lines()[0]["debate_id"].as_str().unwrap().to_owned();
    let watched = program.run_on_terminal(&["watch", &id, "|cat", ">watched.txt"]).unwrap();
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let lines = std::fs::read_to_string(program.path("watched.txt")).unwrap();
    assert_eq!(lines, program.run(["watch", &id]).stdout, "{watched:?}");
}

#[test]
fn a_request_is_read_from_stdin() {
    let program = Program::new();
    let request = std::fs::read(example("moon.json")).unwrap();
    let ran = program.run_with_stdin(&["run", "-", "--json", "--store", "memory"], &request);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.json()["probability_distribution"].is_array());
    assert!(!program.path("debates.sqlite").exists());
}

#[test]
fn options_are_read_from_the_environment_and_the_command_line_wins() {
    let program = Program::new();
    let file = example("ice.json");
    let model = |args: &[&str]| {
        let mut command = program.command(["run".as_ref(), file.as_os_str()]);
        let output =
            command.args(args).env("DEBATE_MODEL", "simulated:5").arg("--json").env("DEBATE_STORE", "memory");
        let result: Value = serde_json::from_slice(&output.output().unwrap().stdout).unwrap();
        result["metadata"]["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(model(&[]), "simulated:5");
    assert_eq!(model(&["--model", "simulated:6"]), "simulated:6");
    assert_eq!(model(&["--seed", "9"]), "simulated:9");
    assert!(!program.path("debates.sqlite").exists());
}

#[test]
fn p16_a_void_debate_says_what_failed_and_ends_with_1() {
    let program = Program::new();
    let args = ["run", "--model", "simulated:absent_role=optimist+pessimist+contrarian+historian"];
    let ran = program.run(args.iter().map(AsRef::as_ref).chain([example("ice.json").as_os_str()]));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("VOID: there is too little for a result"), "{}", ran.stdout);
    assert!(ran.stdout.contains("× refused: "), "{}", ran.stdout);
}

#[test]
fn k6_a_partial_result_says_so_before_it_says_anything_else() {
    let program = Program::new();
    let args = ["run", "--model", "simulated:absent_role=historian"];
    let ran = program.run(args.iter().map(AsRef::as_ref).chain([example("ice.json").as_os_str()]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let [partial, question] =
        ["PARTIAL: ", "Will the average Arctic"].map(|text| ran.stdout.find(text).unwrap());
    assert!(partial < question, "{}", ran.stdout);
    assert!(ran.stdout.contains("historian gave no usable answer"), "{}", ran.stdout);
}

#[test]
fn d10_a_deliberation_shows_its_phases_contributions_and_consensus() {
    let program = Program::new();
    let ran = program.run(["run".as_ref(), example("deliberation.json").as_os_str()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in
        ["round 1: initial", "round 2: rebuttal", "round 3: revised", "round 4: consensus", "  architect: "]
    {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    for line in ["Consensus\n", "Phase 3: revised\n", "  security", "10 calls"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
}

#[test]
fn t10_a_roundtable_shows_its_decision_its_agents_and_what_it_rests_on() {
    let program = Program::new();
    let mut command = program.command(["run".as_ref(), example("roundtable-delphi.json").as_os_str()]);
    let ran = Ran::of(command.env("ROUNDTABLE_EXIT_SHADOW", "true").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in ["round 1: round", "round 1: agreement ", "  claude: "] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    for line in
        ["Decision\n  consensus ", "Agents (delphi)\n", "shown as Participant ", "Round 4\n", "16 calls"]
    {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let listed = program.run(["list", "--json", "--format", "roundtable"]).lines();
    let id = listed[0]["debate_id"].as_str().unwrap();
    let document = program.run(["show", id, "--markdown"]).stdout;
    assert!(document.starts_with("# Roundtable: In which year"), "{document}");
    assert!(document.contains("| exit_criteria.shadow | true | environment |"), "{document}");
    let topic = program.debate("deliberation.json");
    assert_eq!(program.run(["show", &topic, "--markdown"]).code, Some(2));
}

#[test]
fn t1_the_example_of_every_mode_is_held_to_its_end_and_verifies() {
    let program = Program::new();
    for mode in Mode::ALL {
        let name = mode.as_str();
        let ran = program.run([
            "run".as_ref(),
            example(&format!("roundtable-{name}.json")).as_os_str(),
            "--json".as_ref(),
        ]);
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        let result = ran.json();
        assert_eq!((&result["mode"], &result["completeness"]["state"]), (&json!(name), &json!("full")));
        let agents = result["agent_responses"].as_array().unwrap();
        assert!(
            agents.len() >= 3 && agents.iter().all(|agent| !agent["position"].as_str().unwrap().is_empty())
        );
        let verified = program.run(["verify", result["debate_id"].as_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{name}: {verified:?}");
    }
}

#[test]
fn t9_flags_are_shown_as_they_are_in_force_in_a_mode() {
    let program = Program::new();
    let values = |args: &[&str]| {
        let flags = program.run(["flags", "--json"].iter().chain(args)).json();
        let flag = |name: &str| {
            flags.as_array().unwrap().iter().find(|flag| flag["flag"] == name).unwrap()["value"].clone()
        };
        (flag("sequential_parallelization.level"), flag("tool_enforcement.max_calls"))
    };
    assert_eq!(values(&[]), (json!("full"), json!(6)));
    assert_eq!(values(&["--mode", "adversarial"]), (json!("none"), json!(2)));
    let devils = example("roundtable-devils-advocate.json");
    assert_eq!(values(&[devils.to_str().unwrap()]), (json!("last-only"), json!(2)));
    let mut command = program.command(["flags", "--mode", "socratic"]);
    command.env("ROUNDTABLE_TOOL_MIN_CALLS", "5");
    let refused = Ran::of(command.output().unwrap());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let named = "flags.tool_enforcement.min_calls: is 5 (environment), above max_calls, which is 2 (default) in socratic";
    assert!(refused.stderr.contains(named), "{refused:?}");
}

#[test]
fn t9_every_flag_says_where_it_came_from() {
    let program = Program::new();
    let file = example("roundtable-delphi.json");
    let mut command = program.command(["flags", file.to_str().unwrap(), "--json"]);
    command.env("ROUNDTABLE_EXIT_CONSENSUS", "0.5").env("ROUNDTABLE_EXIT_CONFIDENCE", "0.6");
    let flags = Ran::of(command.output().unwrap()).json();
    let value_and_source = |name: &str| {
        let flag = flags.as_array().unwrap().iter().find(|flag| flag["flag"] == name).unwrap();
        format!("{} {}", flag["value"], flag["source"].as_str().unwrap())
    };
    assert_eq!(
        value_and_source("exit_criteria.consensus_threshold"),
        "0.95 session",
        "the request is over the environment"
    );
    assert_eq!(value_and_source("exit_criteria.confidence_threshold"), "0.6 environment");
    assert_eq!(value_and_source("groupthink_detection.threshold"), "0.9 default");
    let page = program.run(["flags"]).stdout;
    assert!(page.contains("ROUNDTABLE_PARALLEL_LEVEL"), "{page}");
}

#[test]
fn d8_skills_come_from_their_folder_and_one_that_fails_is_left_out_and_recorded() {
    let program = Program::new();
    std::fs::create_dir_all(program.path("skills/ledgers")).unwrap();
    let skill = "---\ndescription: Knows ledgers.\n---\nA LEDGER IS NEVER EDITED.\n";
    std::fs::write(program.path("skills/ledgers/SKILL.md"), skill).unwrap();
    let request = r#"{"format": "deliberation", "topic": "Ledgers?", "mode": "weak",
        "participants": [{"name": "a", "skills": ["ledgers", "gone"]}, {"name": "b"}], "orchestrator": {"name": "m"}}"#;
    program.write("request.json", request);
    let ran = program.run(["run", "request.json", "--skills-dir", "skills", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("warning: skill gone is left out: "), "{}", ran.stderr);
    assert!(
        ran.json()["completeness"].to_string().contains("skill gone could not be loaded"),
        "{}",
        ran.stdout
    );
    let id = ran.json()["debate_id"].as_str().unwrap().to_owned();
    let opened = program.run(["log", &id, "--json"]).lines().remove(0);
    assert_eq!(opened["body"]["config"]["skills_missing"], serde_json::json!(["gone"]));
    assert!(opened["prose"].to_string().contains("A LEDGER IS NEVER EDITED."));
}

#[cfg(unix)]
#[test]
fn k9_the_first_interrupt_cancels_the_debate_and_shows_what_there_is() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::{Command, Stdio};

    let program = Program::new();
    let slow = ["run", "--model", "simulated:latency=60s"];
    let mut command =
        program.command(slow.iter().map(AsRef::as_ref).chain([example("ice.json").as_os_str()]));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("round 1") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the debate ended before it began");
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(stdout.contains("stopped by cancelled"), "{stdout}");
    assert!(rest.contains("cancelled: interrupted"), "{rest}");
    let listed = program.run(["list", "--json"]).lines();
    assert_eq!(listed[0]["status"], "concluded");
}
