//! How the investigation is put on the stage: requests as clients write them, and answers made of a few words.

use debate_core::call::Want;
use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::investigation::Investigation;
use debate_core::formats::investigation::answer::{
    Act, Answer, Challenge, ChallengeKind, Conclusion, Expected, HypothesisText, Report, Response, Said,
    Stance, Status, StatusUpdate, Verdict,
};
use debate_core::formats::investigation::config::{Brief, Config};
use debate_core::formats::investigation::evidence::{Evidence, EvidenceKind};
use debate_core::formats::investigation::visible::Task;
use debate_core::limits::Limits;
use serde_json::{Value, json};

use crate::scenario::{Cast, Words};

impl Cast for Investigation {
    /// Knows `by=ann,bo`, `rounds=2`, `lead=yes`, by which the lead proposes, and `workspace=yes`.
    fn opened(words: &Words<'_>) -> (Config, Brief, Limits) {
        let investigators = words.list("by");
        let mut request = json!({
            "format": "investigation",
            "problem": "The service hangs after an hour.",
            "investigators": investigators,
        });
        if words.get("lead").is_none() {
            let hypotheses = investigators.iter().map(|name| proposed(name));
            request["hypotheses"] = hypotheses.map(|one| json!(one)).collect::<Value>();
        }
        if let Some(rounds) = words.get("rounds") {
            request["rounds"] = rounds.parse::<u32>().unwrap().into();
        }
        let accepted = accept(&request.to_string()).unwrap();
        let AcceptedRequest::Investigation(mut accepted) = accepted else { panic!("{accepted:?}") };
        accepted.config.workspace = words.get("workspace").is_some();
        (accepted.config, accepted.brief, accepted.limits)
    }

    fn answer(debate: &Debate<Self>, want: &Want, words: &str) -> Answer {
        let options = Words(words);
        let said = match Self::visible(debate, want).task {
            Task::Propose { hypotheses_max } => {
                let count = number(&options, "count").map_or(hypotheses_max, |count| count as usize);
                let vague = number(&options, "vague").unwrap_or(0.0) as usize;
                let vague = (0..vague).map(|_| HypothesisText {
                    statement: "The design".to_owned(),
                    prediction: "is poor".to_owned(),
                });
                Said::Hypotheses((0..count).map(|place| proposed(&place.to_string())).chain(vague).collect())
            }
            Task::Investigate(view) => {
                let open = view.challenges.iter().filter(|challenge| challenge.is_open);
                let open: Vec<String> = open.map(|challenge| challenge.raised.id.to_string()).collect();
                Said::Report(report(&options, &want.call.to_string(), &open))
            }
            Task::Challenge { .. } => Said::Challenges(challenges(&options, &want.call.to_string())),
            Task::Status(dossiers) => {
                let open = dossiers.iter().flat_map(|one| &one.challenges).filter(|one| one.is_open);
                let all = open.map(|one| one.raised.id.to_string()).collect();
                let answered = options.get("answered").map(|_| options.list("answered"));
                let answered = answered.map(|ids| ids.into_iter().map(str::to_owned).collect());
                Said::Status(StatusUpdate { answered: answered.unwrap_or(all), ..StatusUpdate::default() })
            }
            Task::Verdict(dossiers) => Said::Verdict(Verdict {
                hypothesis: match options.get("name") {
                    Some(name) => name.parse().ok(),
                    None => dossiers.first().map(|one| one.standing.hypothesis),
                },
                needs_more_information: options.get("more").is_some(),
                missing: options.list("missing").into_iter().map(str::to_owned).collect(),
                evidence_for: options.list("for").into_iter().map(str::to_owned).collect(),
                ..Verdict::default()
            }),
            Task::Convey(_) => {
                Said::Conclusion(Conclusion { text: "It was that.".to_owned(), ..Conclusion::default() })
            }
        };
        let strays = options.list("strays").into_iter().map(act).collect();
        Answer { said, strays }
    }
}

fn number(options: &Words<'_>, name: &str) -> Option<f64> {
    options.get(name).map(|value| value.parse().unwrap())
}

fn act(name: &str) -> Act {
    Act::ALL.into_iter().find(|act| act.as_str() == name).unwrap()
}

fn proposed(name: &str) -> HypothesisText {
    HypothesisText {
        statement: format!("Cause {name}"),
        prediction: format!("If it is {name}, the log of {name} should grow"),
    }
}

fn evidence(pointer: &str, claim: &str) -> Evidence {
    let kind = Some(EvidenceKind::FileLine);
    let [pointer, claim] = [pointer, claim].map(str::to_owned);
    Evidence { kind, pointer, quote: String::new(), claim }
}

/// Knows `c=7` (5 unless given), `at=a.rs:3` (none brings nothing), `against=b.rs:4`, `status=refuted`, and `stance` for
/// all open challenges.
fn report(options: &Words<'_>, call: &str, open: &[String]) -> Report {
    let pointers = options.get("at").map_or_else(|| vec!["src/a.rs:3"], |_| options.list("at"));
    let stance = match options.get("stance") {
        None => Some(Stance::Answer),
        Some(name) => Stance::ALL.into_iter().find(|stance| stance.as_str() == name),
    };
    let response = |(challenge, stance): (&String, Stance)| Response {
        challenge: challenge.clone(),
        stance,
        text: format!("{call} has an answer."),
    };
    Report {
        hypothesis: None,
        status: match options.get("status") {
            Some(name) => Status::ALL.into_iter().find(|status| status.as_str() == name).unwrap(),
            None => Status::Investigating,
        },
        confidence: Some(number(options, "c").unwrap_or(5.0)),
        confidence_before: None,
        key_finding: format!("{call} found what no other investigator looked for."),
        evidence_for: pointers
            .into_iter()
            .filter(|pointer| *pointer != "none")
            .map(|pointer| evidence(pointer, &format!("{call} shows it.")))
            .collect(),
        evidence_against: options
            .list("against")
            .into_iter()
            .map(|at| evidence(at, "speaks against"))
            .collect(),
        responses: open.iter().filter_map(|id| Some((id, stance?))).map(response).collect(),
    }
}

/// Knows `to=1,2`, `hidden=c.rs:9`, `counter=c.rs:9`, and `say` with the reason, `_` for spaces.
fn challenges(options: &Words<'_>, call: &str) -> Vec<Challenge> {
    let shown = options.get("hidden").or(options.get("counter"));
    let challenge = |number: &str| Challenge {
        to: String::new(),
        hypothesis: number.parse().ok(),
        kind: ChallengeKind::LogicFlaw,
        challenge: options.get("say").map_or_else(
            || format!("In {call}: what is shown for {number} is a correlation, no cause."),
            |reason| reason.replace('_', " "),
        ),
        counter_evidence: shown.iter().map(|at| evidence(at, "says otherwise")).collect(),
        expects: Expected::NewEvidence,
        hidden: options.get("hidden").is_some(),
    };
    options.list("to").into_iter().map(challenge).collect()
}
