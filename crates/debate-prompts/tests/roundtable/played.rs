//! Plays a roundtable from its request to its end, with the prompt of every call.

use debate_core::call::{Reserved, Want, Work};
use debate_core::command::{BeginCall, Command};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::event::{AttemptRef, Opened, PromptRef, ReplyFacts, ReplyProse};
use debate_core::format::Format;
use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::{Digest, Timestamp};
use debate_core::prose::Prose;
use debate_prompts::prompts::{Prompt, Prompts, Reading};
use debate_prompts::roundtable::RoundtablePrompts;
use serde_json::{Value, json};

const START: Timestamp = Timestamp(1_000_000);

/// A prompt with the question that it puts.
pub(crate) struct Asked {
    pub(crate) want: Want,
    pub(crate) prompt: Prompt,
}

impl Asked {
    /// Returns what the system message and the user's say.
    pub(crate) fn texts(&self) -> [&str; 2] {
        let [system, user] = &self.prompt.messages[..] else { panic!("{:?}", self.prompt.messages) };
        [&system.text, &user.text]
    }

    /// Returns both messages as one text.
    pub(crate) fn whole(&self) -> String {
        self.texts().join("\n")
    }
}

/// Plays a roundtable of ada, bob and cyd; all who are wanted at one time are asked before anyone has answered. Replies
/// are what `reply` makes of a call.
pub(crate) fn play(mode: &str, flags: &Value, reply: impl Fn(&Want) -> Value) -> Vec<Asked> {
    let request = json!({
        "format": "roundtable",
        "topic": "Should the office move to the harbour?",
        "mode": mode,
        "agents": ["ada", "bob", "cyd"],
        "rounds": 2,
        "flags": flags,
        "options": { "seed": 1 },
    });
    let accepted = accept(&request.to_string()).unwrap();
    let AcceptedRequest::Roundtable(accepted) = accepted else { panic!("{accepted:?}") };
    let opened = Opened {
        format: Roundtable::NAME.to_owned(),
        debate: "6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a".parse().unwrap(),
        request_digest: accepted.digest,
        limits: accepted.limits,
        config: accepted.config,
        models: None,
        prose: Prose::new(accepted.brief),
    };
    let mut debate = Debate::opened(&opened, START);
    for event in &opened.decide(START).unwrap()[1..] {
        debate.apply(START, event).unwrap();
    }
    let mut asked = Vec::new();
    while debate.lifecycle() != Lifecycle::Concluded {
        let round: Vec<Asked> =
            debate.wanted_work().iter().map(|work| ask(&debate, work.want().clone())).collect();
        assert!(!round.is_empty(), "it stands still");
        for asked in &round {
            answer(&mut debate, asked, &reply(&asked.want));
        }
        asked.extend(round);
    }
    asked
}

fn ask(debate: &Debate<Roundtable>, want: Want) -> Asked {
    let prompt = RoundtablePrompts.render(&Roundtable::visible(debate, &want), &want, &[]).unwrap();
    Asked { want, prompt }
}

fn answer(debate: &mut Debate<Roundtable>, asked: &Asked, reply: &Value) {
    let want = &asked.want;
    let prompt = PromptRef {
        version: asked.prompt.version.to_owned(),
        digest: Digest::of_text(&asked.whole()),
        tokens: asked.prompt.tokens,
        ..PromptRef::default()
    };
    let begin = BeginCall {
        work: Work::Turn { want: want.clone(), turn: 1 },
        hedge: None,
        model: "canned:1".to_owned(),
        prompt,
        reserved: Reserved { input: 1, output: 1, cost_micros: None },
        thinking: debate_core::call::Thinking::default(),
    };
    decide(debate, Command::BeginCall(begin));
    let text = reply.to_string();
    let read = RoundtablePrompts
        .parse(&Roundtable::visible(debate, want), want, debate_prompts::prompts::Received::whole(&text))
        .unwrap();
    let Reading::Answer { answer, .. } = read else { panic!("it asks for tools") };
    let attempt = debate.call(&want.call).unwrap().attempt;
    let attempt = AttemptRef { call: want.call.clone(), revision: want.revision, attempt, turn: 1 };
    let prose = ReplyProse { text, ..ReplyProse::default() };
    decide(debate, Command::FinishCall { attempt, reply: ReplyFacts::default(), prose, answer });
}

fn decide(debate: &mut Debate<Roundtable>, command: Command<Roundtable>) {
    for event in debate.decide(START, command).unwrap() {
        debate.apply(START, &event).unwrap();
    }
}
