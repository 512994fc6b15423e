//! Inputs that several benches share: debates of any size, made by driving the kernel with canned answers.

use debate_core::call::{Tokens, Usage, Want, Work};
use debate_core::codec::{self, Author, Head};
use debate_core::command::{BeginCall, Command};
use debate_core::debate::Debate;
use debate_core::decide::Draft;
use debate_core::envelope::Envelope;
use debate_core::event::{AttemptRef, Event, Opened, PromptRef, ReplyFacts, ReplyProse};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::answer::{Answer, Argument, Citation, OutcomeRef, Scores, Synthesis};
use debate_core::formats::prediction::call::Call;
use debate_core::formats::prediction::config::{Brief, Config, Criterion, OutcomeText, RULES, Schedule};
use debate_core::id::{DebateId, Digest, Timestamp};
use debate_core::limits::Limits;
use debate_core::measures::pooling::{PoolSettings, Pooling};
use debate_core::measures::scoring;
use debate_core::prose::Prose;
use uuid::Uuid;

/// Words of one argument, about as long as a real one.
const WORDS: &str = "The base rate of such changes within half a year is low, and nothing in the data points to a \
    break: the last three comparable cases took between nine and fourteen months, and the actors have said they \
    will wait. The simulation gives it a fifth; I see no reason to go far above that, because the one new fact \
    since then, the change of the schedule, was known before and is priced in. What would change my mind is a \
    dated commitment by both sides, which neither has made.";

/// Returns the rules of a debate with so many roles, rounds and outcomes.
#[must_use]
pub fn config(roles: usize, rounds: u32, outcomes: usize) -> Config {
    Config {
        task_id: "bench".to_owned(),
        outcomes: (0..outcomes).map(|place| format!("outcome-{place}").as_str().into()).collect(),
        roles: (0..roles).map(|place| format!("role-{place}").as_str().into()).collect(),
        rounds,
        continued_after: Vec::new(),
        max_argument_length: 500,
        criteria: scoring::DEFAULT_CRITERIA
            .map(|(name, weight)| Criterion { name: name.to_owned(), weight })
            .to_vec(),
        judge_weight: 0.6,
        seed: 1,
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

/// Returns the events of a whole debate in which nothing goes wrong, and its state at the end.
///
/// # Panics
/// When the kernel refuses its own plan.
#[must_use]
pub fn debate(config: Config) -> (Vec<Event<Prediction>>, Debate<Prediction>) {
    debate_called(DebateId(Uuid::from_u128(1)), config)
}

/// Returns the log of a whole debate of five roles, three rounds and three outcomes, 105 events, as it is stored.
///
/// # Panics
/// When the kernel refuses its own plan.
#[must_use]
pub fn log_of(id: DebateId) -> Vec<Envelope> {
    let (events, _) = debate_called(id, config(5, 3, 3));
    envelopes(&events, id)
}

fn debate_called(id: DebateId, config: Config) -> (Vec<Event<Prediction>>, Debate<Prediction>) {
    let at = Timestamp(1_700_000_000_000);
    let brief = Brief {
        question: "Will it happen before the end of the year?".to_owned(),
        task: "{}".to_owned(),
        outcomes: config
            .outcomes
            .iter()
            .map(|id| OutcomeText { label: id.to_string(), description: String::new() })
            .collect(),
        key_variables: Vec::new(),
        simulation_summary: Default::default(),
        data_summary: Default::default(),
        personas: Vec::new(),
        rubrics: Vec::new(),
    };
    let many = Tokens { input: u64::MAX / 8, output: u64::MAX / 8 };
    let limits = Limits::for_calls(config.calls_expected(), many, Tokens::default(), 110_000);
    let opened = Opened {
        format: "prediction".to_owned(),
        debate: id,
        request_digest: Digest::default(),
        limits,
        config,
        prose: Prose::new(brief),
        models: None,
    };
    let mut state = Debate::opened(&opened, at);
    let mut events = opened.decide(at).expect("a debate opens");
    apply(&mut state, at, &events[1..]);
    while !state.wanted_work().is_empty() {
        for step in [begin, finish] {
            let mut draft = state.draft(at);
            step(&state, &mut draft);
            let decided = draft.into_events();
            apply(&mut state, at, &decided);
            events.extend(decided);
        }
    }
    (events, state)
}

/// Returns the lower quartile, the median and the upper quartile.
///
/// # Panics
/// When there are no values.
#[must_use]
pub fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|part| values[((values.len() - 1) as f64 * part).round() as usize])
}

/// Returns events as they are stored.
#[must_use]
pub fn envelopes(events: &[Event<Prediction>], debate: DebateId) -> Vec<Envelope> {
    let author = Author { tenant: String::new(), actor: "engine".to_owned(), trace: None };
    let at = Timestamp(1_700_000_000_000);
    let sealed = codec::seal(debate.into(), Head::NONE, &author, at, events, || [7; 16]);
    sealed.into_envelopes().into_iter().map(std::sync::Arc::unwrap_or_clone).collect()
}

fn apply(state: &mut Debate<Prediction>, at: Timestamp, events: &[Event<Prediction>]) {
    for event in events {
        state.apply(at, event).expect("decided events apply");
    }
}

fn begin(state: &Debate<Prediction>, draft: &mut Draft<Prediction>) {
    for work in state.wanted_work() {
        let begin = BeginCall {
            work,
            hedge: None,
            model: "scripted".to_owned(),
            prompt: PromptRef {
                version: "bench@1".to_owned(),
                digest: Digest::default(),
                tokens: 500,
                ..PromptRef::default()
            },
            reserved: Tokens { input: 500, output: 500 }.into(),
            thinking: debate_core::call::Thinking::default(),
        };
        draft.decide(Command::BeginCall(begin)).expect("wanted work begins");
    }
}

fn finish(state: &Debate<Prediction>, draft: &mut Draft<Prediction>) {
    for work in state.wanted_work() {
        let Work::Turn { want, turn } = work else { continue };
        let attempt = AttemptRef { call: want.call.clone(), revision: want.revision, attempt: 1, turn };
        let reply = ReplyFacts {
            usage: Usage { input: Some(500), output: Some(300), cached: None, reasoning: None },
            latency_ms: 1_000,
            ..ReplyFacts::default()
        };
        let prose = ReplyProse { text: WORDS.repeat(3), ..ReplyProse::default() };
        let answer = answer(state, &want);
        draft.decide(Command::FinishCall { attempt, reply, prose, answer }).expect("open calls finish");
    }
}

fn answer(state: &Debate<Prediction>, want: &Want) -> Answer {
    let outcomes = state.config().outcomes.len();
    let probabilities: Vec<(OutcomeRef, f64)> =
        (0..outcomes).map(|place| (OutcomeRef::Known(place), 1.0 / outcomes as f64)).collect();
    match Call::of(&want.call) {
        Some(Call::Argue { round, role }) => {
            let others = state.config().roles.iter().filter(|other| **other != role);
            let quote = WORDS.chars().take(60).collect::<String>();
            let cited =
                state.config().roles.first().map(|first| Citation { point: format!("r1.{first}"), quote });
            Answer::Argue(Argument {
                claim: String::new(),
                argument: WORDS.to_owned(),
                supports: OutcomeRef::Known(0),
                probabilities,
                confidence: 0.7,
                evidence_cited: vec!["three comparable cases".to_owned()],
                rebuts: others.take(2).map(ToString::to_string).collect(),
                cites: cited.into_iter().filter(|_| round > 1).collect(),
                precedents: Vec::new(),
            })
        }
        Some(Call::Score { .. }) => Answer::Score(Scores {
            scores: state.config().criteria.iter().map(|criterion| (criterion.name.clone(), 0.6)).collect(),
            reason: "sound".to_owned(),
        }),
        Some(Call::Synthesise { .. }) | None => Answer::Synthesise(Synthesis {
            reasoning: WORDS.to_owned(),
            probabilities,
            confidence: 0.7,
            disagreements: Vec::new(),
            insights: Vec::new(),
        }),
    }
}
