//! The schemas of messages, with the names that a call may use (rule P28).

use debate_core::formats::investigation::evidence::EvidenceKind;
use debate_core::formats::investigation::fact::Stage;
use debate_core::formats::investigation::visible::{ChallengeView, Dossier, InvestigateView, Task, Visible};
use serde_json::{Value, json};

use crate::prompts::{PublicPart, ReplyShape};
use crate::schema::{self, list, named, number, object, one_of, prose, text};

/// The most pieces of evidence on one side of a message, and challenges of one reply.
const EVIDENCE_MAX: usize = 5;
const CHALLENGES_MAX: usize = 4;

/// Returns the shape of a message, and what of it may be shown live; `None` where a reply may ask for tools, in lines of
/// text.
pub(super) fn shape(visible: &Visible) -> Option<(ReplyShape, PublicPart)> {
    if super::looks(&visible.task).is_some() {
        return None;
    }
    let (name, public, fields) = match &visible.task {
        Task::Propose { hypotheses_max } => ("hypotheses", None, propose(*hypotheses_max)),
        Task::Investigate(view) => ("report", Some("key_finding"), report(view)),
        Task::Challenge { dossiers, .. } => ("challenges", None, challenge(dossiers)),
        Task::Status(dossiers) => ("status", Some("summary"), status(dossiers, visible.round)),
        Task::Verdict(dossiers) => ("verdict", Some("summary"), verdict(dossiers)),
        Task::Convey(_) => ("conclusion", Some("conclusion"), convey()),
    };
    let schema = object(fields);
    let shape = schema::shape(name, schema.to_string(), || schema);
    Some((shape, public.map_or(PublicPart::Nothing, PublicPart::Field)))
}

type Fields = Vec<(&'static str, Value)>;

fn propose(most: usize) -> Fields {
    let hypothesis = object([("hypothesis", prose(400)), ("prediction", prose(400))]);
    vec![("hypotheses", list(hypothesis, most.min(2), most))]
}

fn report(view: &InvestigateView) -> Fields {
    let open = view.challenges.iter().filter(|challenge| challenge.is_open);
    let open: Vec<String> = open.map(|challenge| challenge.raised.id.to_string()).collect();
    let response = object([
        ("challenge", named(&open)),
        ("answer", one_of(&["answer", "concede", "refuse"])),
        ("words", prose(400)),
    ]);
    let responses =
        (view.stage == Stage::Respond).then(|| ("responses", list(response, open.len(), open.len())));
    let first = [("key_finding", prose(600))].into_iter().chain(responses);
    let rest = [
        ("hypothesis", one_of(&[format!("H{}", view.hypothesis)])),
        ("status", one_of(&["INVESTIGATING", "SUPPORTED", "WEAKENED", "REFUTED"])),
        ("confidence_before", number(10)),
        ("confidence", number(10)),
        ("supporting_evidence", evidence()),
        ("counter_evidence", evidence()),
    ];
    first.chain(rest).collect()
}

fn challenge(dossiers: &[Dossier]) -> Fields {
    let investigators: Vec<&str> =
        dossiers.iter().map(|dossier| dossier.standing.investigator.as_str()).collect();
    let kinds = ["Evidence Quality", "Logic Flaw", "Counter Evidence", "Alternative Explanation"];
    let challenge = object([
        ("to", named(&investigators)),
        ("hypothesis", named(&hypotheses(dossiers, |_| true))),
        ("challenge_type", one_of(&kinds)),
        ("challenge", prose(600)),
        ("counter_evidence", evidence()),
        ("expected_response", one_of(&["New Evidence", "Reasoning", "Experiment", "Withdrawal"])),
        ("hidden_evidence", one_of(&["yes", "no"])),
    ]);
    vec![("challenges", list(challenge, 0, CHALLENGES_MAX))]
}

fn status(dossiers: &[Dossier], round: u32) -> Fields {
    let is_open = |challenge: &&ChallengeView| challenge.is_open;
    let open = dossiers.iter().flat_map(|dossier| &dossier.challenges).filter(is_open);
    let open: Vec<String> = open.map(|challenge| challenge.raised.id.to_string()).collect();
    let all = hypotheses(dossiers, |_| true);
    vec![
        ("summary", prose(800)),
        ("round", json!({ "type": "integer", "enum": [round] })),
        ("active_hypotheses", list(named(&all), 0, all.len())),
        ("leading_hypothesis", named(&all)),
        ("convergence", one_of(&["Strong", "Weak", "None"])),
        ("answered_challenges", list(named(&open), 0, open.len())),
        ("open_challenges", list(named(&open), 0, open.len())),
    ]
}

fn verdict(dossiers: &[Dossier]) -> Fields {
    // One that is not trusted cannot be named, unless there is no other.
    let trusted = hypotheses(dossiers, |dossier| dossier.standing.trusted);
    let nameable = if trusted.is_empty() { hypotheses(dossiers, |_| true) } else { trusted };
    vec![
        ("summary", prose(1_200)),
        ("hypothesis", named(&nameable)),
        ("confidence", number(10)),
        ("supporting_evidence", list(text(20), 0, 2 * EVIDENCE_MAX)),
        ("counter_evidence", list(text(20), 0, 2 * EVIDENCE_MAX)),
        ("needs_more_information", one_of(&["yes", "no"])),
        ("missing_information", list(text(200), 0, EVIDENCE_MAX)),
    ]
}

fn convey() -> Fields {
    vec![("conclusion", prose(1_600)), ("next_steps", list(text(200), 0, EVIDENCE_MAX))]
}

fn evidence() -> Value {
    let kinds = EvidenceKind::ALL.map(EvidenceKind::as_str);
    let evidence = object([
        ("kind", one_of(&kinds)),
        ("pointer", text(160)),
        ("quote", text(200)),
        ("shows", text(200)),
    ]);
    list(evidence, 0, EVIDENCE_MAX)
}

fn hypotheses(dossiers: &[Dossier], takes: impl Fn(&&Dossier) -> bool) -> Vec<String> {
    dossiers.iter().filter(takes).map(|dossier| format!("H{}", dossier.standing.hypothesis)).collect()
}
