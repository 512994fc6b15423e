//! How the formats are put on the stage: requests as clients write them, and answers of models that do what they
//! are asked, unless a scenario says otherwise.

use debate_core::call::Want;
use debate_core::debate::Debate;
use debate_core::format::Format;
use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::deliberation::{self, Deliberation};
use debate_core::formats::prediction::answer::{
    Answer, Argument, Citation, OutcomeRef, Precedent, Scores, Synthesis,
};
use debate_core::formats::prediction::visible::{ArgueView, Visible};
use debate_core::formats::prediction::{self, Prediction};
use debate_core::formats::review::{self, Review};
use debate_core::formats::roundtable::agent::{Part, Stance};
use debate_core::formats::roundtable::{self, Roundtable};
use debate_core::limits::Limits;
use serde_json::{Value, json};

use crate::scenario::{Cast, Words};

impl Cast for Deliberation {
    fn opened(words: &Words<'_>) -> (deliberation::config::Config, deliberation::config::Brief, Limits) {
        let mut request = json!({
            "format": "deliberation",
            "topic": "Should we move?",
            "participants": words.list("participants"),
        });
        for name in ["orchestrator", "mode", "concurrency"] {
            if let Some(value) = words.get(name) {
                request[name] = Value::from(value);
            }
        }
        if let Some(rounds) = words.get("max_rounds") {
            request["max_rounds"] = Value::from(rounds.parse::<u32>().unwrap());
        }
        if words.get("skills").is_some() {
            request["skills"] = Value::from(words.list("skills"));
        }
        let accepted = accept(&request.to_string()).unwrap();
        let AcceptedRequest::Deliberation(accepted) = accepted else { panic!("{accepted:?}") };
        (accepted.config, accepted.brief, accepted.limits)
    }

    fn answer(_debate: &Debate<Self>, want: &Want, words: &str) -> deliberation::answer::Answer {
        let words = match words {
            "" => format!("What {} says.", want.call),
            "nothing" => String::new(),
            words => words.replace(" / ", "\n"),
        };
        match &*want.call.kind {
            "consensus" => deliberation::answer::Answer::Consensus(words),
            _ => deliberation::answer::Answer::Contribution(words),
        }
    }
}

impl Cast for Roundtable {
    /// Flags are written by their path: `exit_criteria.enabled=true`.
    fn opened(words: &Words<'_>) -> (roundtable::config::Config, roundtable::config::Brief, Limits) {
        let mut request = json!({
            "format": "roundtable",
            "topic": "Should we move?",
            "agents": words.list("agents"),
            "mode": words.get("mode"),
            "rounds": words.get("rounds").map(|rounds| rounds.parse::<u32>().unwrap()),
            "options": {"seed": 1},
        });
        let pairs = words.0.split_whitespace().filter_map(|word| word.split_once('='));
        for (path, value) in pairs.filter(|(path, _)| path.contains('.')) {
            let (group, name) = path.split_once('.').unwrap();
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            request["flags"][group][name] = value;
        }
        let accepted = accept(&request.to_string()).unwrap();
        let AcceptedRequest::Roundtable(accepted) = accepted else { panic!("{accepted:?}") };
        (accepted.config, accepted.brief, accepted.limits)
    }

    /// Knows `position | reasoning | YES 0.9`, each part as far as it is given; the stance `-` is none, and unless one
    /// is given it is the one that the agent's part has to take.
    fn answer(debate: &Debate<Self>, want: &Want, words: &str) -> roundtable::answer::Answer {
        let mut parts = words.split('|').map(str::trim);
        let position = match parts.next().unwrap_or_default() {
            "" => format!("What {} says.", want.call),
            "nothing" => String::new(),
            position => position.to_owned(),
        };
        let reasoning = parts.next().unwrap_or_default().to_owned();
        let claims: Vec<&str> = parts.next().unwrap_or_default().split_whitespace().collect();
        let part = debate.config().agent(&want.call.role).and_then(|agent| agent.part);
        let stated = claims.iter().find_map(|claim| {
            let known = Stance::ALL.into_iter().find(|stance| stance.as_str() == *claim);
            known.map(Some).or_else(|| (*claim == "-").then_some(None))
        });
        let confidence = claims.iter().find_map(|claim| claim.parse::<f64>().ok());
        roundtable::answer::Answer {
            stance: stated.unwrap_or_else(|| part.and_then(Part::stance)),
            position,
            reasoning,
            confidence: confidence.unwrap_or(0.5),
            citations: Vec::new(),
        }
    }
}

impl Cast for Prediction {
    fn opened(words: &Words<'_>) -> (prediction::config::Config, prediction::config::Brief, Limits) {
        let mut request = json!({
            "task_id": "t1",
            "prediction_context": {"task": "Will it rain?", "outcomes": [{"id": "yes"}, {"id": "no"}]},
            "config": {"rounds": 1, "roles": words.list("roles")},
            "options": {"seed": 7, "schedule": "strict"},
        });
        if let Some(rounds) = words.get("rounds") {
            request["config"]["rounds"] = Value::from(rounds.parse::<u32>().unwrap());
        }
        let accepted = accept(&request.to_string()).unwrap();
        let AcceptedRequest::Prediction(accepted) = accepted else { panic!("{accepted:?}") };
        (accepted.config, accepted.brief, accepted.limits)
    }

    /// Knows the words `p=0.7` for the probability of yes, `score=0.1`, and `silent` for an argument without
    /// rebuttals and citations.
    fn answer(debate: &Debate<Self>, want: &Want, words: &str) -> Answer {
        let options = Words(words);
        let number =
            |name: &str, default: f64| options.get(name).map_or(default, |value| value.parse().unwrap());
        let yes = number("p", 0.6);
        let probabilities = vec![
            (OutcomeRef::Known(0), yes),
            (OutcomeRef::Known(1), if yes == 0.0 { 0.0 } else { 1.0 - yes }),
        ];
        match Self::visible(debate, want) {
            Visible::Argue(view) => Answer::Argue(argument(&view, probabilities, words.contains("silent"))),
            Visible::Score(view) => {
                let score = number("score", 0.6);
                let scores = view.criteria.iter().map(|criterion| (criterion.name.clone(), score));
                Answer::Score(Scores { scores: scores.collect(), reason: "it is thin".to_owned() })
            }
            Visible::Synthesise(_) => Answer::Synthesise(Synthesis {
                reasoning: "The case for rain holds.".to_owned(),
                probabilities,
                confidence: 0.8,
                disagreements: Vec::new(),
                insights: Vec::new(),
            }),
        }
    }
}

impl Cast for Review {
    /// Opens a review in which `ada` adds what `bo` removes, once for each of `targets`.
    fn opened(words: &Words<'_>) -> (review::config::Config, review::config::Brief, Limits) {
        let operations = |op: &str| -> Vec<Value> {
            words.list("targets").iter().map(|target| json!({"op": op, "target": target})).collect()
        };
        let mut request = json!({
            "format": "review",
            "critiques": [
                {"role": "ada", "operations": operations("AddConstraint")},
                {"role": "bo", "operations": operations("RemoveConstraint")},
            ],
            "debate": {"enabled": words.get("enabled") != Some("no")},
            "options": {"seed": 1},
        });
        let number = |name: &str| words.get(name).map(|value| Value::from(value.parse::<u32>().unwrap()));
        for name in ["max_pairs", "min_conflicts_to_trigger"] {
            request["debate"][name] = number(name).unwrap_or_default();
        }
        for name in ["seed", "judge_passes"] {
            if let Some(value) = number(name) {
                request["options"][name] = value;
            }
        }
        let accepted = accept(&request.to_string()).unwrap();
        let AcceptedRequest::Review(accepted) = accepted else { panic!("{accepted:?}") };
        (accepted.config, accepted.brief, accepted.limits)
    }

    /// Knows, of the judge, `ada=8 bo=5 winner=ada`; anything else is a speech.
    fn answer(debate: &Debate<Self>, want: &Want, words: &str) -> review::answer::Answer {
        use review::answer::{Answer, Feedback, Judgement};
        use review::config::Side;
        use review::fact::Winner;
        use review::visible::Task;
        let options = Words(words);
        let visible = Self::visible(debate, want);
        let Task::Judge { .. } = visible.task else {
            let words = if words.is_empty() { "I hold that. It is so." } else { words };
            return Answer::Speech(words.replace("nothing", ""));
        };
        let feedback = |side| {
            let role = visible.pair.role(side).as_str();
            Feedback {
                argument_quality_score: options.get(role).map_or(6.0, |score| score.parse().unwrap()),
                argument_labels: vec!["Well reasoned".to_owned(), format!("{role}-like")],
                policy_signal: format!("{role} should cite lines"),
            }
        };
        let winner = match options.get("winner") {
            None => Winner::Tie,
            Some(role) if role == visible.pair.role_a.as_str() => Winner::RoleA,
            Some(_) => Winner::RoleB,
        };
        let feedback = Side::BOTH.map(feedback);
        Answer::Judgement(Judgement { winner, feedback, summary: "They disagreed.".to_owned() })
    }
}

fn argument(view: &ArgueView, probabilities: Vec<(OutcomeRef, f64)>, silent: bool) -> Argument {
    let earlier = view.points.iter().find(|point| point.id.round < view.round);
    let cites = earlier.map(|point| Citation {
        point: point.id.to_string(),
        quote: point.words.argument().unwrap_or_default().to_owned(),
    });
    let precedent = |event: &str| Precedent {
        event: event.to_owned(),
        date: "1953".to_owned(),
        similarity_score: 0.5,
        outcome: "It rained.".to_owned(),
        relevance: "The same wind.".to_owned(),
    };
    Argument {
        claim: String::new(),
        argument: format!("{} holds its ground in round {}.", view.role, view.round),
        supports: OutcomeRef::Known(0),
        probabilities,
        confidence: 0.7,
        evidence_cited: vec!["The barometer fell.".to_owned()],
        rebuts: view.opponents.iter().take(usize::from(!silent)).map(ToString::to_string).collect(),
        cites: cites.into_iter().filter(|_| !silent).collect(),
        precedents: vec![precedent("The flood"), precedent("The storm")],
    }
}
