//! Conclusions that somebody forged: they say what does not follow from the events before them, and all else fits.

use debate_core::codec::decode;
use debate_core::debate::Debate;
use debate_core::event::{Concluded, Event, Forked, KernelEvent, Recorded};
use debate_core::formats::prediction::Prediction;
use serde_json::{Value, json};

use crate::hostile::{append_to, exported, text, wordless};
use crate::program::Program;

/// Returns where in a bundle a stream begins, and its last event stands.
fn place_of(lines: &[Value], id: &str) -> (usize, usize) {
    let begin = lines.iter().position(|line| line["stream"]["id"] == id).unwrap();
    (begin, begin + lines[begin + 1..].iter().take_while(|line| line.get("event").is_some()).count())
}

/// Returns the events of a debate of a bundle without their words, those that a fork shares with its parent first.
fn log(lines: &[Value], id: &str) -> Vec<Recorded<Prediction>> {
    let (begin, end) = place_of(lines, id);
    let own = lines[begin + 1..=end].iter().map(|line| wordless(&lines[begin]["stream"], &line["event"]));
    let mut own: Vec<_> = own.map(|envelope| decode::<Prediction>(&envelope).unwrap()).collect();
    let Event::Kernel(KernelEvent::Forked(Forked { parent, at, .. })) = &own[0].event else { return own };
    let mut log = log(lines, &parent.to_string());
    log.retain(|recorded| recorded.seq <= *at);
    log.append(&mut own);
    log
}

/// Lets the conclusion that ends a debate say something else; the digest is the one of the outcome that it then has.
fn concluded_otherwise(lines: &[Value], id: &str, place: &str, value: Value) -> Vec<Value> {
    let mut log = log(lines, id);
    let last = log.pop().unwrap();
    let Event::Kernel(KernelEvent::Concluded(concluded)) = &last.event else { panic!("{last:?}") };
    let mut body = serde_json::to_value(concluded).unwrap();
    *body.pointer_mut(place).unwrap() = value;
    let mut concluded: Concluded = serde_json::from_value(body).unwrap();
    let mut debate = Debate::replay(&log).unwrap();
    debate.apply(last.at, &Event::Kernel(concluded.clone().into())).unwrap();
    concluded.outcome_digest = debate.outcome_digest();
    let (begin, end) = place_of(lines, id);
    let first = lines[begin + 1]["event"]["kind"].as_str().unwrap();
    let mut lines = lines.to_vec();
    lines.remove(end);
    append_to(first, lines, "concluded", &serde_json::to_string(&concluded).unwrap())
}

#[test]
fn k6_k15_a_conclusion_says_nothing_but_what_follows_from_the_events_before_it() {
    let program = Program::new();
    let run = |args: &[&str]| program.run(args.iter().copied());
    let parent = program.debate("ice.json");
    let forked = run(&["fork", &parent, "--json", "--without", "optimist"]).json();
    let lines = exported(&program, &[]);
    for id in [&parent, forked["debate_id"].as_str().unwrap()] {
        let forged = |place: &str, value: Value| concluded_otherwise(&lines, id, place, value);
        assert!(forged("/revision", 1.into()) == lines, "as it was made");
        for (place, value, what) in [
            ("/completeness", json!({"state": "void", "why": ["no role spoke"]}), "completeness"),
            ("/completeness", json!({"state": "partial", "missing": ["judge"], "why": []}), "completeness"),
            ("/rule", "deadline".into(), "rule that ended the debate"),
            ("/revision", 2.into(), "revision of the conclusion"),
        ] {
            program.write("forged.bundle", text(&forged(place, value)));
            let fault = format!("the {what} does not follow from the log");
            for args in [
                &["verify", "--bundle", "forged.bundle"][..],
                &["--store", "sqlite://new", "import", "forged.bundle"],
            ] {
                let found = run(args);
                assert_eq!(found.code, Some(4), "{fault}: {found:?}");
                let mut faults =
                    found.stdout.lines().filter(|line| line.starts_with(&format!("FAULT  {id}  ")));
                assert!(faults.any(|line| line.contains(&fault)), "{fault}: {found:?}");
            }
            assert!(!program.path("new").exists(), "nothing was imported");
        }
    }
}
