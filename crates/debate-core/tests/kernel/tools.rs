//! Tools at a roundtable: equal questions are put to them once (rules K2, T4, T8, T10).

use debate_core::call::{Reserved, Work};
use debate_core::command::{BeginCall, Command, DecideError};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::event::{
    AttemptRef, CallStarted, Event, KernelEvent, Opened, PromptRef, Recorded, ReplyFacts, ReplyProse,
    ToolAnswered, ToolRef, ToolStarted, ToolUse,
};
use debate_core::format::Format;
use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::answer::Answer;
use debate_core::formats::roundtable::tool::Tool;
use debate_core::id::{Seq, Timestamp};
use debate_core::prose::{Prose, Texts};
use serde_json::{Value, json};

use crate::scenario::START;

const CLAIM: &str = r#"{"query":"harbour rents"}"#;

/// A roundtable with its log.
struct Table {
    debate: Debate<Roundtable>,
    log: Vec<Recorded<Roundtable>>,
}

impl Table {
    fn open(mode: &str, sequential: &Value) -> Self {
        let request = json!({
            "format": "roundtable", "topic": "Should we move?", "mode": mode, "agents": ["ada", "bo"],
            "rounds": 1, "tools": ["search_web", "fact_check"], "sequential": sequential,
        });
        let accepted = accept(&request.to_string()).unwrap();
        let AcceptedRequest::Roundtable(accepted) = accepted else { panic!("{accepted:?}") };
        let opened = Opened::<Roundtable> {
            format: Roundtable::NAME.to_owned(),
            debate: "6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a".parse().unwrap(),
            request_digest: accepted.digest,
            limits: accepted.limits,
            config: accepted.config,
            models: None,
            prose: Prose::new(accepted.brief),
        };
        let events = (1..).map(Seq).zip(opened.decide(START).unwrap());
        let log: Vec<_> = events.map(|(seq, event)| Recorded { seq, at: START, event }).collect();
        Self { debate: Debate::replay(&log).unwrap(), log }
    }

    fn try_decide(&mut self, command: Command<Roundtable>) -> Result<Vec<&'static str>, DecideError> {
        let at = Timestamp(START.0 + self.log.len() as i64);
        let events = self.debate.decide(at, command)?;
        let kinds = events.iter().map(Event::kind).collect();
        for event in events {
            self.debate.apply(at, &event).unwrap();
            self.log.push(Recorded { seq: self.debate.head(), at, event });
        }
        let (replayed, now) = (Debate::replay(&self.log).unwrap(), self.debate.wanted_work());
        assert_eq!(replayed.wanted_work(), now, "what is wanted follows from the log");
        Ok(kinds)
    }

    fn decide(&mut self, command: Command<Roundtable>) -> Vec<&'static str> {
        self.try_decide(command).unwrap()
    }

    fn attempt(&mut self, agent: &str) -> AttemptRef {
        let is_meant =
            |work: &Work| matches!(work, Work::Turn { want, .. } if want.call.role.as_str() == agent);
        let work = self.debate.wanted_work().into_iter().find(is_meant).unwrap();
        let (prompt, reserved) = (PromptRef::default(), Reserved::NOTHING);
        self.decide(Command::BeginCall(BeginCall {
            work,
            hedge: None,
            model: String::new(),
            prompt,
            reserved,
            thinking: debate_core::call::Thinking::default(),
        }));
        let Event::Kernel(KernelEvent::CallStarted(started)) = &self.log.last().unwrap().event else {
            panic!("{:?}", self.log.last())
        };
        let (revision, attempt, turn) = (started.revision, started.attempt, started.turn);
        AttemptRef { call: started.call.clone(), revision, attempt, turn }
    }

    /// Lets an agent ask `search_web` for each of the arguments.
    fn asks(&mut self, agent: &str, arguments: &[&str]) {
        let attempt = self.attempt(agent);
        let used = ToolUse { tool: Tool::SearchWeb.as_str().to_owned(), id: String::new() };
        let tools = arguments.iter().map(|arguments| (used.clone(), (*arguments).to_owned())).collect();
        self.decide(Command::AnswerTurn { attempt, reply: ReplyFacts::default(), prose: said(), tools });
    }

    fn answers(&mut self, agent: &str, citations: &[&str]) {
        let attempt = self.attempt(agent);
        let citations = citations.iter().map(|source| (*source).to_owned()).collect();
        let answer = Answer {
            stance: None,
            position: format!("What {agent} says."),
            reasoning: String::new(),
            confidence: 0.5,
            citations,
        };
        self.decide(Command::FinishCall { attempt, reply: ReplyFacts::default(), prose: said(), answer });
    }

    /// Returns the runs that are wanted, as `agent/index`.
    fn runs(&self) -> Vec<String> {
        let name = |work: Work| match work {
            Work::Tool { want, index, .. } => Some(format!("{}/{index}", want.call.role)),
            Work::Turn { .. } => None,
        };
        self.debate.wanted_work().into_iter().filter_map(name).collect()
    }

    fn run(&self, name: &str) -> Work {
        let (agent, index) = name.split_once('/').unwrap();
        let call = format!("respond/1/{agent}").parse().unwrap();
        let want = debate_core::call::Want { call, revision: 0 };
        Work::Tool { want, turn: 1, index: index.parse().unwrap() }
    }

    fn begins(&mut self, name: &str) -> Vec<&'static str> {
        let work = self.run(name);
        self.decide(Command::BeginTool(work))
    }

    fn finishes(&mut self, name: &str, ok: bool, result: &str) {
        let (work, result) = (self.run(name), result.to_owned());
        self.decide(Command::FinishTool { work, ok, latency_ms: 7, result });
    }
}

fn said() -> ReplyProse {
    ReplyProse { text: String::new(), ..ReplyProse::default() }
}

#[test]
fn t8_equal_tool_calls_run_once_for_all_agents() {
    let mut table = Table::open("expert-panel", &json!({}));
    table.asks("ada", &[CLAIM, CLAIM, "{}"]);
    assert_eq!(table.runs(), ["ada/0", "ada/2"], "the twin waits");
    table.asks("bo", &[CLAIM]);
    assert_eq!(table.runs(), ["ada/0", "ada/2"]);
    let work = table.run("bo/0");
    assert_eq!(table.try_decide(Command::BeginTool(work.clone())), Err(DecideError::NotWanted(work)));
    assert_eq!(table.begins("ada/0"), ["tool_started"]);
    assert_eq!(table.begins("ada/0"), ["tool_started"], "lost with its process, and run again");
    table.finishes("ada/0", true, "1. Rents\n   https://rents.test/2\n");
    assert_eq!(table.runs(), ["ada/1", "ada/2"]);
    assert_eq!([table.begins("ada/1"), table.begins("bo/0")], [["tool_answered"], ["tool_answered"]]);
    assert_eq!(table.runs(), ["ada/2"]);
    table.begins("ada/2");
    table.finishes("ada/2", false, "its arguments lack query");
    table.answers("ada", &["Rents, https://rents.test/2.", "hearsay"]);
    table.answers("bo", &[]);
    assert_eq!(table.debate.lifecycle(), Lifecycle::Concluded);
    let evidence = Roundtable::outcome(&table.debate, Texts::Shown).evidence;
    let runs = evidence.tool_runs.iter().map(|run| {
        let from = run.reused_from.as_ref().map(|from| (from.agent.as_str(), from.round));
        (run.agent.as_str(), run.arguments.as_str(), run.ok, run.latency_ms, from, run.error.as_deref())
    });
    let expected = [
        ("ada", CLAIM, true, 7, None, None),
        ("ada", CLAIM, true, 0, Some(("ada", 1)), None),
        ("ada", "{}", false, 7, None, Some("its arguments lack query")),
        ("bo", CLAIM, true, 0, Some(("ada", 1)), None),
    ];
    assert_eq!(runs.collect::<Vec<_>>(), expected);
    assert_eq!((evidence.citation_count, evidence.citations_found), (2, 1));
    let withheld = Roundtable::outcome(&table.debate, Texts::Withheld).evidence;
    assert!(withheld.tool_runs.iter().all(|run| run.arguments == "[redacted]"));
}

#[test]
fn t8_a_run_under_way_goes_on_and_what_failed_is_tried_by_the_next() {
    let mut table = Table::open("expert-panel", &json!({}));
    table.asks("bo", &[CLAIM]);
    table.begins("bo/0");
    table.asks("ada", &[CLAIM]);
    assert_eq!(table.runs(), ["bo/0"], "the one under way, though another comes before it");
    table.finishes("bo/0", false, "no answer within 20 s");
    assert_eq!(table.runs(), ["ada/0"]);
    assert_eq!(table.begins("ada/0"), ["tool_started"]);
}

#[test]
fn k15_answers_and_starts_of_tools_that_deny_what_is_before_them_are_not_folded() {
    let mut table = Table::open("expert-panel", &json!({}));
    table.asks("ada", &[CLAIM]);
    table.begins("ada/0");
    table.finishes("ada/0", true, "found");
    let (answered, before) = table.log.split_last().unwrap();
    let (started, asked) = before.split_last().unwrap();
    let kernel = |recorded: &Recorded<Roundtable>| match &recorded.event {
        Event::Kernel(event) => event.clone(),
        Event::Opened(_) | Event::Fact(_) => panic!("{recorded:?}"),
    };
    let denied = |log: &[Recorded<Roundtable>], event: KernelEvent| {
        let mut debate = Debate::replay(log).unwrap();
        debate.apply(answered.at, &Event::Kernel(event)).unwrap_err().why
    };
    let KernelEvent::ToolAnswered(answer) = kernel(answered) else { panic!("{answered:?}") };
    let KernelEvent::ToolStarted(start) = kernel(started) else { panic!("{started:?}") };
    let of_turn = |turn| ToolStarted { turn, ..start.clone() }.into();
    let start = |revision, attempt| ToolStarted { revision, attempt, ..start.clone() }.into();
    for turn in [0, 2] {
        let missing = format!("turn {turn} has no tool use 0 (1 turns so far)");
        assert_eq!(denied(asked, of_turn(turn)), missing);
    }
    assert_eq!(denied(asked, start(1, 1)), "revision 1 is not the one that stands");
    assert_eq!(denied(asked, start(0, 2)), "start 2 of tool search_web is out of order");
    assert_eq!(denied(before, start(0, 1)), "start 1 of tool search_web is out of order");
    assert_eq!(denied(&table.log, start(0, 2)), "tool search_web has answered already");
    let elsewhere = ToolAnswered { revision: 1, ..answer };
    assert_eq!(denied(before, elsewhere.into()), "revision 1 is not the one that stands");
    let why = |debate: &mut Debate<Roundtable>| debate.apply(answered.at, &answered.event).unwrap_err().why;
    assert_eq!(why(&mut table.debate), "tool search_web has answered already");
    let mut not_started = Debate::replay(&before[..before.len() - 1]).unwrap();
    assert_eq!(why(&mut not_started), "tool search_web was never started");
}

#[test]
fn k15_an_answer_that_is_another_uses_was_given_and_a_turn_begins_when_tools_have_answered() {
    let mut table = Table::open("expert-panel", &json!({}));
    table.asks("ada", &[CLAIM, CLAIM, "{}"]);
    table.begins("ada/0");
    table.finishes("ada/0", true, "found");
    assert_eq!(table.begins("ada/1"), ["tool_answered"]);
    let first = table.log.iter().find_map(|recorded| match &recorded.event {
        Event::Kernel(KernelEvent::CallStarted(started)) => Some(started.clone()),
        Event::Opened(_) | Event::Kernel(_) | Event::Fact(_) => None,
    });
    let next = CallStarted { turn: 2, ..first.unwrap() };
    let why = |debate: &Debate<Roundtable>, event: KernelEvent| {
        debate.clone().apply(START, &Event::Kernel(event)).unwrap_err().why
    };
    assert_eq!(why(&table.debate, next.into()), "tools of the turn before turn 2 have not answered");

    table.asks("bo", &[CLAIM]);
    assert_eq!(table.begins("bo/0"), ["tool_answered"]);
    let (last, before) = table.log.split_last().unwrap();
    let Event::Kernel(KernelEvent::ToolAnswered(answer)) = &last.event else { panic!("{last:?}") };
    let debate = Debate::replay(before).unwrap();
    for (call, revision, turn, index) in [
        ("respond/1/cy", 0, 1, 0),
        ("respond/1/bo", 0, 1, 0),
        ("respond/1/ada", 1, 1, 0),
        ("respond/1/ada", 0, 2, 0),
        // The second one's answer is the first one's, the third has none, and there is no fourth.
        ("respond/1/ada", 0, 1, 1),
        ("respond/1/ada", 0, 1, 2),
        ("respond/1/ada", 0, 1, 3),
    ] {
        let reused = Some(ToolRef { call: call.parse().unwrap(), revision, turn, index });
        let denied =
            format!("tool use {index} of turn {turn} of {call}, revision {revision}, has no such answer");
        assert_eq!(why(&debate, ToolAnswered { reused, ..answer.clone() }.into()), denied);
    }
    let denied = "tool use 0 of turn 1 of respond/1/ada, revision 0, has no such answer";
    assert_eq!(why(&debate, ToolAnswered { ok: false, ..answer.clone() }.into()), denied);
    let other_tool = before.iter().cloned().map(|mut recorded| {
        if let Event::Kernel(KernelEvent::TurnAnswered(turn)) = &mut recorded.event
            && turn.attempt.call == answer.call
        {
            turn.tools[0].tool = Tool::FactCheck.as_str().to_owned();
        }
        recorded
    });
    let debate = Debate::replay(&other_tool.collect::<Vec<_>>()).unwrap();
    assert_eq!(why(&debate, answer.clone().into()), denied);
}

#[test]
fn t8_sequential_modes_can_do_without_shared_results() {
    for (sequential, expected) in
        [(json!({}), "tool_answered"), (json!({"cacheToolResults": false}), "tool_started")]
    {
        let mut table = Table::open("adversarial", &sequential);
        table.asks("ada", &[CLAIM]);
        table.begins("ada/0");
        table.finishes("ada/0", true, "found");
        table.answers("ada", &[]);
        table.asks("bo", &[CLAIM]);
        assert_eq!(table.begins("bo/0"), [expected], "{sequential}");
    }
}

#[test]
fn k12_tools_are_named_as_they_are_and_once() {
    let refused = |tools: Value| {
        let request = json!({"format": "roundtable", "topic": "Why?", "agents": ["a", "b"], "tools": tools});
        accept(&request.to_string()).unwrap_err().to_string()
    };
    assert!(refused(json!(["read_file"])).contains("tools[0]"), "{}", refused(json!(["read_file"])));
    assert!(
        refused(json!(["fact_check", "fact_check"])).contains("tools: names \"fact_check\" more than once")
    );
}
