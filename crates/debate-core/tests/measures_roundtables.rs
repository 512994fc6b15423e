//! The measures of roundtables on real prose of language models: councils of four that answered a question alone and
//! then again after they had read each other.
//!
//! Reads `../shared/data/transcripts/turns.jsonl`; says so and does nothing where that folder is absent.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use debate_core::formats::roundtable::flags::Flags;
use debate_core::measures::agreement::{agreement, is_steady};
use debate_core::measures::cross_reference::{
    mentions, questions, rebuttal_depth, refers_by_phrase, takes_up,
};
use debate_core::measures::groupthink::{OVERLAP_MIN, mean_overlap};
use debate_core::measures::negation::contradict;
use debate_core::measures::similarity::Similarity;
use serde_json::Value;

/// One council: what each member said alone, and what it said after reading the others, in the members' order; and what
/// the chair made of it.
#[derive(Default)]
struct Council {
    alone: Vec<(String, String)>,
    after: Vec<(String, String)>,
    closing: Vec<(String, String)>,
}

#[test]
fn t5_what_councils_hold_in_common_depends_on_what_is_compared_words_or_their_parts() {
    let Some(councils) = councils() else { return };
    let count = |measure: Similarity, of: fn(&Council) -> &[(String, String)]| {
        let camps = councils.iter().map(|council| {
            let said = of(council);
            agreement(measure, &texts(said), &vec![0.5; said.len()], |_, _| false).camps.len()
        });
        camps.fold(BTreeMap::new(), |mut counts: BTreeMap<usize, u32>, camps| {
            *counts.entry(camps).or_default() += 1;
            counts
        })
    };
    let words = [count(Similarity::WordOverlap, |c| &c.alone), count(Similarity::WordOverlap, |c| &c.after)];
    let trigrams =
        [count(Similarity::TrigramOverlap, |c| &c.alone), count(Similarity::TrigramOverlap, |c| &c.after)];
    // Councils by their number of camps. Alone the members write solutions of one small problem, which share its words;
    // the second texts review those in each one's own words, so by whole words they fall further apart.
    assert_eq!(words[0], BTreeMap::from([(1, 4), (2, 11), (3, 4), (4, 1)]));
    assert_eq!(words[1], BTreeMap::from([(1, 2), (2, 7), (3, 5), (4, 6)]));
    // Forms of one word count as alike here, and by them the second texts are closer, not further.
    assert_eq!(trigrams[0], BTreeMap::from([(1, 8), (2, 12)]));
    assert_eq!(trigrams[1], BTreeMap::from([(1, 15), (2, 4), (3, 1)]));
}

#[test]
fn t5_repeated_texts_are_steady_and_new_texts_are_not() {
    let Some(councils) = councils() else { return };
    let (mut steady, mut repeated, mut pairs) = (0, 0, 0);
    for council in &councils {
        for (speaker, before) in &council.alone {
            let Some((_, after)) = council.after.iter().find(|(name, _)| name == speaker) else { continue };
            pairs += 1;
            steady += u32::from(is_steady(Similarity::WordOverlap, before, after));
            repeated += u32::from(before == after);
            assert!(is_steady(Similarity::WordOverlap, before, &before.to_uppercase()));
        }
    }
    // Three members sent the same text again and one changed a few words of it; the others wrote a new text. So convergence is asked of positions of a sentence or two, not of whole answers.
    assert_eq!((pairs, repeated, steady), (77, 3, 4));
}

#[test]
fn t6_long_answers_to_one_question_overlap_and_seldom_reach_the_old_threshold() {
    let Some(councils) = councils() else { return };
    let overlaps: Vec<f64> = councils.iter().map(|council| mean_overlap(&texts(&council.after))).collect();
    let over = overlaps.iter().filter(|overlap| **overlap >= OVERLAP_MIN).count();
    let mean = overlaps.iter().sum::<f64>() / overlaps.len() as f64;
    let alone: Vec<f64> = councils.iter().map(|council| mean_overlap(&texts(&council.alone))).collect();
    let mean_alone = alone.iter().sum::<f64>() / alone.len() as f64;
    // In thousandths. Not one of 20 councils reaches the overlap that counts as a sign: on whole answers it is silent,
    // and the level of agreement is the default.
    assert_eq!((over, (mean * 1_000.0).round(), (mean_alone * 1_000.0).round()), (0, 248.0, 311.0));
}

#[test]
fn t11_references_to_others_are_found_where_there_is_somebody_to_refer_to() {
    let Some(councils) = councils() else { return };
    let phrases = |of: fn(&Council) -> &[(String, String)]| {
        councils.iter().flat_map(&of).filter(|(_, text)| refers_by_phrase(text)).count()
    };
    let members = |of: fn(&Council) -> &[(String, String)]| {
        councils.iter().flat_map(&of).filter(|(_, text)| !mentions(text, "council member").is_empty()).count()
    };
    let asked = councils
        .iter()
        .flat_map(|council| &council.after)
        .map(|(_, text)| questions(text).len())
        .sum::<usize>();
    let found =
        [phrases(|c| &c.alone), phrases(|c| &c.after), members(|c| &c.alone), members(|c| &c.after), asked];
    // Answers given alone cannot refer to others, and there is not one false alarm in them. More of the
    // second answers name the other members than use a phrase, so names matter more than phrases.
    assert_eq!(found, [0, 8, 0, 22, 10]);
}

#[test]
fn t5_long_answers_to_one_question_seldom_deny_each_others_terms() {
    let Some(councils) = councils() else { return };
    let (mut pairs, mut denied) = (0, 0);
    for council in &councils {
        let said = texts(&council.after);
        for (place, a) in said.iter().enumerate() {
            for b in &said[place + 1..] {
                pairs += 1;
                denied += u32::from(contradict(a, b));
            }
        }
    }
    // 20 councils of four: long solutions share many terms, so one denied aside does not set two of them against each
    // other.
    assert_eq!((pairs, denied), (120, 0));
}

/// Returns whether a text refers to other members: by a phrase, or as the council's texts name them.
fn refers(text: &str) -> bool {
    refers_by_phrase(text) || !mentions(text, "council member").is_empty()
}

#[test]
fn t11_rebuttals_go_as_deep_as_there_are_rounds_in_which_somebody_answers() {
    let Some(councils) = councils() else { return };
    let mut depths: BTreeMap<usize, u32> = BTreeMap::new();
    for council in &councils {
        let rounds = [&council.alone, &council.after, &council.closing];
        let refers_by_round = rounds.map(|said| said.iter().any(|(_, text)| refers(text)));
        *depths.entry(rebuttal_depth(&refers_by_round)).or_default() += 1;
    }
    // No member answers another in the round of answers given alone, so two is the most. In 12 councils
    // either the members name each other or the chair names them; in four both do, and in four all write as
    // if they were alone.
    assert_eq!(depths, BTreeMap::from([(0, 4), (1, 12), (2, 4)]));
}

#[test]
fn t11_questions_of_real_turns_are_taken_up_by_their_own_words_and_not_by_those_of_the_subject() {
    let Some(councils) = councils() else { return };
    let (mut put, mut taken, mut by_subject) = (0, 0, 0);
    for council in &councils {
        // What all members write about is what the first of them says first.
        let subject = &council.alone[0].1;
        for (asker, text) in council.alone.iter().chain(&council.after) {
            for question in questions(text) {
                put += 1;
                let later = council
                    .after
                    .iter()
                    .chain(&council.closing)
                    .filter(|(name, later)| name != asker && later != text);
                let (mut own, mut any) = (false, false);
                for (_, later) in later {
                    own |= takes_up(later, question, subject);
                    any |= takes_up(later, question, "");
                }
                (taken, by_subject) = (taken + u32::from(own), by_subject + u32::from(any && !own));
            }
        }
    }
    // Of 48 questions, most of them put for show within a solution, 25 have half of their words in what somebody else
    // writes later; in 17 of these cases they are words of the problem, which everybody writes anyhow.
    assert_eq!((put, taken, by_subject), (48, 8, 17));
}

#[test]
fn t6_the_default_sign_shows_where_a_council_is_of_one_mind_and_not_where_it_splits() {
    let Some(councils) = councils() else { return };
    let signs = |measure: Similarity, of: fn(&Council) -> &[(String, String)]| {
        let levels = councils.iter().map(|council| {
            let said = of(council);
            agreement(measure, &texts(said), &vec![0.5; said.len()], |_, _| false).level
        });
        levels.filter(|level| *level >= Flags::default().groupthink_threshold.value.0).count()
    };
    let found = [
        signs(Similarity::WordOverlap, |c| &c.alone),
        signs(Similarity::WordOverlap, |c| &c.after),
        signs(Similarity::TrigramOverlap, |c| &c.alone),
        signs(Similarity::TrigramOverlap, |c| &c.after),
    ];
    // Equal confidences leave the level to the camps: one camp is at 1.0, two of four at 0.65. So the sign shows in exactly
    // the councils of one camp, and with forms of one word alike it shows in most of the second rounds.
    assert_eq!(found, [4, 2, 8, 15]);
}

fn texts(said: &[(String, String)]) -> Vec<&str> {
    said.iter().map(|(_, text)| text.as_str()).collect()
}

/// Returns the councils that answered twice.
fn councils() -> Option<Vec<Council>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/transcripts/turns.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is absent", path.display());
        return None;
    };
    let turns = text.split('\n').filter(|line| !line.is_empty());
    let turns: Vec<Value> = turns.map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut councils: BTreeMap<String, Council> = BTreeMap::new();
    for turn in &turns {
        let of = |field: &str| turn[field].as_str().unwrap_or_default().to_owned();
        let council = councils.entry(of("debate_id")).or_default();
        match turn["kind"].as_str().unwrap() {
            "independent answer" => council.alone.push((of("speaker"), of("text"))),
            "stage2:deliberation_responses" => council.after.push((of("speaker"), of("text"))),
            "stage3:synthesis" => council.closing.push((of("speaker"), of("text"))),
            _other => {}
        }
    }
    Some(
        councils
            .into_values()
            .filter(|council| !council.after.is_empty() && !council.alone.is_empty())
            .collect(),
    )
}
