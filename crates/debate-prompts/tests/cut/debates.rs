//! Debates of every format in which nothing has been said yet.

use debate_core::call::Want;
use debate_core::debate::Debate;
use debate_core::event::Opened;
use debate_core::format::Format;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::fact::ArgumentProse;
use debate_core::formats::prediction::visible::{ScoreView, Subject, Visible, Words};
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::Timestamp;
use debate_core::prose::Prose;
use serde_json::{Value, json};

pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn opened<F: Format>(accepted: Accepted<F>) -> Debate<F> {
    let opened = Opened::<F> {
        format: F::NAME.to_owned(),
        debate: "6f1b1f0e-7f3c-4a55-9d5e-0c5f3a1b2c3d".parse().unwrap(),
        request_digest: accepted.digest,
        limits: accepted.limits,
        config: accepted.config,
        models: None,
        prose: Prose::new(accepted.brief),
    };
    let mut debate = Debate::opened(&opened, NOW);
    for event in &opened.decide(NOW).unwrap()[1..] {
        debate.apply(NOW, event).unwrap();
    }
    debate
}

fn accepted(request: &Value) -> AcceptedRequest {
    accept(&request.to_string()).unwrap()
}

pub(crate) fn want(call: &str) -> Want {
    Want { call: call.parse().unwrap(), revision: 0 }
}

pub(crate) fn visible<F: Format>(debate: &Debate<F>, call: &str) -> F::Visible {
    F::visible(debate, &want(call))
}

pub(crate) fn prediction() -> Debate<Prediction> {
    let request = json!({
        "task_id": "t-1",
        "prediction_context": {
            "task": { "question": "Will the Federal Reserve raise the federal funds target range?" },
            "outcomes": [{ "id": "yes", "label": "Yes" }, { "id": "no", "label": "No" }],
        },
    });
    let AcceptedRequest::Prediction(accepted) = accepted(&request) else { panic!() };
    opened(*accepted)
}

/// Returns what a call sees; the argument that is scored is made up.
pub(crate) fn prediction_visible(debate: &Debate<Prediction>, call: &str) -> Visible {
    if !call.starts_with("score") {
        return visible(debate, call);
    }
    let (argument, evidence_cited, precedents) = ("Rates rise.".to_owned(), Vec::new(), Vec::new());
    Visible::Score(Box::new(ScoreView {
        subject: Subject::of(debate.config(), debate.brief().clone(), debate.as_of()),
        phase: debate.config().phase(1),
        criteria: debate.config().criteria.clone(),
        words: Words::of(&Prose::new(ArgumentProse {
            argument,
            evidence_cited,
            precedents,
            ..ArgumentProse::default()
        })),
        supports: 0,
        precedents: 0,
    }))
}

pub(crate) fn roundtable() -> Debate<Roundtable> {
    let request = json!({ "format": "roundtable", "topic": "Should we move?", "agents": ["ada", "bo"], "mode": "delphi" });
    let AcceptedRequest::Roundtable(accepted) = accepted(&request) else { panic!() };
    opened(*accepted)
}

pub(crate) fn deliberation() -> Debate<Deliberation> {
    let participants = [json!({ "name": "ada" }), json!({ "name": "bo" })];
    let request =
        json!({ "format": "deliberation", "topic": "Should we move?", "participants": participants });
    let AcceptedRequest::Deliberation(accepted) = accepted(&request) else { panic!() };
    opened(*accepted)
}

pub(crate) fn review() -> Debate<Review> {
    let request = include_str!("../../../../examples/review.json");
    let AcceptedRequest::Review(accepted) = accept(request).unwrap() else { panic!() };
    opened(*accepted)
}

pub(crate) fn investigation() -> Debate<Investigation> {
    let hypothesis = |what: &str| json!({ "statement": what, "prediction": "If so, memory grows." });
    let hypotheses = ["a leak", "a lock", "a loop"].map(hypothesis);
    let request = json!({
        "format": "investigation", "problem": "It hangs.", "context": "Since Monday.",
        "investigators": ["ann", "bob", "cyd"],
        "hypotheses": hypotheses,
    });
    let AcceptedRequest::Investigation(accepted) = accepted(&request) else { panic!() };
    opened(*accepted)
}
