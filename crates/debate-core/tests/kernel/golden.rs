//! Golden cases from files (rule D11), and cases that must not pass.

use std::fs;
use std::path::PathBuf;

use debate_core::formats::deliberation::golden::{GoldenCase, check, read};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/golden")
}

#[test]
fn d11_golden_cases_come_out_as_they_say() {
    let mut cases = 0;
    for file in fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        for case in read(&fs::read_to_string(&path).unwrap()).unwrap() {
            assert_eq!(check(&case), [], "{} in {}", case.id, path.display());
            cases += 1;
        }
    }
    assert!(cases >= 4, "{cases} cases");
}

fn mismatches(change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
    let text = fs::read_to_string(folder().join("strong.json")).unwrap();
    let mut case = serde_json::from_str(&text).unwrap();
    change(&mut case);
    let case: GoldenCase = serde_json::from_value(case).unwrap();
    check(&case).iter().map(ToString::to_string).collect()
}

#[test]
fn d11_every_difference_is_reported() {
    let found = mismatches(|case| {
        case["expected"] = serde_json::json!({
            "positionChanges": ["bo"],
            "disagreements": [],
            "roundCount": 3,
            "phaseSequence": ["initial", "consensus"],
        });
    });
    let starts = [
        "expected.positionChanges",
        "expected.disagreements",
        "expected.roundCount",
        "expected.phaseSequence",
    ];
    assert_eq!(found.len(), starts.len(), "{found:?}");
    for (line, start) in found.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    assert_eq!(
        found[3],
        "expected.phaseSequence: expected initial consensus, got initial rebuttal revised consensus"
    );
}

#[test]
fn d11_rounds_are_phases_or_turns() {
    assert_eq!(mismatches(|case| case["expected"]["roundCount"] = 4.into()), [""; 0]);
    assert_eq!(mismatches(|case| case["expected"]["roundCount"] = 7.into()), [""; 0]);
    assert_eq!(
        mismatches(|case| case["expected"]["roundCount"] = 5.into()),
        ["expected.roundCount: expected 5, got 4 phases of 7 turns in all"]
    );
}

#[test]
fn d11_a_case_that_cannot_be_held_says_why() {
    let found = mismatches(|case| {
        case["input"]["participantResponses"].as_object_mut().unwrap().remove("bo");
    });
    assert_eq!(
        found,
        ["input: expected a debate that can be held, got 1 participants respond; 2 are needed"]
    );
}

#[test]
fn d11_who_has_no_response_left_is_missing_from_then_on() {
    let found = mismatches(|case| {
        case["input"]["participantResponses"]["ada"] = serde_json::json!(["One."]);
        case["input"]["participantResponses"]["cy"] = serde_json::json!(["One.", "Two.", "I now agree."]);
        case["expected"]["positionChanges"] = serde_json::json!(["cy"]);
    });
    assert_eq!(found, [""; 0]);
}

#[test]
fn d11_the_orchestrator_is_found_by_name_or_by_its_one_response_more() {
    let rename = |case: &mut serde_json::Value| {
        let responses = case["input"]["participantResponses"].as_object_mut().unwrap();
        responses.remove("orchestrator").unwrap()
    };
    let found = mismatches(|case| {
        let consensus = rename(case);
        case["input"]["participantResponses"]["moderator"] = consensus;
    });
    assert_eq!(found, [""; 0]);
    let found = mismatches(|case| {
        let consensus = rename(case)[0].take();
        case["input"]["participantResponses"]["bo"].as_array_mut().unwrap().push(consensus);
    });
    assert_eq!(found, [""; 0]);
    let found = mismatches(|case| {
        let consensus = rename(case);
        case["input"]["orchestrator"] = "chair".into();
        case["input"]["participantResponses"]["chair"] = consensus;
    });
    assert_eq!(found, [""; 0]);
}

#[test]
fn d11_a_file_holds_one_case_or_a_list() {
    let one = fs::read_to_string(folder().join("weak.json")).unwrap();
    assert_eq!(read(&format!("[{one}, {one}]")).unwrap().len(), 2);
    assert_eq!(read(&one).unwrap().len(), 1);
    assert!(read(&one.replacen("expected", "expect", 1)).is_err());
}
