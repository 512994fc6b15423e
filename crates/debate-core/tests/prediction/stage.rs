//! A debate played by a script: the kernel asks, the script answers or fails.

use debate_core::call::{Tokens, Usage, Want, Work};
use debate_core::command::{BeginCall, Command};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::event::{
    AttemptRef, Event, FailureKind, KernelEvent, Opened, PromptRef, ReplyFacts, ReplyProse,
};
use debate_core::format::Format;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::answer::{
    Answer, Argument, Citation, DisagreementText, InsightText, OutcomeRef, Precedent, Scores, Synthesis,
};
use debate_core::formats::prediction::call::Call;
use debate_core::formats::prediction::config::{
    Brief, Config, Criterion, OutcomeText, ROLES, RULES, Schedule,
};
use debate_core::formats::prediction::outcome::DebateResult;
use debate_core::id::{DebateId, Digest, Timestamp};
use debate_core::limits::Limits;
use debate_core::measures::pooling::{PoolSettings, Pooling};
use debate_core::measures::scoring;
use debate_core::prose::{Prose, Texts};
use uuid::Uuid;

pub(crate) type Play = Debate<Prediction>;

/// Rules of a debate of the five roles over two outcomes.
pub(crate) fn config(rounds: u32) -> Config {
    Config {
        task_id: "task-1".to_owned(),
        outcomes: vec!["yes".into(), "no".into()],
        roles: ROLES.map(Into::into).to_vec(),
        rounds,
        continued_after: Vec::new(),
        max_argument_length: 500,
        criteria: scoring::DEFAULT_CRITERIA
            .map(|(name, weight)| Criterion { name: name.to_owned(), weight })
            .to_vec(),
        judge_weight: 0.6,
        seed: 7,
        judge_reversed: false,
        pooling: Pooling::Linear,
        pool_settings: PoolSettings::default(),
        models: Default::default(),
        judge_passes: 1,
        schedule: Schedule::Strict,
        dates: Default::default(),
        preset: None,
        input_tokens: Default::default(),
        rules: RULES,
    }
}

fn brief(config: &Config) -> Brief {
    let text =
        |id: &debate_core::id::OutcomeId| OutcomeText { label: id.to_string(), description: String::new() };
    Brief {
        question: format!("Will {} happen?", config.task_id),
        task: r#"{"question":"Will it happen?"}"#.to_owned(),
        outcomes: config.outcomes.iter().map(text).collect(),
        key_variables: Vec::new(),
        simulation_summary: Default::default(),
        data_summary: Default::default(),
        personas: Vec::new(),
        rubrics: Vec::new(),
    }
}

pub(crate) fn open(config: Config) -> (Play, Vec<Event<Prediction>>) {
    open_on(config, |_| {})
}

/// Opens a debate on a brief of its own.
pub(crate) fn open_on(config: Config, change: impl FnOnce(&mut Brief)) -> (Play, Vec<Event<Prediction>>) {
    let mut brief = brief(&config);
    change(&mut brief);
    let limits = Limits::for_calls(
        config.calls_expected(),
        Tokens { input: 100_000, output: 100_000 },
        Tokens { input: 6_000, output: 2_000 },
        110_000,
    );
    let prose = Prose::new(brief);
    let opened = Opened {
        format: Prediction::NAME.to_owned(),
        debate: DebateId(Uuid::from_u128(9)),
        request_digest: Digest::default(),
        limits,
        config,
        models: None,
        prose,
    };
    let mut debate = Debate::opened(&opened, Timestamp(0));
    let events = opened.decide(Timestamp(0)).unwrap();
    for event in &events[1..] {
        debate.apply(Timestamp(0), event).unwrap();
    }
    (debate, events)
}

/// What a script says to a question: an answer, or how it fails.
pub(crate) type Line = Result<Answer, FailureKind>;

/// Plays a debate to its end and returns it with all its events.
pub(crate) fn play(config: Config, script: impl Fn(&Play, &Want) -> Line) -> (Play, Vec<Event<Prediction>>) {
    let (mut debate, mut events) = open(config);
    events.extend(play_out(&mut debate, &script));
    (debate, events)
}

/// Plays a debate on to its end and returns what happened.
pub(crate) fn play_out(debate: &mut Play, script: &impl Fn(&Play, &Want) -> Line) -> Vec<Event<Prediction>> {
    let mut events = Vec::new();
    while debate.lifecycle() != Lifecycle::Concluded {
        let work = debate.wanted_work();
        assert!(!work.is_empty(), "a running debate wants work");
        for work in work {
            events.extend(ask(debate, Timestamp(1_000), work, script));
        }
    }
    events
}

/// Plays one piece of work and returns what happened.
pub(crate) fn play_one(
    debate: &mut Play,
    work: Work,
    script: &impl Fn(&Play, &Want) -> Line,
) -> Vec<Event<Prediction>> {
    ask(debate, Timestamp(1_000), work, script)
}

fn ask(
    debate: &mut Play,
    at: Timestamp,
    work: Work,
    script: &impl Fn(&Play, &Want) -> Line,
) -> Vec<Event<Prediction>> {
    if !debate.wanted_work().contains(&work) {
        return Vec::new();
    }
    let mut all = Vec::new();
    let Work::Turn { want, turn } = work.clone() else { panic!("no tools here") };
    let begin = BeginCall {
        work,
        hedge: None,
        model: debate.config().models.default.first().map_or("scripted:test", String::as_str).to_owned(),
        prompt: PromptRef {
            version: "test@1".to_owned(),
            digest: Digest::default(),
            tokens: 100,
            ..PromptRef::default()
        },
        reserved: Tokens { input: 100, output: 100 }.into(),
        thinking: debate_core::call::Thinking::default(),
    };
    let line = script(debate, &want);
    all.extend(tell(debate, at, Command::BeginCall(begin)));
    let attempt = debate.call(&want.call).map_or(1, |call| call.attempt);
    let attempt = AttemptRef { call: want.call.clone(), revision: want.revision, attempt, turn };
    let reply = ReplyFacts {
        usage: Usage { input: Some(100), output: Some(50), cached: None, reasoning: None },
        ..ReplyFacts::default()
    };
    let command = match line {
        Ok(answer) => {
            let prose = ReplyProse { text: "raw".to_owned(), ..ReplyProse::default() };
            Command::FinishCall { attempt, reply, prose, answer }
        }
        Err(failure) => {
            Command::FailCall { attempt, failure, reply, message: "failed".to_owned(), text: None }
        }
    };
    all.extend(tell(debate, at, command));
    all
}

pub(crate) fn tell(debate: &mut Play, at: Timestamp, command: Command<Prediction>) -> Vec<Event<Prediction>> {
    let events = debate.decide(at, command).unwrap();
    for event in &events {
        debate.apply(at, event).unwrap();
    }
    events
}

/// The words that a role speaks in a round; long enough to be quoted.
pub(crate) fn words(round: u32, role: &str) -> String {
    format!("In round {round} the {role} points at the steady rise of the index since spring")
}

/// A blameless answer to any question.
pub(crate) fn blameless(debate: &Play, want: &Want) -> Answer {
    match Call::of(&want.call).unwrap() {
        Call::Argue { round, role } => Answer::Argue(argument(debate, round, role.as_str())),
        Call::Score { .. } => Answer::Score(scores(0.6)),
        Call::Synthesise { .. } => Answer::Synthesise(synthesis()),
    }
}

pub(crate) fn argument(debate: &Play, round: u32, role: &str) -> Argument {
    let yes = match role {
        "optimist" => 0.8,
        "pessimist" => 0.2,
        "contrarian" => 0.4,
        "historian" => 0.3,
        _ => 0.5,
    };
    let other = debate.config().roles.iter().map(ToString::to_string).find(|other| other != role).unwrap();
    let earlier = format!("r1.{other}");
    let precedent = |year: u32| Precedent {
        event: format!("the change of {year}"),
        date: year.to_string(),
        similarity_score: 0.5,
        outcome: "it did not happen".to_owned(),
        relevance: "the same actors".to_owned(),
    };
    Argument {
        claim: String::new(),
        argument: words(round, role),
        supports: OutcomeRef::Known(usize::from(yes < 0.5)),
        probabilities: vec![(OutcomeRef::Known(0), yes), (OutcomeRef::Known(1), 1.0 - yes)],
        confidence: 0.7,
        evidence_cited: vec!["the index".to_owned()],
        rebuts: if round > 1 { vec![other.clone()] } else { Vec::new() },
        cites: match round {
            1 => Vec::new(),
            _ => vec![Citation { point: earlier, quote: words(1, &other) }],
        },
        precedents: if role == "historian" { vec![precedent(1990), precedent(2008)] } else { Vec::new() },
    }
}

pub(crate) fn scores(each: f64) -> Scores {
    let scores = scoring::DEFAULT_CRITERIA.map(|(name, _)| (name.to_owned(), each)).to_vec();
    Scores { scores, reason: "no source for the rise".to_owned() }
}

pub(crate) fn synthesis() -> Synthesis {
    Synthesis {
        reasoning: "the base rate weighs most".to_owned(),
        probabilities: vec![(OutcomeRef::Known(0), 0.35), (OutcomeRef::Known(1), 0.65)],
        confidence: 0.8,
        disagreements: vec![DisagreementText {
            topic: "the index".to_owned(),
            positions: vec![("optimist".to_owned(), "it will rise".to_owned(), 0.9)],
            resolved: true,
        }],
        insights: vec![InsightText {
            insight: "the index lags".to_owned(),
            source_role: "contrarian".to_owned(),
            round: 2,
            impact: "high".to_owned(),
            affected_outcomes: vec![OutcomeRef::Known(0)],
        }],
    }
}

pub(crate) fn result(debate: &Play) -> DebateResult {
    Prediction::outcome(debate, Texts::Shown)
}

pub(crate) fn started(events: &[Event<Prediction>]) -> Vec<String> {
    let started = events.iter().filter_map(|event| match event {
        Event::Kernel(KernelEvent::CallStarted(started)) => Some(started.call.to_string()),
        Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
    });
    started.collect()
}
