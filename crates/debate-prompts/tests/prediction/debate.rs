//! Whole debates, driven through the kernel with canned answers.

use debate_core::call::{Reserved, Want, Work};
use debate_core::command::{BeginCall, Command};
use debate_core::debate::Debate;
use debate_core::event::{AttemptRef, Event, Opened, PromptRef, ReplyFacts, ReplyProse};
use debate_core::format::Format as _;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::visible::Visible;
use debate_core::id::{Digest, Timestamp};
use debate_core::prose::Prose;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::{Prompt, Prompts as _, Reading};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// Reads a request of the contract.
pub(crate) fn accepted(request: &Value) -> Accepted<Prediction> {
    match accept(&request.to_string()).unwrap() {
        AcceptedRequest::Prediction(accepted) => *accepted,
        other => panic!("{other:?}"),
    }
}

/// Makes a request for a question with outcomes; the first is the likelier by its prior.
pub(crate) fn request(question: &str, outcomes: &[&str]) -> Value {
    let share = 0.4 / (outcomes.len().max(2) - 1) as f64;
    let prior = |(place, id): (usize, &&str)| json!({"outcome_id": id, "probability": if place == 0 { 0.6 } else { share }});
    json!({
        "task_id": "t-1",
        "prediction_context": {
            "task": {"question": question},
            "outcomes": outcomes.iter().map(|id| json!({"id": id, "label": id})).collect::<Vec<_>>(),
            "simulation_summary": {"final_distribution": outcomes.iter().enumerate().map(prior).collect::<Vec<_>>()},
        },
        "options": {"seed": 7},
    })
}

/// Asks and answers every question of a debate; `reply` sees each with its prompt and gives the reply's text.
pub(crate) fn hold(
    accepted: Accepted<Prediction>,
    mut reply: impl FnMut(&Want, &Visible, &Prompt) -> String,
) -> Debate<Prediction> {
    let opened = Opened::<Prediction> {
        format: Prediction::NAME.to_owned(),
        debate: "6f1b1f0e-7f3c-4a55-9d5e-0c5f3a1b2c3d".parse().unwrap(),
        request_digest: accepted.digest,
        limits: accepted.limits,
        config: accepted.config,
        models: None,
        prose: Prose::new(accepted.brief),
    };
    let mut debate = Debate::opened(&opened, NOW);
    apply(&mut debate, opened.decide(NOW).unwrap().into_iter().skip(1).collect());
    for _ in 0..2_000 {
        let Some(work) = debate.wanted_work().into_iter().next() else { return debate };
        let visible = Prediction::visible(&debate, work.want());
        let prompt = PredictionPrompts.render(&visible, work.want(), &[]).unwrap();
        let text = reply(work.want(), &visible, &prompt);
        answer(&mut debate, &work, &visible, (prompt.omitted, text));
    }
    panic!("the debate does not end");
}

fn answer(
    debate: &mut Debate<Prediction>,
    work: &Work,
    visible: &Visible,
    (omitted, text): (Vec<String>, String),
) {
    let Work::Turn { want, turn } = work else { panic!("{work:?}") };
    let answer = match PredictionPrompts
        .parse(visible, want, debate_prompts::prompts::Received::whole(&text))
        .unwrap()
    {
        Reading::Answer { answer, .. } => answer,
        Reading::Tools(tools) => panic!("{tools:?}"),
    };
    let prompt =
        PromptRef { version: String::new(), digest: Digest::default(), omitted, ..PromptRef::default() };
    let begin = BeginCall {
        work: work.clone(),
        hedge: None,
        model: "canned:1".to_owned(),
        prompt,
        reserved: Reserved::default(),
        thinking: debate_core::call::Thinking::default(),
    };
    let events = debate.decide(NOW, Command::BeginCall(begin)).unwrap();
    apply(debate, events);
    let open = debate.call(&want.call).unwrap().open[0].attempt;
    let attempt = AttemptRef { call: want.call.clone(), revision: want.revision, attempt: open, turn: *turn };
    let prose = ReplyProse { text, ..ReplyProse::default() };
    let finish = Command::FinishCall { attempt, reply: ReplyFacts::default(), prose, answer };
    let events = debate.decide(NOW, finish).unwrap();
    apply(debate, events);
}

fn apply(debate: &mut Debate<Prediction>, events: Vec<Event<Prediction>>) {
    for event in events {
        debate.apply(NOW, &event).unwrap();
    }
}

/// Replies to any question of a debate with words of about so many tokens in every text.
pub(crate) fn canned(visible: &Visible, sentences: usize) -> String {
    let sentence = "Inflation fell to 2.1% in March, so the board has room to move before the summer. ";
    let argument = sentence.repeat(sentences);
    let probabilities = |outcomes: usize| -> Value {
        let share = 1.0 / outcomes as f64;
        (0..outcomes).map(|place| (letter(place), json!(share))).collect::<serde_json::Map<_, _>>().into()
    };
    match visible {
        Visible::Argue(view) => {
            let precedent = json!({"event": "1994 turn", "date": "1994-02", "outcome": "Raised", "relevance": "Same phase", "similarity_score": 0.7});
            let cited = view.points.iter().find(|point| point.id.round < view.round);
            json!({
                "thinking": "private",
                "argument": format!("{} in round {} says: {argument}", view.role, view.round),
                "supports": "A",
                "probabilities": probabilities(view.subject.outcomes.len()),
                "confidence": 0.7,
                "evidence_cited": ["CPI of March", "Minutes of the board"],
                "rebuts": view.opponents.iter().take(1).map(ToString::to_string).collect::<Vec<_>>(),
                "cites": cited.map(|point| json!({"point": point.id.to_string(), "quote": "Inflation fell to 2.1% in March"})).into_iter().collect::<Vec<_>>(),
                "precedents": if view.role.as_str() == "historian" { vec![precedent.clone(), precedent] } else { Vec::new() },
            })
        }
        Visible::Score(view) => {
            let scores: serde_json::Map<String, Value> =
                view.criteria.iter().map(|criterion| (criterion.name.clone(), json!(0.7))).collect();
            json!({"reason": sentence, "scores": scores})
        }
        Visible::Synthesise(view) => json!({
            "reasoning": argument,
            "probabilities": probabilities(view.subject.outcomes.len()),
            "confidence": 0.8,
            "disagreements": [{"topic": "Pace", "positions": [{"role": "optimist", "stance": "Fast", "strength": 0.8}], "resolved": false}],
            "insights": [{"insight": "Rents lag", "source_role": "contrarian", "round": 1, "impact": "high", "affected_outcomes": ["A"]}],
        }),
    }
    .to_string()
}

fn letter(place: usize) -> String {
    let letters: Vec<char> = ('A'..='Z').collect();
    match place / 26 {
        0 => letters[place].to_string(),
        tens => format!("{}{}", letters[tens - 1], letters[place % 26]),
    }
}
