//! `debate continue`: more rounds of a debate that has concluded (rule K17).

use serde_json::json;

use crate::program::Program;

#[test]
fn k17_a_concluded_debate_goes_on_with_a_question_of_its_own() {
    let program = Program::new();
    let id = program.debate("roundtable-adversarial.json");
    let before = program.run(["log", &id, "--json"]).lines();
    let ran = program.run(["continue", &id, "--focus", "What would it cost?", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("continued by 1 round"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("opened: "), "earlier events are not printed again: {}", ran.stderr);
    let log = program.run(["log", &id, "--json"]).lines();
    assert_eq!(log[..before.len()], before[..]);
    let (more, last) = (&log[before.len()], log.last().unwrap());
    assert_eq!(
        (&more["kind"], &more["body"]["rounds"], &more["body"]["focused"]),
        (&json!("continued"), &json!(1), &json!(true))
    );
    assert_eq!(last["kind"], "concluded");
    assert_eq!(program.run(["show", &id, "--json"]).json(), ran.json());
    assert_eq!(program.run(["verify", &id]).code, Some(0));

    let prediction = program.debate("ice.json");
    let focused = program.run(["continue", &prediction, "--focus", "Why?"]);
    assert_eq!(focused.code, Some(2), "{focused:?}");
    let longer = program.run(["continue", &prediction, "--rounds", "2", "--quiet"]);
    assert_eq!(longer.code, Some(0), "{longer:?}");
}

#[test]
fn k12_what_cannot_go_on_is_refused_and_nothing_is_recorded() {
    let program = Program::new();
    let id = program.debate("deliberation.json");
    let before = program.run(["log", &id, "--json"]).stdout;
    for (args, code, said) in [
        (
            &["--rounds", "0", "--focus", " "][..],
            2,
            "\n  --rounds: must be a whole number from 1 to 10\n  --focus: must not be empty\n",
        ),
        (&[], 2, ""),
        (&["--rounds", "x"], 2, "--rounds"),
    ] {
        let ran = program.run(["continue", &id].iter().chain(args));
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(said), "{ran:?}");
    }
    assert_eq!(program.run(["log", &id, "--json"]).stdout, before);
    let unknown = program.run(["continue", "6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a"]);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
}
