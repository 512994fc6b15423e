//! The texts of prompts, and the prompts of a request before and after they were sent (P15, P24).

use serde_json::{Value, json};

use crate::program::{Program, example};

#[test]
fn p24_texts_are_listed_and_shown() {
    let program = Program::new();
    let listed = program.run(["prompts", "list"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""), "{listed:?}");
    for name in ["prediction/argue@", "prediction/argue.standard@", "review/judge@", "investigation/task.zh@"]
    {
        assert!(listed.stdout.contains(name), "{name}: {}", listed.stdout);
    }
    let entries = program.run(["prompts", "list", "--json"]).json();
    let entry =
        entries.as_array().unwrap().iter().find(|entry| entry["name"] == "prediction/persona@1").unwrap();
    let shown = program.run(["prompts", "show", "prediction/persona"]);
    assert_eq!(shown.stdout.trim_end(), entry["text"].as_str().unwrap().trim_end());
    program.write("mine.txt", shown.stdout.replace("Leaning", "Slant"));
    let compared = program.run(["prompts", "diff", "prediction/persona", "mine.txt"]);
    assert!(
        compared.stdout.contains("\n-Leaning: ") && compared.stdout.contains("\n+Slant: "),
        "{compared:?}"
    );
    let neither = program.run(["prompts", "diff", "prediction/persona", "yours.txt"]);
    assert_eq!(neither.code, Some(2), "{neither:?}");
    let unknown = program.run(["prompts", "show", "prediction/sonnet"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("debate prompts list"), "{unknown:?}");
}

#[test]
fn p24_the_first_prompts_of_a_request_are_shown_without_a_debate() {
    let program = Program::new();
    for (file, calls) in [
        ("ice.json", 5),
        ("deliberation.json", 1),
        ("roundtable-delphi.json", 1),
        ("review.json", 2),
        ("leap_second.json", 1),
    ] {
        let tried = program.run(["prompts", "try", example(file).to_str().unwrap(), "--json"]);
        assert_eq!((tried.code, tried.stderr.as_str()), (Some(0), ""), "{file}: {tried:?}");
        let prompts = tried.json();
        let prompts = prompts.as_array().unwrap();
        assert!(prompts.len() >= calls, "{file}: {}", prompts.len());
        assert!(prompts.iter().all(|prompt| prompt["messages"][0]["role"] == "system"), "{file}");
    }
    let ice = example("ice.json");
    let historian = program.run(["prompts", "try", ice.to_str().unwrap(), "--role", "historian"]);
    assert_eq!(historian.stdout.matches("# argue/1/historian: prediction/argue.standard@2").count(), 1);
    assert!(historian.stdout.contains("\n--- user\nYou are the Historian."), "{}", historian.stdout);
    let unknown = program.run(["prompts", "try", ice.to_str().unwrap(), "--role", "poet"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert_eq!(program.run(["list", "--json"]).stdout, "");
}

#[test]
fn k19_prompts_of_every_format_state_the_day_that_the_request_sets() {
    let program = Program::new();
    for file in ["ice.json", "deliberation.json", "roundtable-delphi.json", "review.json", "leap_second.json"]
    {
        let mut request: Value = serde_json::from_slice(&std::fs::read(example(file)).unwrap()).unwrap();
        request["options"]["as_of"] = json!("2024-02-29");
        program.write("dated.json", request.to_string());
        let tried = program.run(["prompts", "try", "dated.json"]);
        assert!(tried.stdout.contains("2024-02-29"), "{file}: {tried:?}");
        request["options"]["as_of"] = json!("29 February");
        program.write("dated.json", request.to_string());
        let refused = program.run(["prompts", "try", "dated.json"]);
        assert_eq!(refused.code, Some(2), "{file}: {refused:?}");
        assert_eq!(refused.stderr.matches("options.as_of: ").count(), 1, "{file}: {refused:?}");
    }
}

#[test]
fn k20_result_says_once_what_prompts_did_not_show() {
    let program = Program::new();
    let file = example("ice.json");
    let ran = program.run(["run", file.to_str().unwrap(), "--preset", "contract"]);
    assert_eq!(ran.stdout.matches("not all showed the whole of").count(), 1, "{}", ran.stdout);
}

#[test]
fn p15_the_preset_is_the_options_then_the_requests_then_standard() {
    let program = Program::new();
    let versions = |file: &str, flags: &[&str]| -> String {
        let tried = program.run(["prompts", "try", file, "--json"].iter().chain(flags)).json();
        tried[0]["version"].as_str().unwrap().to_owned()
    };
    let ice = example("ice.json");
    let mut request: Value = serde_json::from_slice(&std::fs::read(&ice).unwrap()).unwrap();
    request["options"]["preset"] = json!("contract");
    program.write("contract.json", request.to_string());
    let (ice, own) = (ice.to_str().unwrap(), "contract.json");
    assert!(versions(ice, &[]).starts_with("prediction/argue.standard@"));
    assert!(versions(ice, &["--preset", "contract"]).starts_with("prediction/argue@"));
    assert!(versions(own, &[]).starts_with("prediction/argue@"));
    assert!(versions(own, &["--preset", "deep"]).starts_with("prediction/argue.standard@"));
    request["prediction_context"]["task"]["resolution_criteria"] =
        json!("It counts if it rains. ".repeat(200));
    program.write("long.json", request.to_string());
    let refused = program.run(["run", "long.json"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("options.preset") && refused.stderr.contains("standard is the smallest"));
    assert_eq!(program.run(["list", "--json"]).stdout, "");
}

#[test]
fn k12_a_preset_or_language_that_is_none_is_named() {
    let program = Program::new();
    let mut request: Value = serde_json::from_slice(&std::fs::read(example("ice.json")).unwrap()).unwrap();
    request["options"] =
        json!({"preset": "huge", "language": "not a tag", "input_tokens": {"argue": 10, "sing": 600}});
    program.write("wrong.json", request.to_string());
    let refused = program.run(["run", "wrong.json"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in [
        "options.preset: must be one of contract, standard, deep",
        "options.language: \"not a tag\" is not a BCP 47 tag such as de or pt-BR",
        "options.input_tokens.argue",
        "options.input_tokens.sing",
    ] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}

#[test]
fn p24_a_prompt_is_named_by_its_argument() {
    let program = Program::new();
    let id = program.debate("ice.json");
    for (name, part) in
        [("r2.pessimist", "You are the Pessimist."), ("synthesise/3/judge", "You are the Judge.")]
    {
        let shown = program.run(["log", &id, "--prompt", name]);
        assert!(shown.code == Some(0) && shown.stdout.contains("digest agrees"), "{shown:?}");
        assert!(shown.stdout.contains(part), "{name}: {}", shown.stdout);
    }
    let none = program.run(["log", &id, "--prompt", "r9.pessimist"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("has asked no model for argue/9/pessimist"), "{none:?}");
}

#[test]
fn p24_texts_of_a_folder_stand_for_the_programs_own_and_the_log_says_so() {
    let program = Program::new();
    let text = program.run(["prompts", "show", "prediction/persona"]).stdout;
    std::fs::create_dir_all(program.path("texts/prediction")).unwrap();
    program.write("texts/prediction/persona.txt", text.trim_end().replace("Leaning", "Slant"));
    let ice = example("ice.json");
    let run = ["run", ice.to_str().unwrap(), "--quiet", "--prompts", "texts"];
    assert_eq!(program.run(run).code, Some(0));
    let id = program.run(["list", "--json"]).lines()[0]["debate_id"].as_str().unwrap().to_owned();
    let log = program.run(["log", &id, "--json"]).lines();
    let begun = log.iter().find(|event| event["kind"] == "call_started").unwrap();
    let version = begun["body"]["prompt"]["version"].as_str().unwrap();
    assert!(version.starts_with("prediction/argue.standard@2+"), "{version}");
    let with = program.run(["log", &id, "--prompt", "r1.optimist", "--prompts", "texts"]);
    assert!(
        with.stdout.contains("digest agrees") && with.stdout.contains("Slant: positive outcomes"),
        "{with:?}"
    );
    let without = program.run(["log", &id, "--prompt", "r1.optimist"]);
    assert!(without.stdout.contains("digest does not agree"), "{without:?}");
    assert_eq!(program.run(["verify", &id]).code, Some(0));
    program.write("texts/prediction/persona.txt", "{{ persona }} {{ mood }}");
    program.write("texts/prediction/song.txt", "La");
    let refused = program.run(run);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in
        ["prediction/persona: has the unknown variable mood", "prediction/song: there is no such text"]
    {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    assert_eq!(program.run(["list", "--json"]).lines().len(), 1);
}

#[test]
fn p24_a_fork_asks_with_another_text() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let text = program.run(["prompts", "show", "prediction/persona"]).stdout;
    program.write("mine.txt", text.trim_end().replace("Leaning", "Slant"));
    let fork = |set: &str| program.run(["fork", &id, "--at", "30", "--quiet", "--set", set]);
    let forked = fork("prompt.prediction/persona=mine.txt");
    assert_eq!(forked.code, Some(0), "{forked:?}");
    let newest = program.run(["list", "--json"]).lines()[0]["debate_id"].as_str().unwrap().to_owned();
    assert_ne!(newest, id);
    let log = program.run(["log", &newest, "--json"]).lines();
    let versions = log.iter().filter_map(|event| event["body"]["prompt"]["version"].as_str());
    assert!(versions.clone().count() > 0 && versions.clone().all(|version| version.contains('+')));
    for (set, part) in [
        ("prompt.prediction/persona", "write prompt.NAME=FILE"),
        ("prompt.prediction/persona=none.txt", "none.txt cannot be read"),
        ("prompt.prediction/song=mine.txt", "prediction/song: there is no such text"),
    ] {
        let refused = fork(set);
        assert!(refused.code == Some(2) && refused.stderr.contains(part), "{set}: {refused:?}");
    }
    assert_eq!(program.run(["list", "--json"]).lines().len(), 2);
}
