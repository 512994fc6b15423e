//! What comes of real replies in a debate: accepted, or asked again by a rule.

use debate_core::debate::Debate;
use debate_core::format::Format;
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::{CUT, Prompts, Reading, Received};
use debate_prompts::roundtable::RoundtablePrompts;

use super::debates;
use super::material::{RealReply, Take, real_replies};

const TABLE: &str = include_str!("../real_replies.txt");

/// One row of the table.
struct Row {
    file: &'static str,
    is_accepted: bool,
    rule: &'static str,
}

fn rows() -> Vec<Row> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let is_accepted = match cells[1] {
            "accepted" => true,
            "asked again" => false,
            other => panic!("{other}"),
        };
        Row { file: cells[0], is_accepted, rule: cells[2] }
    };
    rows.map(row).collect()
}

/// Reads a reply as the driver does and decides what it means; returns its repairs.
fn taken<P: Prompts>(
    prompts: &P,
    debate: &Debate<P::Format>,
    (visible, call): (&<P::Format as Format>::Visible, &str),
    reply: Received<'_>,
) -> Result<Vec<String>, String> {
    let want = debates::want(call);
    match prompts.parse(visible, &want, reply).map_err(|error| error.why)? {
        Reading::Answer { answer, repairs } => P::Format::facts(debate, &want, &answer).map(|_| repairs),
        Reading::Tools(tools) => panic!("{tools:?}"),
    }
}

fn prediction(call: &str, reply: Received<'_>) -> Result<Vec<String>, String> {
    let debate = debates::prediction();
    taken(&PredictionPrompts, &debate, (&debates::prediction_visible(&debate, call), call), reply)
}

fn roundtable(reply: Received<'_>) -> Result<Vec<String>, String> {
    let (debate, call) = (debates::roundtable(), "respond/1/ada");
    taken(&RoundtablePrompts, &debate, (&debates::visible(&debate, call), call), reply)
}

fn deliberation(reply: Received<'_>) -> Result<Vec<String>, String> {
    let (debate, call) = (debates::deliberation(), "initial/1/ada");
    taken(&DeliberationPrompts, &debate, (&debates::visible(&debate, call), call), reply)
}

fn outcome(reply: &RealReply) -> Result<Vec<String>, String> {
    let received = reply.received();
    match (&reply.call, &reply.take) {
        (_, Take::Text) => {
            let first = deliberation(received).unwrap_err();
            assert!(first.contains("reached its limit"), "{}: {first}", reply.file);
            deliberation(received.last())
        }
        (Some(call), _) if !call.starts_with("respond") => prediction(call, received),
        (Some(_) | None, _) => roundtable(received),
    }
}

#[test]
fn k18_real_replies_are_accepted_or_asked_again_by_rule() {
    let (rows, replies) = (rows(), real_replies());
    for (reply, row) in replies.iter().zip(&rows) {
        assert_eq!(reply.file, row.file);
        let outcome = outcome(reply);
        assert_eq!(
            outcome.is_ok(),
            row.is_accepted,
            "{}: {} by {}: {outcome:?}",
            row.file,
            row.is_accepted,
            row.rule
        );
        match outcome {
            Ok(repairs) => {
                assert!(!matches!(reply.take, Take::Nothing), "{}", row.file);
                assert!(repairs.iter().any(|repair| repair == CUT), "{}: {repairs:?}", row.file);
            }
            // The other rules are checked by the core, whose reasons are for the one who is asked again.
            Err(why) => assert_eq!(why.contains("(P27)"), row.rule == "P27", "{}: {why}", row.file),
        }
    }
    assert_eq!(rows.len(), 46);
}
