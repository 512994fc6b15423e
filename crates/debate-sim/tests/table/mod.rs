//! A probe on a table: commands are decided by hand, and whatever is decided goes through the codec into the fold.

use debate_core::call::{Cause, Reserved, Tokens, Usage, Work};
use debate_core::codec::{self, Author, Head};
use debate_core::command::{BeginCall, Command, DecideError};
use debate_core::debate::Debate;
use debate_core::envelope::StreamId;
use debate_core::event::{
    AttemptRef, Event, FailureKind, KernelEvent, Opened, PromptRef, ReplyFacts, ReplyProse, ToolUse,
};
use debate_core::format::Format;
use debate_core::id::{DebateId, Digest, OutcomeId, Role, Timestamp};
use debate_core::limits::Limits;
use debate_core::prose::Prose;
use debate_core::stop::StopRule;
use debate_sim::probe::config::{Brief, Config};
use debate_sim::probe::{Answer, Probe};

pub(crate) struct Table {
    debate: Debate<Probe>,
    head: Head,
    log: Vec<Event<Probe>>,
    at: Timestamp,
}

impl Table {
    /// Opens a probe of one round among these seats.
    pub(crate) fn of<const N: usize>(seats: [&str; N]) -> Self {
        Self::with(seats, |_| {})
    }

    pub(crate) fn with<const N: usize>(seats: [&str; N], limit: impl FnOnce(&mut Limits)) -> Self {
        let config = Config {
            seats: seats.map(Role::from).to_vec(),
            rounds: 1,
            continued_after: 0,
            patient: false,
            consensus_spread_max: 0,
            outcomes: vec![OutcomeId::from("yes")],
        };
        let plenty = Tokens { input: 1_000_000, output: 1_000_000 };
        let mut limits = Limits::for_calls(100, plenty, Tokens { input: 100, output: 100 }, 60_000);
        limit(&mut limits);
        let debate = DebateId(uuid::Uuid::from_u128(7));
        let opened = Opened::<Probe> {
            format: Probe::NAME.to_owned(),
            debate,
            request_digest: Digest::default(),
            limits,
            config,
            models: None,
            prose: Prose::new(Brief { topic: "a table".to_owned() }),
        };
        let at = Timestamp(1_000);
        let mut table = Self {
            debate: Debate::opened(&opened, at),
            head: Head::NONE,
            log: vec![Event::Opened(opened.clone())],
            at,
        };
        let events = opened.decide(at).unwrap();
        table.record(&events[1..]);
        table
    }

    /// Seals, reads back and folds.
    fn record(&mut self, events: &[Event<Probe>]) {
        let author = Author { tenant: String::new(), actor: "table".to_owned(), trace: None };
        let stream = StreamId::from(self.debate.id());
        for envelope in codec::seal(stream, self.head, &author, self.at, events, || [7; 16]).into_envelopes()
        {
            let recorded = codec::decode::<Probe>(&envelope).unwrap();
            self.debate.apply(recorded.at, &recorded.event).unwrap();
            self.head = Head { seq: envelope.seq, hash: envelope.hash };
            self.log.push(recorded.event);
        }
    }

    fn decide(&mut self, command: Command<Probe>) -> Result<(), DecideError> {
        self.at = self.at.plus_ms(10);
        let events = self.debate.decide(self.at, command)?;
        self.record(&events);
        Ok(())
    }

    /// Returns the work of a call that is wanted now.
    pub(crate) fn wanted(&self, call: &str) -> Work {
        let wanted = self.debate.wanted_work();
        let found = wanted.iter().find(|work| work.want().call.to_string() == call);
        found.unwrap_or_else(|| panic!("{call} is not wanted, but {wanted:?}")).clone()
    }

    pub(crate) fn try_begin(&mut self, call: &str, hedge: bool) -> Result<AttemptRef, DecideError> {
        let prompt = PromptRef {
            version: "probe@1".to_owned(),
            digest: Digest::of_text(call),
            tokens: 10,
            ..PromptRef::default()
        };
        let reserved = Reserved::from(Tokens { input: 10, output: 10 });
        let hedge = hedge.then_some(reserved);
        let model = "table:1".to_owned();
        let begin = BeginCall {
            work: self.wanted(call),
            hedge,
            model,
            prompt,
            reserved,
            thinking: debate_core::call::Thinking::default(),
        };
        self.decide(Command::BeginCall(begin))?;
        let key = call.parse().unwrap();
        let open = self.debate.call(&key).unwrap().open_attempts(&key);
        Ok(open.last().unwrap().clone())
    }

    pub(crate) fn begin(&mut self, call: &str) -> AttemptRef {
        self.try_begin(call, false).unwrap()
    }

    pub(crate) fn hedge(&mut self, call: &str) -> AttemptRef {
        self.try_begin(call, true).unwrap()
    }

    pub(crate) fn answer(&mut self, attempt: &AttemptRef, value: u32) -> Result<(), DecideError> {
        let answer = Answer { value, text: "word".to_owned() };
        let (reply, prose) = reply();
        self.decide(Command::FinishCall { attempt: attempt.clone(), reply, prose, answer })
    }

    pub(crate) fn fail(&mut self, attempt: &AttemptRef, failure: FailureKind) -> Result<(), DecideError> {
        let (reply, _) = reply();
        let message = "no".to_owned();
        self.decide(Command::FailCall { attempt: attempt.clone(), failure, reply, message, text: None })
    }

    pub(crate) fn ask_tool(&mut self, attempt: &AttemptRef) -> Result<(), DecideError> {
        let (reply, prose) = reply();
        let used = ToolUse { tool: "lookup".to_owned(), id: "use_0".to_owned() };
        let tools = vec![(used, "{}".to_owned())];
        self.decide(Command::AnswerTurn { attempt: attempt.clone(), reply, prose, tools })
    }

    pub(crate) fn begin_tool(&mut self, work: &Work) -> Result<(), DecideError> {
        self.decide(Command::BeginTool(work.clone()))
    }

    pub(crate) fn finish_tool(&mut self, work: &Work) -> Result<(), DecideError> {
        let result = "found".to_owned();
        self.decide(Command::FinishTool { work: work.clone(), ok: true, latency_ms: 5, result })
    }

    pub(crate) fn say_and_weigh(&mut self, role: &str, value: u32, weight: u32) {
        let say = self.begin(&format!("say/1/{role}"));
        self.answer(&say, value).unwrap();
        let weigh = self.begin(&format!("weigh/1/{role}"));
        self.answer(&weigh, weight).unwrap();
    }

    /// Holds a whole round in which nothing goes wrong.
    pub(crate) fn whole_round(&mut self, round: u32) {
        let seats = self.debate.config().seats.clone();
        for (value, role) in (40..).zip(&seats) {
            let say = self.begin(&format!("say/{round}/{role}"));
            self.answer(&say, value).unwrap();
            let weigh = self.begin(&format!("weigh/{round}/{role}"));
            self.answer(&weigh, 80).unwrap();
        }
        for kind in ["tally", "note"] {
            let attempt = self.begin(&format!("{kind}/{round}/chair"));
            self.answer(&attempt, 50).unwrap();
        }
    }

    pub(crate) fn said(&self, round: u32, role: &str) -> Option<u32> {
        self.debate.state().said(round, &Role::from(role)).map(|said| said.value)
    }

    pub(crate) fn has_failed(&self, call: &str) -> bool {
        let key = call.parse().unwrap();
        self.debate.is_failed(&key, self.debate.revision(&key))
    }

    /// Returns whether a call is shown why its previous answer was rejected.
    pub(crate) fn shows_rejection(&self, call: &str) -> bool {
        let key = call.parse().unwrap();
        self.debate.call(&key).is_some_and(|call| call.rejection.shown().is_some())
    }

    pub(crate) fn stop_rule(&self) -> Option<StopRule> {
        self.debate.stop_rule()
    }

    pub(crate) fn shadows(&self) -> Vec<StopRule> {
        self.debate.shadows().iter().map(|fired| fired.rule).collect()
    }

    pub(crate) fn causes(&self, call: &str) -> Vec<Cause> {
        let starts = self.log.iter().filter_map(|event| match event {
            Event::Kernel(KernelEvent::CallStarted(started)) => Some(started),
            Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
        });
        starts.filter(|started| started.call.to_string() == call).map(|started| started.cause).collect()
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.log.iter().filter(|event| event.kind() == kind).count()
    }

    /// Returns the kinds of events from the last of a kind on.
    pub(crate) fn kinds_since(&self, kind: &str) -> Vec<&str> {
        let last = self.log.iter().rposition(|event| event.kind() == kind).unwrap();
        self.log[last..].iter().map(Event::kind).collect()
    }
}

fn reply() -> (ReplyFacts, ReplyProse) {
    let usage = Usage { input: Some(10), output: Some(5), cached: None, reasoning: None };
    let facts = ReplyFacts { usage, latency_ms: 5, ..ReplyFacts::default() };
    (facts, ReplyProse { text: "{}".to_owned(), ..ReplyProse::default() })
}
