//! `debate resolve`, `calibration`, `influence`: what can be computed once a debate is over.

use serde_json::json;

use crate::program::Program;

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

#[test]
fn k16_a_debate_is_resolved_scored_and_corrected() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let before = program.run(["show", &id, "--json"]).json();
    assert_eq!(before["extra"].get("resolution"), None);
    let none = program.run(["calibration"]);
    assert_eq!(none.stdout, "no debate is resolved; see debate resolve\n");

    let resolved = program.run(["resolve", &id, "yes", "--at", "2026-09-22"]);
    assert_eq!(resolved.code, Some(0), "{resolved:?}");
    assert!(resolved.stdout.starts_with(&format!("debate {id} is resolved: yes\n")), "{}", resolved.stdout);
    assert!(resolved.stdout.contains("gained over the mean of the blind opening"), "{}", resolved.stdout);

    let shown = program.run(["show", &id, "--json"]).json();
    let resolution = &shown["extra"]["resolution"];
    assert_eq!(resolution["happened_at"], "2026-09-22T00:00:00.000Z");
    let probability = shown["probability_distribution"][0]["probability"].as_f64().unwrap();
    let brier = resolution["scores"]["final"]["brier"].as_f64().unwrap();
    assert!((brier - (1.0 - probability).powi(2)).abs() < 1e-12, "{brier} of {probability}");
    assert_eq!(resolution["scores"]["roles"].as_array().unwrap().len(), 5);
    assert!(program.run(["show", &id]).stdout.contains("What happened: yes"));

    let by_label = program.run(["resolve", &id, "NO"]);
    assert!(by_label.stdout.starts_with(&format!("debate {id} is resolved: no\n")), "{by_label:?}");
    let found = program.run(["calibration", "--json"]).json();
    assert_eq!((&found["resolved"], &found["simulated"]), (&1.into(), &1.into()));
    assert_eq!((&found["source"], &found["real"]), (&"simulated".into(), &0.into()), "there is nothing else");
    let last = &found["forecasts"][0];
    let mean = last["brier_mean"].as_f64().unwrap();
    assert_eq!(last["of"], "final");
    assert!((mean - probability.powi(2)).abs() < 1e-12, "the correction counts: {mean}");
    let counts = last["calibration"].as_array().unwrap().iter();
    assert_eq!(counts.map(|bin| bin["count"].as_u64().unwrap()).sum::<u64>(), 1);
    let blind = &found["comparisons"][2];
    assert_eq!((&blind["of"], &blind["finding"]), (&"blind".into(), &"too_few".into()));
    assert!(blind["brier"].is_null() && last["brier"].is_null(), "too few questions give no estimate");
    let prompts = found["groups"][0]["prompts"].to_string();
    assert!(
        prompts.contains("prediction/argue.standard@") && prompts.contains("prediction/score.standard@"),
        "{prompts}"
    );
    let page = program.run(["calibration"]).stdout;
    assert!(
        page.contains("1 simulated debate on 1 question resolved") && page.contains("SIMULATED"),
        "{page}"
    );
    assert!(page.contains("too few to tell") && !page.contains(" ["), "no interval of so few: {page}");
    assert!(page.contains("By model, prompts and rules") && page.contains("optimist alone"), "{page}");
    let real = program.run(["calibration", "--source", "real", "--json"]).json();
    assert_eq!(
        (&real["source"], &real["resolved"], &real["simulated"]),
        (&"real".into(), &0.into(), &1.into())
    );
    assert_eq!(program.run(["calibration", "--source", "rumour"]).code, Some(2));
    let log = program.run(["log", &id]).stdout;
    assert!(log.contains("resolved: yes, on 2026-09-22") && log.contains("resolved: no"), "{log}");
    assert_eq!(program.run(["verify", &id]).code, Some(0));
}

#[test]
fn k16_a_file_of_many_is_recorded_whole_or_not_at_all() {
    let program = Program::new();
    let (ice, rates) = (program.debate("ice.json"), program.debate("rates.json"));
    let line = |id: &str, outcome: &str| {
        json!({"debate_id": id, "outcome": outcome, "happened_at": "2026-09-22"}).to_string()
    };
    let resolve = |lines: &[String]| {
        let file = program.write("happened.jsonl", lines.join("\n"));
        program.run(["resolve", "--from", file.to_str().unwrap()])
    };
    let faulty =
        [line(&ice, "yes"), "{}".to_owned(), line(&rates, "snow"), line(UNKNOWN_ID, "yes"), line(&ice, "no")];
    let ran = resolve(&faulty);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for fault in [
        "line 2: missing field `debate_id`",
        "line 3: snow is not an outcome of this debate",
        &format!("line 4: there is no debate {UNKNOWN_ID}"),
        "line 5: says something else of a debate than line 1",
    ] {
        assert!(ran.stderr.contains(fault), "{fault}: {}", ran.stderr);
    }
    assert_eq!(program.run(["calibration", "--json"]).json()["resolved"], 0, "nothing was recorded");
    let all = [line(&ice, "yes"), String::new(), line(&rates, "no")];
    assert_eq!(resolve(&all).stdout, "2 debates are resolved\n");
    assert_eq!(resolve(&all).stdout, "0 debates are resolved, 2 were so already\n");
    assert_eq!(program.run(["calibration", "--json"]).json()["resolved"], 2);
}

#[test]
fn k16_what_cannot_be_resolved_is_one_clear_error() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let topic = program.debate("deliberation.json");
    let line = |id: &str, why: &str| format!("error: cannot resolve debate {id}: {why}\n");
    for (args, code, stderr) in [
        (
            vec!["resolve", &id, "snow"],
            2,
            line(&id, "snow is not an outcome of this debate; its outcomes are yes (Yes), no (No)"),
        ),
        (vec!["resolve", &topic, "yes"], 2, line(&topic, "yes is not an outcome of this debate")),
        (
            vec!["resolve", &id, "yes", "--at", "2999-01-01"],
            2,
            line(&id, "2999-01-01T00:00:00.000Z is still to come"),
        ),
        (
            vec!["resolve", UNKNOWN_ID, "yes"],
            3,
            line(UNKNOWN_ID, &format!("there is no debate {UNKNOWN_ID}")),
        ),
    ] {
        let ran = program.run(&args);
        assert_eq!((ran.code, ran.stderr), (Some(code), stderr), "{args:?}");
    }
    assert_eq!(program.run(["resolve", &id, "yes", "--at", "tomorrow"]).code, Some(2));
}

#[test]
fn k14_influence_shows_the_answer_without_each_voice() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let found = program.run(["influence", &id, "--json"]).json();
    assert_eq!(found["held_fixed"], "the judge's words held fixed");
    let shown = program.run(["show", &id, "--json"]).json();
    assert_eq!(found["final"][0]["probability"], shown["probability_distribution"][0]["probability"]);
    let left_out = found["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 5 + 15);
    let sizes: Vec<f64> = left_out.iter().map(|left| left["size"].as_f64().unwrap()).collect();
    assert!(sizes.is_sorted_by(|one, other| one >= other), "{sizes:?}");
    assert!(sizes[0] > 0.0);
    let page = program.run(["influence", &id]).stdout;
    assert!(
        page.starts_with("The final distribution with one voice left out, the judge's words held fixed\n")
    );
    assert!(page.contains("8 more that weigh less with --full"), "{page}");
    assert_eq!(program.run(["influence", &id, "--full"]).stdout.lines().count(), 3 + 1 + 20);

    let topic = program.debate("deliberation.json");
    let ran = program.run(["influence", &topic]);
    assert_eq!((ran.code, ran.stderr), (Some(2), format!("error: debate {topic} gives no probabilities\n")));
}
