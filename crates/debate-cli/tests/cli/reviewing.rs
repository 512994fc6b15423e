//! `debate review` and `debate policy`: reviewers who conflict, and what follows for their prompts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::{Program, example};
use crate::verifying::alter;

/// Returns every file below a folder with its bytes.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(tree(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

#[test]
fn v5_v6_a_review_prints_a_comment_and_returns_its_input_byte_for_byte() {
    let program = Program::new();
    let file = example("review.json");
    let comment = program.run(["review".as_ref(), file.as_os_str(), "--quiet".as_ref()]);
    assert_eq!((comment.code, comment.stderr.as_str()), (Some(0), ""), "{comment:?}");
    assert!(comment.stdout.starts_with("## Review debate\n\n> **Simulated:**"), "{}", comment.stdout);
    assert_eq!(comment.stdout.matches("<details>").count(), 2);
    assert!(comment.stdout.contains("| conflict | argued better | scores (of 10) |"));

    let held = program.run(["review".as_ref(), file.as_os_str(), "--json".as_ref()]);
    let text = fs::read_to_string(&file).unwrap();
    let start = text.find("\"critiques\": ").unwrap() + "\"critiques\": ".len();
    let end = text.find(",\n  \"debate\"").unwrap();
    assert!(held.stdout.contains(&format!("\"critiques\":{}", &text[start..end])), "{}", held.stdout);
    let result: Value = serde_json::from_str(&held.stdout).unwrap();
    let log = result["debate_log"].as_object().unwrap();
    assert_eq!(log.keys().collect::<Vec<_>>(), ["ran", "pairs", "judge_feedback", "cost"]);
    assert!(log["cost"]["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(log["pairs"][1]["conflict"], "Add vs Remove on 'network'");
    let id = result["debate_id"].as_str().unwrap();
    assert!(program.run(["show", id]).stdout.contains("Pair 2: security (AddGuardrail) vs performance"));
    assert!(program.run(["log", id]).stdout.contains("pair 1 judged"));
    assert_eq!(program.run(["verify", id]).code, Some(0));
    let forked = program.run(["fork", id, "--at", "10", "--judge-order", "reversed", "--json", "--quiet"]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    assert_eq!(forked.json()["extra"]["forked_from"]["change"], "judge_order=reversed");
}

#[test]
fn v1_v6_whatever_goes_wrong_the_input_comes_back_and_the_log_says_why() {
    let program = Program::new();
    let mut request: Value = serde_json::from_slice(&fs::read(example("review.json")).unwrap()).unwrap();
    request["debate"]["max_pairs"] = json!(1);
    request["options"] = json!({"limits": {"attempts_max": 1}});
    request.as_object_mut().unwrap().remove("format");
    let file = program.write("critiques.json", request.to_string());
    let run = |request: &Value, model: &str| {
        fs::write(&file, request.to_string()).unwrap();
        let ran = program.run([
            "review".as_ref(),
            file.as_os_str(),
            "--json".as_ref(),
            "--model".as_ref(),
            model.as_ref(),
        ]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let result = ran.json();
        assert_eq!(result["critiques"], request["critiques"]);
        result
    };
    let failing = run(&request, "simulated:refused=1");
    assert_eq!(failing["debate_log"]["pairs"], json!([]));
    assert_eq!(failing["failed_pairs"][0]["why"], "argue/1/security has no usable answer after its retries");
    let judgeless = run(&request, "simulated:absent_role=judge");
    assert_eq!(judgeless["debate_log"]["pairs"][0]["winner"], Value::Null);
    assert_eq!(judgeless["completeness"]["missing"], json!(["judge/1/judge"]));
    let mut disabled = request.clone();
    disabled["debate"] = json!({});
    let disabled = run(&disabled, "simulated");
    assert_eq!((&disabled["debate_log"], &disabled["not_run"]["why"]), (&Value::Null, &json!("disabled")));
    let mut peaceful = request.clone();
    peaceful["critiques"] = json!([request["critiques"][0]]);
    let peaceful = run(&peaceful, "simulated");
    assert_eq!(peaceful["not_run"]["reason"], "0 conflicts; 1 start a debate");
    let log = program.run(["log", peaceful["debate_id"].as_str().unwrap()]).stdout;
    assert!(log.contains("no debate runs: too few conflicts (0 conflicts, 1 start a debate)"), "{log}");
    let wrong = program.run(["review".as_ref(), example("ice.json").as_os_str()]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn v7_v8_insights_lead_to_a_proposal_that_a_person_accepts() {
    let program = Program::new();
    let file = example("review.json");
    let none = program.run(["policy", "insights", "--json"]);
    assert_ne!(none.code, Some(0), "there is no store yet: {none:?}");
    for seed in ["1", "2"] {
        let args =
            ["review".as_ref(), file.as_os_str(), "--quiet".as_ref(), "--seed".as_ref(), seed.as_ref()];
        assert_eq!(program.run(args).code, Some(0));
    }
    let found =
        program.run(["policy", "insights", "--json", "--debates-min", "2", "--score-min", "10"]).json();
    let security = &found["reviewers"]["security"];
    assert_eq!(
        (&security["debates"], &security["pairs"], &security["simulated"]),
        (&json!(2), &json!(4), &json!(2))
    );
    let (mean, interval) = (security["avg_argument_quality"].as_f64().unwrap(), &security["interval_95"]);
    assert!(interval[0].as_f64().unwrap() <= mean && mean <= interval[1].as_f64().unwrap());
    assert_eq!(security["needs_update"], interval[1].as_f64().unwrap() < 10.0);
    let page = program.run(["policy", "insights"]).stdout;
    assert!(page.starts_with("SIMULATED") && page.contains("performance"), "{page}");

    let reviewers = program.path("reviewers");
    fs::create_dir(&reviewers).unwrap();
    fs::write(reviewers.join("security.cjs"), "const SYSTEM_PROMPT = `Look for ${kinds}.`;\n").unwrap();
    let before = tree(&reviewers);
    let propose = |role: &str, more: &[&str]| {
        let mut args = vec!["policy", "propose", role, "--reviewers-dir", "reviewers"];
        args.extend(more);
        program.run(args)
    };
    let too_few = propose("security", &[]);
    assert_eq!(too_few.code, Some(2), "{too_few:?}");
    assert!(
        too_few.stderr.contains("judged in 2 debates of the last 30 days; a proposal needs 5"),
        "{too_few:?}"
    );
    let not_needed = propose("security", &["--debates-min", "2", "--score-min", "0"]);
    assert!(not_needed.stderr.contains("needs no change"), "{not_needed:?}");
    assert_eq!(tree(&reviewers), before, "nothing is written where nothing is proposed");

    let made = propose("security", &["--debates-min", "2", "--anyway", "--json"]).json();
    assert_eq!((&made["number"], &made["evidence"]["debates"]), (&json!(1), &json!(2)));
    let proposed = made["proposed_prompt"].as_str().unwrap();
    assert!(proposed.starts_with("Look for ${kinds}.\n"), "{proposed}");
    let diff = made["diff"].as_str().unwrap();
    assert!(diff.starts_with("--- a/security\n+++ b/prompts/security.txt\n@@ "), "{diff}");
    let mut after = tree(&reviewers);
    assert_eq!(after.remove(&reviewers.join("prompts/security.txt")).unwrap(), proposed.as_bytes());
    assert_eq!(after.remove(&reviewers.join("prompts/security.diff")).unwrap(), diff.as_bytes());
    assert_eq!(after, before, "no reviewer's file is touched");

    assert_eq!(program.run(["policy", "accept", "security", "--number", "7"]).code, Some(3));
    let unknown = program.run(["policy", "accept", "unknown"]);
    let said = (unknown.code, unknown.stderr.as_str());
    assert_eq!(said, (Some(3), "error: there is no proposal for this reviewer\n"));
    assert_shown_and_accepted(&program, &made);
    let again = program.run(["policy", "accept", "security"]);
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (Some(2), "error: proposal 1 was accepted by cli already\n")
    );
    assert_checked(&program);
}

/// Checks that a proposal is shown as it was made, that what was shown is accepted, and that this shows too.
fn assert_shown_and_accepted(program: &Program, made: &Value) {
    let shown = program.run(["policy", "show", "security", "--json"]).json();
    assert_eq!((&shown["state"], &shown["proposed_prompt"]), (&json!("written"), &made["proposed_prompt"]));
    let page = program.run(["policy", "show", "security", "--number", "1"]).stdout;
    let digest = shown["digest"].as_str().unwrap();
    assert!(
        page.contains(made["diff"].as_str().unwrap().trim_end())
            && page.contains(digest)
            && page.contains("state: written"),
        "{page}"
    );
    let accepted = program.run(["policy", "accept", "security"]);
    assert!(accepted.stdout.trim_end().ends_with(digest), "what was shown is accepted: {accepted:?}");
    assert!(accepted.stdout.starts_with("proposal 1 for security is accepted: "), "{accepted:?}");
    let shown = program.run(["policy", "show", "security", "--json"]).json();
    assert_eq!((&shown["state"], &shown["accepted_by"]), (&json!("accepted"), &json!("cli")));
    assert_eq!(program.run(["policy", "show", "security", "--number", "7"]).code, Some(3));
}

/// Checks that the log of proposals is verified as debates are, and that a change of it is found.
fn assert_checked(program: &Program) {
    let sound = program.run(["verify", "--all"]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
    assert!(
        sound.stdout.ends_with("2 debates and 1 log of proposals checked, 0 with a fault\n"),
        "{sound:?}"
    );
    alter(
        program,
        &["UPDATE events SET body = replace(body, 'security', 'secrecy') WHERE kind = 'proposal_started'"],
    );
    let altered = program.run(["verify", "--all"]);
    assert_eq!(altered.code, Some(4), "{altered:?}");
    assert!(
        altered.stdout.contains("FAULT  policy") && altered.stdout.contains("at event 1: "),
        "{altered:?}"
    );
    let archived = "INSERT INTO archived (stream_kind, stream_id, seq, hash, bundle, at, position, tenant, opened_at) \
                    SELECT stream_kind, stream_id, 1, zeroblob(32), 'elsewhere', 0, position, '', 0 FROM events \
                    WHERE stream_kind = 'policy' AND seq = 1";
    alter(program, &["DROP TRIGGER archived_insert", "DROP TRIGGER archived_taken", archived]);
    let altered = program.run(["verify", "--all"]);
    let expected = "at event 1: it is archived in elsewhere, and the store has other events of it\n";
    assert!(altered.code == Some(4) && altered.stdout.contains(expected), "{altered:?}");
}

#[test]
fn v7_no_name_of_a_reviewer_leads_out_of_the_folder_of_proposals() {
    let program = Program::new();
    fs::create_dir_all(program.path("reviewers")).unwrap();
    fs::write(program.path("secret.cjs"), "const SYSTEM_PROMPT = 'x';").unwrap();
    let before = tree(&program.path("."));
    let long = "x".repeat(300);
    let absolute = program.path("secret").display().to_string();
    for role in [
        "../secret",
        "..",
        ".",
        "a/b",
        &absolute,
        "prompts/../../secret",
        "s\u{0435}curity",
        "..\\secret",
        &long,
    ] {
        for command in [
            &["policy", "propose", role, "--reviewers-dir", "reviewers", "--anyway"][..],
            &["policy", "show", role],
            &["policy", "accept", role],
        ] {
            let ran = program.run(command);
            assert_eq!(ran.code, Some(2), "{command:?}: {ran:?}");
            assert!(ran.stderr.contains("is no reviewer's name"), "{command:?}: {ran:?}");
        }
    }
    assert_eq!(tree(&program.path(".")), before);
}
