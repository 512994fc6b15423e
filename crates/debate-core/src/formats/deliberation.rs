//! The deliberation: experts take positions on a free topic, criticise each other, revise; an orchestrator sums up
//! (rules D1–D11).

pub mod answer;
pub mod call;
mod changed;
pub mod conclude;
pub mod config;
pub mod fact;
pub mod golden;
pub mod outcome;
mod plan;
pub mod request;
pub mod skills;
pub mod state;
mod visibility;
pub mod visible;

use crate::call::{CallKey, InputRef, Want};
use crate::debate::Debate;
use crate::fork::Change;
use crate::format::{Format, Step};
use crate::id::{OutcomeId, Timestamp};
use crate::models::Asking;
use crate::prose::{Prose, Texts};
use crate::stop::Completeness;
use answer::Answer;
use call::Call;
use config::{Brief, Config, Phase};
use fact::{ConsensusReached, ContributionMade, Fact};
use outcome::DeliberationResult;
use state::State;
use visible::Visible;

/// The deliberation as a [`Format`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deliberation;

impl Format for Deliberation {
    const NAME: &'static str = "deliberation";

    type Config = Config;
    type Brief = Brief;
    type Fact = Fact;
    type State = State;
    type Visible = Visible;
    type Answer = Answer;
    type Outcome = DeliberationResult;

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
        let (Answer::Contribution(content) | Answer::Consensus(content)) = answer;
        if content.trim().is_empty() {
            return Err("the reply says nothing".to_owned());
        }
        let content = content.clone();
        let fact = match (Call::of(&want.call), answer) {
            (Some(Call { phase: Phase::Consensus, number, .. }), Answer::Consensus(_)) => {
                ConsensusReached::of(number, want.revision, content).into()
            }
            (
                Some(Call {
                    phase: phase @ (Phase::Initial | Phase::Rebuttal | Phase::Revised),
                    number,
                    speaker,
                }),
                Answer::Contribution(_),
            ) => ContributionMade::of(phase, number, speaker, want.revision, content).into(),
            (_, Answer::Contribution(_) | Answer::Consensus(_)) => {
                return Err(format!("the reply does not answer {}", want.call));
            }
        };
        Ok(vec![fact])
    }

    fn advance(debate: &Debate<Self>) -> Option<Step<Fact>> {
        plan::advance(debate)
    }

    fn is_closing(call: &CallKey) -> bool {
        Call::of(call).is_some_and(|call| call.phase == Phase::Consensus)
    }

    fn models<'a>(config: &'a Config, call: &CallKey) -> &'a [String] {
        config.models.of(&call.kind, Some(&call.role))
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
        let phases = config.phases().iter().zip(1..).filter(|(phase, _)| **phase != Phase::Consensus);
        let spoken = phases.flat_map(|(phase, number)| {
            let participants = config.participants.iter();
            participants.map(move |speaker| call::key(*phase, number, &speaker.name))
        });
        let closing = config.consensus();
        let closing = closing.map(|(number, speaker)| call::key(Phase::Consensus, number, &speaker.name));
        spoken.chain(closing).collect()
    }

    fn is_critical(_debate: &Debate<Self>, _call: &CallKey) -> bool {
        true
    }

    fn completeness(debate: &Debate<Self>) -> Completeness {
        conclude::completeness(debate)
    }

    fn outcome(debate: &Debate<Self>, texts: Texts) -> DeliberationResult {
        conclude::outcome(debate, texts)
    }

    fn outcomes(_config: &Config) -> &[OutcomeId] {
        &[]
    }

    fn continued(_config: &Config, _rounds: u32) -> Option<Config> {
        None
    }

    fn reopen(_state: &mut State, _config: &Config, _focus: Option<&Prose<String>>) {}

    fn changed(config: &Config, change: &Change) -> Result<Config, String> {
        config.changed(change)
    }

    fn forked(_state: &mut State) {}

    fn title(brief: &Prose<Brief>) -> Option<String> {
        brief.shown().map(|brief| brief.topic.clone())
    }
}
