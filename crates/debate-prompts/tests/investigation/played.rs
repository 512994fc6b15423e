//! An investigation of three rounds with all its prompts, held by hand against the real kernel.

use debate_core::call::{Reserved, Want, Work};
use debate_core::command::{BeginCall, Command};
use debate_core::debate::Debate;
use debate_core::event::{AttemptRef, Opened, PromptRef, ReplyFacts, ReplyProse};
use debate_core::format::Format as _;
use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::investigation::Investigation;
use debate_core::id::{DebateId, Digest, Timestamp};
use debate_core::prose::Prose;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prompts::{Prompts as _, Reading};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_000_000);
/// Why what is shown is not enough, anew in each round.
const REASONS: [&str; 3] = [
    "behind it, with five more runs of the same build",
    "once more, on a machine without any other load or user",
    "in the end, by a trace that begins before the fault does",
];
/// So many challenges are made to each hypothesis in each round; the first one stands.
pub(super) const REASONS_EACH: usize = 3;
pub(super) const INVESTIGATORS: [&str; 3] = ["amber", "birch", "cedar"];

/// Returns text that only this investigator would write and that does not contain its name.
pub(super) fn secret(name: &str, what: &str) -> String {
    let mark = match name {
        "amber" => "orange",
        "birch" => "white",
        _ => "red",
    };
    format!("{what}-{mark}-and-nothing-else-at-all-zq7")
}

fn open(language: &str, lead_proposes: bool) -> Debate<Investigation> {
    let mut request = json!({
        "format": "investigation", "problem": "It hangs.", "context": "Since Monday.",
        "investigators": INVESTIGATORS, "language": language,
    });
    if !lead_proposes {
        request["hypotheses"] = INVESTIGATORS
            .iter()
            .map(|name| {
                let prediction = format!("If so, {} should show", secret(name, "test"));
                json!({ "statement": secret(name, "cause"), "prediction": prediction })
            })
            .collect::<Value>();
    }
    let Ok(AcceptedRequest::Investigation(accepted)) = accept(&request.to_string()) else {
        panic!("{request}")
    };
    let mut config = accepted.config;
    config.workspace = true;
    let opened = Opened {
        format: Investigation::NAME.to_owned(),
        debate: DebateId(Default::default()),
        request_digest: accepted.digest,
        limits: accepted.limits,
        config,
        models: None,
        prose: Prose::new(accepted.brief),
    };
    let mut debate = Debate::opened(&opened, NOW);
    for event in opened.decide(NOW).unwrap().iter().skip(1) {
        debate.apply(NOW, event).unwrap();
    }
    debate
}

fn reply(debate: &Debate<Investigation>, want: &Want) -> String {
    let (kind, round, who) = (&*want.call.kind, want.call.round, want.call.role.as_str());
    let number = 1 + INVESTIGATORS.iter().position(|name| *name == who).unwrap_or(0);
    let challenge = 1 + REASONS_EACH * (number - 1);
    let of = |what: &str| secret(who, what);
    match kind {
        "propose" => {
            let lines = INVESTIGATORS.map(|name| {
                let (cause, test) = (secret(name, "cause"), secret(name, "test"));
                format!("Hypothesis: {cause}\nPrediction: if so, {test} should show")
            });
            format!("[HYPOTHESES]\n{}", lines.join("\n"))
        }
        "report" if debate.call(&want.call).is_some_and(|call| call.turns.is_empty()) => {
            format!("[TOOL] search {{\"text\": \"{}\"}}", of("tool"))
        }
        "report" | "respond" => format!(
            "[EVIDENCE REPORT]\nHypothesis: H{number}\nStatus: SUPPORTED\nConfidence: 6/10\nKey Finding: {} {round}\n\
             Evidence:\n- [test] {} | \"{}\" | {}\nCounter Evidence:\n- [test] {} | | against\n\
             Responses:\n- C{round}.{challenge} | answer | {} {round}",
            of("finding"),
            of("pointer"),
            of("quote"),
            of("claim"),
            of("adverse"),
            of("answer"),
        ),
        "challenge" => (1..=INVESTIGATORS.len()).map(|number| challenges(round, number)).collect(),
        "status" => format!(
            "[STATUS UPDATE]\nRound: {round}\nAnswered Challenges: C{round}.1\nSummary: {}",
            INVESTIGATORS.map(|name| secret(name, "finding")).join(" ")
        ),
        "verdict" => "[VERDICT]\nHypothesis: H1\nSummary: the pool leaks".to_owned(),
        _ => "[CONCLUSION]\nConclusion: it was that".to_owned(),
    }
}

/// Returns a challenge to a hypothesis that stands, and then two that would tell its investigator of another one: by what
/// that one was given to test, and by what it has found.
fn challenges(round: u32, number: usize) -> String {
    let other = INVESTIGATORS[number % INVESTIGATORS.len()];
    let because = format!(
        "in round {round} what is shown is a correlation, so seek the mechanism {}",
        REASONS[round as usize - 1]
    );
    let reasons: [String; REASONS_EACH] = [
        because,
        format!("could it not be that {}?", secret(other, "cause")),
        format!("会不会是另一个原因：{}？", secret(other, "finding")),
    ];
    let challenge = |reason: &String| {
        format!(
            "[CHALLENGE]\nTo: {}\nHypothesis: H{number}\nChallenge Type: Logic Flaw\nChallenge: {reason}\n",
            INVESTIGATORS[number - 1],
        )
    };
    reasons.iter().map(challenge).collect()
}

fn decide(debate: &mut Debate<Investigation>, command: Command<Investigation>) {
    for event in debate.decide(NOW, command).unwrap() {
        debate.apply(NOW, &event).unwrap();
    }
}

/// Asks a question and answers it; returns what was asked.
fn exchange(debate: &mut Debate<Investigation>, want: &Want, turn: u32) -> Vec<String> {
    let visible = Investigation::visible(debate, want);
    let turns = debate.call(&want.call).map_or_else(Vec::new, |call| call.turns.clone());
    let prompt = InvestigationPrompts.render(&visible, want, &turns).unwrap();
    let shown: Vec<String> = prompt.messages.iter().map(|message| message.text.to_string()).collect();
    let begin = BeginCall {
        work: Work::Turn { want: want.clone(), turn },
        hedge: None,
        model: "scripted".to_owned(),
        prompt: PromptRef { digest: Digest::of_text(&shown.concat()), ..PromptRef::default() },
        reserved: Reserved::NOTHING,
        thinking: debate_core::call::Thinking::default(),
    };
    decide(debate, Command::BeginCall(begin));
    let attempt = AttemptRef { call: want.call.clone(), revision: want.revision, attempt: 1, turn };
    let text = reply(debate, want);
    let prose = ReplyProse { text: text.clone(), ..ReplyProse::default() };
    let reply = ReplyFacts::default();
    let command = match InvestigationPrompts
        .parse(&visible, want, debate_prompts::prompts::Received::whole(&text))
        .unwrap()
    {
        Reading::Answer { answer, .. } => Command::FinishCall { attempt, reply, prose, answer },
        Reading::Tools(tools) => Command::AnswerTurn { attempt, reply, prose, tools },
    };
    decide(debate, command);
    shown
}

/// Something asked.
pub(super) struct Asked {
    /// The question.
    pub(super) want: Want,
    /// Every message of its prompt.
    pub(super) messages: Vec<String>,
}

/// Holds an investigation to its end; returns it with everything that was asked, in order.
pub(super) fn play(language: &str, lead_proposes: bool) -> (Debate<Investigation>, Vec<Asked>) {
    let mut debate = open(language, lead_proposes);
    let mut asked = Vec::new();
    while let Some(work) = debate.wanted_work().into_iter().next() {
        let Work::Turn { want, turn } = &work else {
            decide(&mut debate, Command::BeginTool(work.clone()));
            let result = "nothing".to_owned();
            decide(&mut debate, Command::FinishTool { work, ok: true, latency_ms: 1, result });
            continue;
        };
        asked.push(Asked { want: want.clone(), messages: exchange(&mut debate, want, *turn) });
    }
    (debate, asked)
}
