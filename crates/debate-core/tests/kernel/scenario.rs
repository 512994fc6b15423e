//! A table that tells what happens to a debate and what is wanted then, line by line:
//!
//! ```text
//! given  started participants=ada,bo orchestrator=mo
//! when   answer initial/1/ada: Yes.
//! wants  initial/1/bo
//! ```
//!
//! `given` and `when` are followed by a command, `refused` by one that must be refused; everything else is a check.
//! After every command the stage checks what must hold always: the decided events apply to the state they were
//! decided on, and replaying the log, with its prose or without, gives the same debate.

use std::sync::Arc;

use debate_core::call::{CallKey, Cause, InputRef, Reserved, Usage, Want, Work};
use debate_core::codec::{Author, Head, decode, seal};
use debate_core::command::{BeginCall, Command, DecideError};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::{
    AttemptRef, Event, KernelEvent, Opened, PromptRef, Recorded, ReplyFacts, ReplyProse, Resolved,
};
use debate_core::format::Format;
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use debate_core::limits::Limits;
use debate_core::prose::{Prose, Texts};
use debate_core::stop::Completeness;
use uuid::Uuid;

/// When scenarios begin.
pub(crate) const START: Timestamp = Timestamp(1_000_000);

/// A format that can be put on the stage.
pub(crate) trait Cast: Format {
    /// Makes rules, subject and limits of words such as `rounds=2`.
    fn opened(words: &Words<'_>) -> (Self::Config, Self::Brief, Limits);
    /// Makes an answer of words.
    fn answer(debate: &Debate<Self>, want: &Want, words: &str) -> Self::Answer;
}

/// Words of the form `name=value`.
pub(crate) struct Words<'t>(pub(crate) &'t str);

impl<'t> Words<'t> {
    pub(crate) fn get(&self, name: &str) -> Option<&'t str> {
        let mut pairs = self.0.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    pub(crate) fn list(&self, name: &str) -> Vec<&'t str> {
        self.get(name).map(|list| list.split(',').collect()).unwrap_or_default()
    }

    fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(&self, name: &str, target: &mut T) {
        if let Some(value) = self.get(name) {
            *target = value.parse().unwrap();
        }
    }

    fn change(&self, limits: &mut Limits) {
        self.number("deadline_ms", &mut limits.deadline_ms);
        self.number("closing_ms", &mut limits.closing_ms);
        self.number("calls_max", &mut limits.calls_max);
        self.number("attempts_max", &mut limits.attempts_max);
        self.number("starts_max", &mut limits.starts_max);
        self.number("output_max", &mut limits.tokens_max.output);
        self.number("closing_output", &mut limits.closing_tokens.output);
        limits.driven_time = self.get("time") == Some("driven");
        limits.cost_micros_max = self.get("cost_max").map(|value| value.parse().unwrap());
        self.number("closing_cost", &mut limits.closing_cost_micros);
    }
}

/// A debate with its log, as the engine would have it.
pub(crate) struct Stage<F: Format> {
    pub(crate) debate: Debate<F>,
    pub(crate) log: Vec<Recorded<F>>,
    /// The lengths that the log had between appends.
    pub(crate) appends: Vec<usize>,
    now: Timestamp,
    /// Whether the model has a price: 1 millionth for each token written, none for those read.
    is_priced: bool,
}

/// Plays a table and returns the stage as it is left.
pub(crate) fn check<F: Cast>(table: &str) -> Stage<F> {
    let mut lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().and_then(|line| line.strip_prefix("given")).unwrap().trim();
    let mut stage = Stage::open(first.strip_prefix("started").unwrap());
    for line in lines {
        let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        stage.play(line, verb, rest.trim());
    }
    stage
}

impl<F: Cast> Stage<F> {
    /// Opens a debate.
    pub(crate) fn open(words: &str) -> Self {
        let words = Words(words);
        let (config, brief, mut limits) = F::opened(&words);
        words.change(&mut limits);
        let opened = Opened {
            format: F::NAME.to_owned(),
            debate: DebateId(Uuid::from_u128(7)),
            request_digest: Digest::of_text("request"),
            limits,
            config,
            models: None,
            prose: Prose::new(brief),
        };
        let debate = Debate::opened(&opened, START);
        let events = opened.decide(START).unwrap();
        let is_priced = words.get("priced") == Some("yes");
        let mut stage = Self { debate, log: Vec::new(), appends: Vec::new(), now: START, is_priced };
        stage.log.extend(events.into_iter().zip(1..).map(|(event, seq)| Recorded {
            seq: debate_core::id::Seq(seq),
            at: START,
            event,
        }));
        stage.debate = Debate::replay(&stage.log).unwrap();
        stage.appends.push(stage.log.len());
        stage
    }

    fn play(&mut self, line: &str, verb: &str, rest: &str) {
        match verb {
            "given" | "when" => {
                self.command(rest).unwrap_or_else(|error| panic!("{line}: {error}"));
                self.check_replay();
            }
            "refused" => {
                let (command, reason) = rest.rsplit_once(" because ").unwrap();
                let error = self.command(command).expect_err(line);
                assert_eq!(error.to_string(), reason, "{line}");
            }
            "wants" => assert_eq!(names(&self.debate.wanted_work()), rest, "{line}"),
            "keeps" => assert_eq!(names(&self.debate.running_work()), rest, "{line}"),
            "sees" => {
                let (key, shown) = rest.split_once(char::is_whitespace).unwrap();
                assert_eq!(sights(&F::inputs(&self.debate, &self.want(key))), shown.trim(), "{line}");
            }
            "phase" => {
                let phase = self.debate.phase().map(|(name, number)| format!("{name}/{number}"));
                assert_eq!(phase.as_deref().unwrap_or("none"), rest, "{line}");
            }
            "logged" => assert_eq!(self.last_kinds().join(" "), rest, "{line}"),
            "cause" => {
                let (key, cause) = rest.split_once(char::is_whitespace).unwrap();
                assert_eq!(self.causes(&key.parse().unwrap()), cause.trim(), "{line}");
            }
            "concluded" => {
                let (concluded, _) = self.debate.conclusion().unwrap_or_else(|| panic!("{line}: it runs"));
                let words = match &concluded.completeness {
                    Completeness::Full => "full".to_owned(),
                    Completeness::Partial { missing, .. } => format!("partial without {}", missing.join(" ")),
                    Completeness::Void { .. } => "void".to_owned(),
                };
                assert_eq!(format!("{} {words}", concluded.rule.as_str()), rest, "{line}");
            }
            "stopped" => {
                let fired = self.debate.stop().unwrap_or_else(|| panic!("{line}: it goes on"));
                let found = format!("{}, {} against {}", fired.name(), fired.statistic, fired.threshold);
                assert_eq!(found, rest, "{line}");
            }
            "cost" => {
                let found = self.debate.spend().cost.map_or_else(
                    || "unknown".to_owned(),
                    |cost| {
                        let least = if cost.complete { "" } else { " or more" };
                        format!("{}{least}, at most {}", cost.cost_micros, cost.cost_micros_bound)
                    },
                );
                assert_eq!(found, rest, "{line}");
            }
            "left_ms" => {
                let left = match self.debate.lifecycle() {
                    Lifecycle::Running => self.debate.deadline_at().since_ms(self.now),
                    Lifecycle::Paused { remaining_ms } => remaining_ms,
                    Lifecycle::Concluded => 0,
                };
                assert_eq!(left.to_string(), rest, "{line}");
            }
            _ => panic!("no such line: {line}"),
        }
    }

    /// Plays one command that must be taken.
    pub(crate) fn act(&mut self, words: &str) {
        self.command(words).unwrap_or_else(|error| panic!("{words}: {error}"));
    }

    /// Plays one command; an answer or a failure begins its call where it is not under way.
    pub(crate) fn command(&mut self, words: &str) -> Result<(), DecideError> {
        let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let (target, said) = rest.split_once(':').unwrap_or((rest, ""));
        let (target, said) = (target.trim(), said.trim());
        match name {
            "clock" => {
                self.now = self.now.plus_ms(target.parse().unwrap());
                self.decide(Command::CheckDeadline)
            }
            "begin" => self.begin(&self.want(target), false),
            "hedge" => self.begin(&self.want(target), true),
            "answer" | "fail" => {
                let want = self.want(target);
                if self.debate.call(&want.call).is_none_or(|call| call.open.is_empty()) {
                    self.begin(&want, false)?;
                }
                if name == "answer" { self.finish(&want, said) } else { self.fail(&want, said) }
            }
            "finish" => self.finish(&self.want(target), said),
            "overrun" => {
                let cost_micros = if said.is_empty() { 200 } else { said.parse().unwrap() };
                self.finish_for(&self.want(target), "", cost_micros)
            }
            "lose" => self.decide(Command::AbandonCall(self.attempt(&self.want(target)))),
            "pause" => self.decide(Command::Pause),
            "resume" => self.decide(Command::Resume),
            "idle" => {
                self.now = self.now.plus_ms(target.parse().unwrap());
                self.decide(Command::ResumeDriving)
            }
            "cancel" => self.decide(Command::Cancel { reason: "enough".to_owned() }),
            "continue" => self.decide(Command::Continue {
                rounds: target.parse().unwrap(),
                focus: (!said.is_empty()).then(|| said.trim().to_owned()),
            }),
            "resolve" => {
                let happened_at = (!said.is_empty()).then(|| Timestamp(said.parse().unwrap()));
                self.decide(Command::Resolve(Resolved { happened_at, ..Resolved::new(target.into()) }))
            }
            "redact" => self.decide(Command::Redact { seq: Seq(target.parse().unwrap()) }),
            _ => panic!("no such command: {words}"),
        }
    }

    pub(crate) fn want(&self, key: &str) -> Want {
        let call: CallKey = key.parse().unwrap();
        let wanted = self.debate.running_work();
        let wanted = wanted.iter().map(Work::want).find(|want| want.call == call);
        wanted.cloned().unwrap_or_else(|| Want { revision: self.debate.revision(&call), call })
    }

    fn attempt(&self, want: &Want) -> AttemptRef {
        let call = self.debate.call(&want.call);
        AttemptRef {
            call: want.call.clone(),
            revision: want.revision,
            attempt: call.map_or(1, |call| call.attempt),
            turn: 1,
        }
    }

    pub(crate) fn begin(&mut self, want: &Want, hedge: bool) -> Result<(), DecideError> {
        let reserved = Reserved { input: 10, output: 100, cost_micros: self.is_priced.then_some(100) };
        self.decide(Command::BeginCall(BeginCall {
            work: Work::Turn { want: want.clone(), turn: 1 },
            hedge: hedge.then_some(reserved),
            model: "simulated:1".to_owned(),
            prompt: PromptRef {
                version: "canned@1".to_owned(),
                digest: Digest::of_text(&want.call.to_string()),
                tokens: 10,
                ..PromptRef::default()
            },
            reserved,
            thinking: debate_core::call::Thinking::default(),
        }))
    }

    pub(crate) fn finish(&mut self, want: &Want, words: &str) -> Result<(), DecideError> {
        self.finish_for(want, words, 50)
    }

    fn finish_for(&mut self, want: &Want, words: &str, cost_micros: u64) -> Result<(), DecideError> {
        let answer = F::answer(&self.debate, want, words);
        self.decide(Command::FinishCall {
            attempt: self.attempt(want),
            reply: ReplyFacts { cost_micros: self.is_priced.then_some(cost_micros), ..reply() },
            prose: ReplyProse { text: format!("the reply to {}", want.call), ..ReplyProse::default() },
            answer,
        })
    }

    /// Reads a kind of failure, `timeout` unless one is given, then `begun` if the reply had started, and
    /// `usage` if the provider reported usage.
    fn fail(&mut self, want: &Want, words: &str) -> Result<(), DecideError> {
        let mut words = words.split_whitespace();
        let kind = words.next().unwrap_or("timeout");
        let words: Vec<&str> = words.collect();
        let cost_micros = self.is_priced.then_some(50);
        let reported = if words.contains(&"usage") {
            ReplyFacts { cost_micros, ..reply() }
        } else {
            ReplyFacts::default()
        };
        self.decide(Command::FailCall {
            attempt: self.attempt(want),
            failure: serde_json::from_value(kind.into()).unwrap(),
            reply: ReplyFacts { begun: words.contains(&"begun"), ..reported },
            message: "nothing came".to_owned(),
            text: None,
        })
    }

    fn decide(&mut self, command: Command<F>) -> Result<(), DecideError> {
        let events = self.debate.decide(self.now, command)?;
        for event in events {
            self.debate.apply(self.now, &event).expect("what decide returns applies cleanly");
            self.log.push(Recorded { seq: self.debate.head(), at: self.now, event });
        }
        self.appends.push(self.log.len());
        Ok(())
    }

    fn check_replay(&self) {
        let whole = Debate::replay(&self.log).unwrap();
        assert_eq!(same(&whole), same(&self.debate));
        let mut envelopes = self.envelopes();
        let read: Vec<Recorded<F>> = envelopes.iter().map(|envelope| decode(envelope).unwrap()).collect();
        assert_eq!(read, self.log);
        for envelope in &mut envelopes {
            envelope.prose = None;
        }
        let read: Vec<Recorded<F>> = envelopes.iter().map(|envelope| decode(envelope).unwrap()).collect();
        assert_eq!(same(&Debate::replay(&read).unwrap()), same(&self.debate));
    }

    /// Returns the log as it is stored.
    pub(crate) fn envelopes(&self) -> Vec<Envelope> {
        let author = Author { tenant: String::new(), actor: "engine".to_owned(), trace: None };
        let (mut head, mut sealed) = (Head::NONE, Vec::new());
        for recorded in &self.log {
            let event = std::slice::from_ref(&recorded.event);
            let stream = StreamId::from(self.debate.id());
            let one = seal(stream, head, &author, recorded.at, event, || [3; 16]);
            head = one.head();
            sealed.extend(one.into_envelopes().into_iter().map(Arc::unwrap_or_clone));
        }
        sealed
    }

    /// Returns the kinds of the events of the last append.
    fn last_kinds(&self) -> Vec<&'static str> {
        let before = self.appends.iter().rev().nth(1).copied().unwrap_or(0);
        self.log[before..].iter().map(|recorded| recorded.event.kind()).collect()
    }

    fn causes(&self, key: &CallKey) -> String {
        let starts = self.log.iter().filter_map(|recorded| match &recorded.event {
            Event::Kernel(KernelEvent::CallStarted(started)) if started.call == *key => Some(started.cause),
            Event::Opened(_) | Event::Kernel(_) | Event::Fact(_) => None,
        });
        let name = |cause: Cause| serde_json::to_value(cause).unwrap().as_str().unwrap().to_owned();
        starts.map(name).collect::<Vec<_>>().join(" ")
    }
}

fn reply() -> ReplyFacts {
    let usage = Usage { input: Some(10), output: Some(50), cached: None, reasoning: None };
    ReplyFacts { usage, latency_ms: 5, ..ReplyFacts::default() }
}

/// Returns what two folds of the same log must have in common.
fn same<F: Format>(debate: &Debate<F>) -> (u64, String, Digest, Vec<Work>, Vec<Work>) {
    let outcome = serde_json::to_string(&F::outcome(debate, Texts::Withheld)).unwrap();
    let digest = debate.outcome_digest();
    (debate.head().0, outcome, digest, debate.wanted_work(), debate.running_work())
}

fn names(work: &[Work]) -> String {
    let names: Vec<String> = work.iter().map(|work| work.want().call.to_string()).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(" ") }
}

fn sights(sights: &[InputRef]) -> String {
    let names: Vec<String> = sights.iter().map(|sight| sight.call.to_string()).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(" ") }
}
