//! The prediction debate: personas argue over rounds about which outcome will come true, every argument is scored,
//! a judge closes (rules P1–P20).

pub mod answer;
pub mod backtest;
pub mod call;
mod changed;
mod checks;
pub(super) mod completeness;
pub mod conclude;
pub mod config;
pub mod ensemble;
pub mod fact;
pub mod forecast;
pub mod influence;
pub mod judged;
pub mod ledger;
pub mod notes;
pub mod outcome;
mod plan;
pub mod point;
mod preset;
pub(super) mod request;
pub mod scores;
pub mod state;
mod summary;
pub mod track_record;
mod visibility;
pub mod visible;

use crate::call::{CallKey, InputRef, Want};
use crate::debate::Debate;
use crate::fork::Change;
use crate::format::{Evaluation, Format, Step};
use crate::id::{OutcomeId, Timestamp};
use crate::models::Asking;
use crate::prose::{Prose, Texts};
use crate::stop::Completeness;
use answer::Answer;
use call::Call;
use config::{Brief, Config, ROUNDS_MAX};
use fact::Fact;
use outcome::DebateResult;
use state::State;
use visible::Visible;

/// The prediction debate as a [`Format`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prediction;

impl Format for Prediction {
    const NAME: &'static str = "prediction";

    type Config = Config;
    type Brief = Brief;
    type Fact = Fact;
    type State = State;
    type Visible = Visible;
    type Answer = Answer;
    type Outcome = DebateResult;

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
            (Some(Call::Argue { round, role }), Answer::Argue(answer)) => {
                checks::argument(debate, round, &role, revision, answer)?.into()
            }
            (Some(Call::Score { round, role }), Answer::Score(answer)) => {
                checks::scores(debate.config(), round, &role, revision, answer)?.into()
            }
            (Some(Call::Synthesise { round, pass }), Answer::Synthesise(answer)) => {
                checks::judgement(debate, round, pass, answer)?.into()
            }
            (_, Answer::Argue(_) | Answer::Score(_) | Answer::Synthesise(_)) => {
                return Err(format!("the reply does not answer {}", want.call));
            }
        };
        Ok(vec![fact])
    }

    fn advance(debate: &Debate<Self>) -> Option<Step<Fact>> {
        plan::advance(debate)
    }

    fn is_closing(call: &CallKey) -> bool {
        matches!(Call::of(call), Some(Call::Synthesise { .. }))
    }

    fn models<'a>(config: &'a Config, call: &CallKey) -> &'a [String] {
        let speaks = matches!(Call::of(call), Some(Call::Argue { .. }));
        config.models.of(&call.kind, speaks.then_some(&call.role))
    }

    fn asking(config: &Config, call: &CallKey) -> Asking {
        let speaks = matches!(Call::of(call), Some(Call::Argue { .. }));
        config.models.asking(&call.kind, speaks.then_some(&call.role))
    }

    fn as_of(config: &Config) -> Option<Timestamp> {
        config.dates.as_of
    }

    fn models_named(config: &Config) -> Vec<(String, String)> {
        config.models.named_in_options()
    }

    fn calls_expected(config: &Config) -> u64 {
        config.calls_expected()
    }

    fn calls(config: &Config) -> Vec<CallKey> {
        let rounds = 1..=config.rounds;
        let turns = rounds.flat_map(|round| config.roles.iter().map(move |role| (round, role)));
        let asked = turns.flat_map(|(round, role)| [call::argue(round, role), call::score(round, role)]);
        let passes = 1..=config.judge_passes;
        let judged = passes.map(|pass| Call::Synthesise { round: config.rounds, pass }.key());
        asked.chain(judged).collect()
    }

    /// Scores of arguments by criterion and their weighted mean, `composite`, all in [0, 1] (rule P5).
    fn evaluations(config: &Config, fact: &Fact) -> Vec<Evaluation> {
        let Fact::ArgumentScored(scored) = fact else { return Vec::new() };
        let judged = call::argue(scored.round, &scored.role);
        let by_criterion =
            config.criteria.iter().map(|criterion| criterion.name.as_str()).zip(&scored.scores);
        let all = by_criterion.chain([("composite", &scored.composite)]);
        let evaluation = |(name, score): (&str, &Option<f64>)| {
            score.map(|score| Evaluation { call: judged.clone(), name: name.to_owned(), score })
        };
        all.filter_map(evaluation).collect()
    }

    fn is_critical(debate: &Debate<Self>, call: &CallKey) -> bool {
        plan::is_critical(debate, call)
    }

    fn completeness(debate: &Debate<Self>) -> Completeness {
        completeness::completeness(debate)
    }

    fn outcome(debate: &Debate<Self>, texts: Texts) -> DebateResult {
        conclude::outcome(debate, texts)
    }

    fn outcomes(config: &Config) -> &[OutcomeId] {
        &config.outcomes
    }

    fn continued(config: &Config, rounds: u32) -> Option<Config> {
        let total = config.rounds.checked_add(rounds).filter(|total| *total <= ROUNDS_MAX)?;
        let mut continued = config.clone();
        continued.continued_after.push(config.rounds);
        continued.rounds = total;
        Some(continued)
    }

    fn reopen(_state: &mut State, _config: &Config, _focus: Option<&Prose<String>>) {}

    fn changed(config: &Config, change: &Change) -> Result<Config, String> {
        config.changed(change)
    }

    fn forked(state: &mut State) {
        state.forget_summaries();
    }

    fn title(brief: &Prose<Brief>) -> Option<String> {
        brief.shown().map(|brief| brief.question.clone())
    }
}
