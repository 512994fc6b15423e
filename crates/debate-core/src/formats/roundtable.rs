//! The roundtable: agents debate a free topic over rounds, in one of seven modes (rules T1–T10).
//!
//! All modes are run by one plan; what differs is in their [`strategy`].

pub mod agent;
pub mod answer;
pub mod bench;
pub mod call;
mod changed;
mod checks;
pub mod conclude;
pub mod config;
pub mod evidence;
mod exit;
pub mod fact;
pub mod flags;
mod judge;
pub mod markdown;
pub mod mode;
pub mod outcome;
mod plan;
pub mod request;
pub mod state;
pub mod strategy;
pub mod tool;
mod visibility;
pub mod visible;

use crate::call::{CallKey, InputRef, Want};
use crate::debate::Debate;
use crate::fork::Change;
use crate::format::{Format, Step};
use crate::id::{OutcomeId, Timestamp};
use crate::models::Asking;
use crate::prose::{Prose, Texts};
use crate::request::sizes::ROUNDTABLE_ROUNDS;
use crate::stop::Completeness;
use answer::Answer;
use call::{Call, Kind};
use config::{Brief, Config};
use fact::Fact;
use outcome::RoundtableResult;
use state::State;
use visible::Visible;

/// The roundtable as a [`Format`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roundtable;

impl Format for Roundtable {
    const NAME: &'static str = "roundtable";
    const TAKES_FOCUS: bool = true;

    type Config = Config;
    type Brief = Brief;
    type Fact = Fact;
    type State = State;
    type Visible = Visible;
    type Answer = Answer;
    type Outcome = RoundtableResult;

    fn open(config: &Config) -> State {
        State::new(config)
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

    fn facts(debate: &Debate<Self>, want: &Want, answer: &Answer) -> Result<Vec<Fact>, String> {
        let Some(call) = Call::of(&want.call) else {
            return Err(format!("the reply does not answer {}", want.call));
        };
        checks::response(debate, &call, want.revision, answer).map(|given| vec![given.into()])
    }

    fn advance(debate: &Debate<Self>) -> Option<Step<Fact>> {
        plan::advance(debate)
    }

    fn is_closing(_call: &CallKey) -> bool {
        false
    }

    fn models<'a>(config: &'a Config, call: &CallKey) -> &'a [String] {
        config.models(call)
    }

    fn asking(config: &Config, call: &CallKey) -> Asking {
        config.models.asking(&call.kind, Some(&call.role))
    }

    fn as_of(config: &Config) -> Option<Timestamp> {
        config.models.as_of
    }

    fn models_named(config: &Config) -> Vec<(String, String)> {
        config.models.named_in_options()
    }

    fn calls_expected(config: &Config) -> u64 {
        config.calls_expected()
    }

    fn calls(config: &Config) -> Vec<CallKey> {
        let rounds = 1..=config.rounds;
        let asked = rounds.flat_map(|round| {
            config.agents.iter().map(move |agent| call::key(Kind::Respond, round, &agent.name))
        });
        asked.collect()
    }

    fn shares_tools(config: &Config) -> bool {
        config.shares_tools()
    }

    fn is_critical(_debate: &Debate<Self>, _call: &CallKey) -> bool {
        true
    }

    fn completeness(debate: &Debate<Self>) -> Completeness {
        conclude::completeness(debate)
    }

    fn outcome(debate: &Debate<Self>, texts: Texts) -> RoundtableResult {
        conclude::outcome(debate, texts)
    }

    fn outcomes(_config: &Config) -> &[OutcomeId] {
        &[]
    }

    fn continued(config: &Config, rounds: u32) -> Option<Config> {
        let rounds =
            config.rounds.checked_add(rounds).filter(|all| ROUNDTABLE_ROUNDS.contains(&u64::from(*all)))?;
        Some(Config { rounds, ..config.clone() })
    }

    fn reopen(state: &mut State, config: &Config, focus: Option<&Prose<String>>) {
        state.reopen(config, focus);
    }

    fn changed(config: &Config, change: &Change) -> Result<Config, String> {
        config.changed(change)
    }

    fn forked(state: &mut State) {
        state.forget_judgements();
    }

    fn title(brief: &Prose<Brief>) -> Option<String> {
        brief.shown().map(|brief| brief.topic.clone())
    }
}
