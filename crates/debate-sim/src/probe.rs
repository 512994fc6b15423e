//! The probe: a format for tests only. It uses tools, rejects answers, voids what was built on them, holds several
//! phases, fires a stop rule in shadow, pauses and continues, so that everything the kernel can say is said before a
//! real format needs it.
//!
//! In each round every seat says a number, every saying is weighed, a chair tallies the sayings and notes something
//! about the tally. The tally begins before the weights are known: a saying that proves too light is asked for again,
//! and voids tally and note. At the end the chair closes.

mod call;
pub mod config;
pub mod fact;
pub mod mind;
pub mod outcome;
mod plan;
pub mod prompts;
pub mod state;
mod visibility;
pub mod visible;

use debate_core::call::{CallKey, InputRef, Want};
use debate_core::debate::Debate;
use debate_core::fork::Change;
use debate_core::format::{Format, Step};
use debate_core::id::OutcomeId;
use debate_core::prose::{Prose, Texts};
use debate_core::stop::Completeness;

use self::call::Call;
use self::config::{Brief, Config, ROUNDS_MAX};
use self::fact::{Closed, Fact, Noted, Said, Tallied, Weighed};
use self::outcome::Outcome;
use self::state::State;
use self::visible::Visible;

/// The largest number that can be said; a larger one cannot be used.
pub const VALUE_MAX: u32 = 100;

/// The probe as a [`Format`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe;

/// A reply, read: a number and some words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The number.
    pub value: u32,
    /// The words.
    pub text: String,
}

impl Format for Probe {
    const NAME: &'static str = "probe";

    type Config = Config;
    type Brief = Brief;
    type Fact = Fact;
    type State = State;
    type Visible = Visible;
    type Answer = Answer;
    type Outcome = Outcome;

    fn open(_config: &Config) -> State {
        State::default()
    }

    fn apply(state: &mut State, fact: &Fact) {
        state.apply(fact);
    }

    fn void(state: &mut State, want: &Want) {
        state.void(want);
    }

    fn wanted(debate: &Debate<Self>) -> Vec<Want> {
        plan::wanted(debate)
    }

    fn inputs(debate: &Debate<Self>, want: &Want) -> Vec<InputRef> {
        visibility::inputs(debate, want)
    }

    fn visible(debate: &Debate<Self>, want: &Want) -> Visible {
        visibility::visible(debate, want)
    }

    fn facts(_debate: &Debate<Self>, want: &Want, answer: &Answer) -> Result<Vec<Fact>, String> {
        let Answer { value, text } = answer.clone();
        if value > VALUE_MAX {
            return Err(format!("{value} is more than {VALUE_MAX}"));
        }
        let (revision, prose) = (want.revision, Prose::new(text));
        let fact = match Call::of(&want.call) {
            Some(Call::Say { round, role }) => Said { round, role, revision, value, prose }.into(),
            Some(Call::Weigh { round, role }) => Weighed { round, role, revision, weight: value }.into(),
            Some(Call::Tally { round }) => Tallied { round, revision, value, prose }.into(),
            Some(Call::Note { round }) => Noted { round, revision, value, prose }.into(),
            Some(Call::Close { round }) => Closed { round, value, prose }.into(),
            None => return Err(format!("{} is not a call of this format", want.call)),
        };
        Ok(vec![fact])
    }

    fn advance(debate: &Debate<Self>) -> Option<Step<Fact>> {
        plan::advance(debate)
    }

    fn is_closing(call: &CallKey) -> bool {
        matches!(Call::of(call), Some(Call::Close { .. }))
    }

    fn models<'a>(_config: &'a Config, _call: &CallKey) -> &'a [String] {
        &[]
    }

    fn models_named(_config: &Config) -> Vec<(String, String)> {
        Vec::new()
    }

    fn calls_expected(config: &Config) -> u64 {
        config.seats.len() as u64 * u64::from(config.rounds) * 2 + 1
    }

    fn calls(config: &Config) -> Vec<CallKey> {
        let rounds = (1..=config.rounds).flat_map(|round| {
            let said =
                config.seats.iter().flat_map(move |role| [call::say(round, role), call::weigh(round, role)]);
            said.chain([Call::Tally { round }.key(), Call::Note { round }.key()])
        });
        rounds.chain([Call::Close { round: config.rounds }.key()]).collect()
    }

    fn is_critical(_debate: &Debate<Self>, _call: &CallKey) -> bool {
        true
    }

    fn completeness(debate: &Debate<Self>) -> Completeness {
        outcome::completeness(debate)
    }

    fn outcome(debate: &Debate<Self>, texts: Texts) -> Outcome {
        outcome::outcome(debate, texts)
    }

    fn outcomes(config: &Config) -> &[OutcomeId] {
        &config.outcomes
    }

    fn continued(config: &Config, rounds: u32) -> Option<Config> {
        let total = config.rounds.checked_add(rounds).filter(|total| *total <= ROUNDS_MAX)?;
        let mut continued = config.clone();
        continued.continued_after = config.rounds;
        continued.rounds = total;
        Some(continued)
    }

    fn reopen(_state: &mut State, _config: &Config, _focus: Option<&Prose<String>>) {}

    fn changed(config: &Config, change: &Change) -> Result<Config, String> {
        match change {
            Change::Nothing => Ok(config.clone()),
            Change::Model { .. } | Change::Without(_) | Change::JudgeOrder(_) | Change::Pooling(_) => {
                Err(format!("a probe is not forked with {change}"))
            }
        }
    }

    fn forked(state: &mut State) {
        state.forget_rests();
    }

    fn title(brief: &Prose<Brief>) -> Option<String> {
        brief.shown().map(|brief| brief.topic.clone())
    }
}
