//! The deliberation measures on real prose of language models.
//!
//! Reads `../shared/data/transcripts/turns.jsonl`; says so and does nothing where that folder is absent.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use std::path::PathBuf;

use debate_core::measures::disagreements::disagreements;
use debate_core::measures::position_change::{phrases_of_change, tells_change};
use debate_core::measures::similarity::{jaccard, words};
use serde_json::Value;

#[test]
fn d6_first_answers_state_no_change_of_position() {
    let Some(turns) = turns() else { return };
    let (mut first, mut changed) = (0, 0);
    for turn in &turns {
        let is_changed = tells_change(text(turn));
        if turn["kind"] == "independent answer" {
            assert!(!is_changed, "{} states a change in the first answer", turn["id"]);
            first += 1;
        }
        changed += usize::from(is_changed);
    }
    assert!(first >= 100, "only {first} first answers");
    assert!(changed >= 20, "only {changed} of {} turns tell a change", turns.len());
}

#[test]
fn d6_a_real_reply_that_reviewed_the_others_is_found() {
    let Some(turns) = turns() else { return };
    let Some(turn) = turns.iter().find(|turn| turn["id"] == "t-3a626926043f") else {
        panic!("the reply is not among {} turns", turns.len());
    };
    assert_eq!(phrases_of_change(text(turn)), ["after reviewing"]);
}

#[test]
fn d7_real_prose_gives_bullets_only_after_a_telling_line() {
    let Some(turns) = turns() else { return };
    let (mut silent, mut telling, mut found) = (0, 0, 0);
    for turn in &turns {
        let text = text(turn);
        let bullets = disagreements(text);
        let lower = text.to_lowercase();
        let Some(at) = ["unresolved", "disagreement"].iter().filter_map(|word| lower.find(word)).min() else {
            assert!(bullets.is_empty(), "{}", turn["id"]);
            silent += 1;
            continue;
        };
        let lines_before = lower[..at].matches('\n').count();
        let mut later = text.lines().skip(lines_before + 1).filter_map(|line| line.trim().strip_prefix('-'));
        for bullet in &bullets {
            assert!(later.any(|line| line.trim() == *bullet), "{}: {bullet}", turn["id"]);
        }
        telling += 1;
        found += usize::from(!bullets.is_empty());
    }
    assert!(silent >= 200 && telling >= 8 && found >= 1, "{silent} silent, {telling} telling, {found} found");
}

#[test]
fn d7_real_sentences_come_back_from_the_standard_form() {
    let Some(turns) = turns() else { return };
    let sentences: Vec<&str> = turns
        .iter()
        .filter_map(|turn| text(turn).lines().map(str::trim).find(|line| line.contains(' ')))
        .filter(|line| !line.starts_with('-'))
        .collect();
    assert!(sentences.len() >= 200, "only {} sentences", sentences.len());
    for bullets in sentences.chunks(4) {
        let section: String = bullets.iter().map(|bullet| format!("- {bullet}\n")).collect();
        let consensus = format!(
            "1. Points of agreement\n- All answered\n2. Unresolved disagreements\n{section}\
             3. Final recommendation (practical approach considering disagreements)\n{section}4. Cautions\n{section}"
        );
        assert_eq!(disagreements(&consensus), bullets);
    }
}

#[test]
fn answers_to_one_question_share_more_words_than_answers_to_two() {
    let Some(turns) = turns() else { return };
    let answers: Vec<_> = turns
        .iter()
        .filter(|turn| turn["kind"] == "independent answer")
        .map(|turn| (&turn["topic"], words(text(turn), 4)))
        .collect();
    let (mut same, mut other) = ((0.0, 0_u32), (0.0, 0_u32));
    for (i, (topic, left)) in answers.iter().enumerate() {
        for (another, right) in &answers[i + 1..] {
            let sums = if topic == another { &mut same } else { &mut other };
            sums.0 += jaccard(left, right);
            sums.1 += 1;
        }
    }
    assert!(same.1 >= 100 && other.1 >= 1_000, "{} and {} pairs", same.1, other.1);
    let (same, other) = (same.0 / f64::from(same.1), other.0 / f64::from(other.1));
    assert!(same > 2.0 * other, "{same} of one question, {other} of two");
}

fn turns() -> Option<Vec<Value>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/transcripts/turns.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is absent", path.display());
        return None;
    };
    let lines = text.split('\n').filter(|line| !line.is_empty());
    Some(lines.map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn text(turn: &Value) -> &str {
    turn["text"].as_str().unwrap()
}
