//! The review debate: reviewers who contradict each other argue, a judge says who argued better; the caller's merge is
//! never touched (rules V1–V6).

pub mod answer;
pub mod call;
mod changed;
mod checks;
mod conclude;
pub mod config;
pub mod conflict;
pub mod fact;
pub mod findings;
pub mod judged;
pub mod outcome;
mod plan;
pub(super) mod request;
pub mod reviewer;
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
use config::{Brief, Config, Dispute};
use fact::Fact;
use outcome::ReviewResult;
use state::State;
use visible::Visible;

/// The name of the phases: each is a pair, and they are open side by side.
const PHASE: &str = "pair";

/// The review debate as a [`Format`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Review;

impl Format for Review {
    const NAME: &'static str = "review";

    type Config = Config;
    type Brief = Brief;
    type Fact = Fact;
    type State = State;
    type Visible = Visible;
    type Answer = Answer;
    type Outcome = ReviewResult;

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

    fn facts(debate: &Debate<Self>, want: &Want, answer: &Answer) -> Result<Vec<Fact>, String> {
        let revision = want.revision;
        let fact = match (Call::of(&want.call), answer) {
            (Some(Call::Speak { pair, speech, role }), Answer::Speech(text)) => {
                checks::speech(debate, pair, speech, role, revision, text)?.into()
            }
            (Some(Call::Judge { pair, pass }), Answer::Judgement(found)) => {
                checks::judgement(pair, pass, revision, found)?.into()
            }
            (_, Answer::Speech(_) | Answer::Judgement(_)) => {
                return Err(format!("the reply does not answer {}", want.call));
            }
        };
        Ok(vec![fact])
    }

    fn advance(debate: &Debate<Self>) -> Option<Step<Fact>> {
        plan::advance(debate)
    }

    fn is_closing(call: &CallKey) -> bool {
        matches!(Call::of(call), Some(Call::Judge { .. }))
    }

    fn models<'a>(config: &'a Config, call: &CallKey) -> &'a [String] {
        let speaks = matches!(Call::of(call), Some(Call::Speak { .. }));
        config.models.of(&call.kind, speaks.then_some(&call.role))
    }

    fn asking(config: &Config, call: &CallKey) -> Asking {
        let speaks = matches!(Call::of(call), Some(Call::Speak { .. }));
        config.models.asking(&call.kind, speaks.then_some(&call.role))
    }

    fn as_of(config: &Config) -> Option<Timestamp> {
        config.models.as_of
    }

    fn models_named(config: &Config) -> Vec<(String, String)> {
        request::models_named(&config.models)
    }

    fn calls_expected(config: &Config) -> u64 {
        config.calls_expected()
    }

    fn calls(config: &Config) -> Vec<CallKey> {
        let calls = config
            .numbered_pairs()
            .flat_map(|(number, pair)| call::speeches(number, pair).chain(call::passes(config, number)));
        calls.collect()
    }

    fn is_critical(_debate: &Debate<Self>, _call: &CallKey) -> bool {
        true
    }

    fn completeness(debate: &Debate<Self>) -> Completeness {
        conclude::completeness(debate)
    }

    fn outcome(debate: &Debate<Self>, texts: Texts) -> ReviewResult {
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

    fn forked(state: &mut State) {
        state.forget_failures();
    }

    fn title(brief: &Prose<Brief>) -> Option<String> {
        brief.shown().map(|brief| {
            let lines: Vec<String> = brief.disputes.iter().map(Dispute::audit_line).collect();
            if lines.is_empty() { "review without a debate".to_owned() } else { lines.join("; ") }
        })
    }
}
