//! How good forecasts were over many resolved debates (rule K16): a read model of their logs.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use super::Prediction;
use super::config::Preset;
use super::forecast::Forecasts;
use crate::codec::DecodeError;
use crate::debate::Debate;
use crate::envelope::Envelope;
use crate::event::CallStarted;
use crate::format::Format as _;
use crate::id::{Digest, OutcomeId, Role};
use crate::measures::bootstrap;
use crate::measures::calibration::{Bin, Calibration, Decomposition};
use crate::measures::distribution::Distribution;
use crate::measures::intervals::Interval;
use crate::measures::proper_scores::ProperScores;
use crate::record::{Body as _, decode_body};
use crate::stop::Completeness;

/// The minimum number of questions for reporting whether debating helped and what losses are made of. With
/// fewer, an interval of resampled questions is too narrow to be believed, and terms over bins are mostly
/// noise.
pub const QUESTIONS_MIN: u64 = 30;
/// What intervals are drawn with, so that equal logs have equal reports.
const SEED: u64 = 16;

/// Whose forecast it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "of", content = "role", rename_all = "snake_case")]
pub enum Forecaster {
    /// The debate's own distribution.
    Final,
    /// The pooled roles.
    Consensus,
    /// The synthesis's own.
    Judge,
    /// The mean of the blind opening.
    Blind,
    /// The blind opening, pooled as the roles' last distributions are.
    Opened,
    /// A market or a crowd, where its forecast was given.
    Market,
    /// A role's last distribution, after it heard the others.
    Role(Role),
    /// A role's blind opening: the same persona on its own.
    Opening(Role),
}

/// Which debates are counted: those of models, or those in which a program made up replies. They say nothing of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// No reply was made up.
    Real,
    /// At least one was.
    Simulated,
}

impl Source {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Real, Self::Simulated];

    /// Returns the name used on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Simulated => "simulated",
        }
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|source| source.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is neither real nor simulated"))
    }
}

/// Returns the versions of the prompts that were sent in a debate, such as `prediction/argue@1`, by its log.
///
/// # Errors
/// An event cannot be read.
pub fn prompt_versions(log: &[Envelope]) -> Result<BTreeSet<String>, DecodeError> {
    let started = log.iter().filter(|envelope| envelope.kind == CallStarted::KIND);
    let versions = started.map(|envelope| {
        let started = decode_body(envelope.version, &envelope.body, None);
        let started: CallStarted =
            started.map_err(|source| DecodeError::Record { seq: envelope.seq, source })?;
        Ok(started.prompt.version)
    });
    versions.collect()
}

/// The forecasts of resolved debates with what happened.
#[derive(Debug, Clone, Default)]
pub struct TrackRecord {
    cases: Vec<Arc<Case>>,
    left_out: u64,
}

/// One resolved debate: what was forecast, and how far that was from what happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    source: Source,
    models: String,
    prompts: BTreeSet<String>,
    setting: Setting,
    /// Whether it lacks some arguments, scores or the synthesis.
    is_partial: bool,
    question: Digest,
    /// The place of what happened.
    happened: usize,
    /// The place of the outcome of two that is counted, whatever their order.
    of_two: usize,
    /// None where the debate is void.
    forecasts: Option<BTreeMap<Forecaster, (Distribution, ProperScores)>>,
}

/// How good forecasts were. Losses: smaller is better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationReport {
    /// Which debates are counted below.
    pub source: Source,
    /// Resolved debates in which no reply was made up.
    pub real: u64,
    /// Resolved debates in which a program made up replies.
    pub simulated: u64,
    /// Resolved debates that are counted.
    pub resolved: u64,
    /// Older debates that are not counted, because no more are read.
    pub left_out: u64,
    /// Those of them that are void and forecast nothing.
    pub void: u64,
    /// Those of them that are partial: some arguments, scores or the synthesis are missing.
    pub partial: u64,
    /// Different questions among those counted.
    pub questions: u64,
    /// The minimum number of questions for reporting whether debating helped and what losses are made of.
    pub questions_min: u64,
    /// By forecaster: the debates', the consensus, the judges', the blind openings', the market's, each role's at the end
    /// and at its opening.
    pub forecasts: Vec<ForecastReport>,
    /// The debates' own forecasts against those of everybody else, in the same order.
    pub comparisons: Vec<Comparison>,
    /// What each step gained: pooling the openings, debating, the judge; the same questions in all of them.
    pub steps: Vec<Step>,
    /// The debates' own by models, prompts and rules.
    pub groups: Vec<Group>,
}

/// How good the forecasts of one forecaster were.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastReport {
    /// Whose they are.
    #[serde(flatten)]
    pub forecaster: Forecaster,
    /// How many debates have one.
    pub debates: u64,
    /// The mean Brier score over all of them.
    pub brier_mean: f64,
    /// What the Brier score is made of, over questions with two outcomes; null where these are too few.
    pub brier: Option<Decomposition>,
    /// The mean log score over all of them, in bits.
    pub log_bits_mean: f64,
    /// What the log score is made of, over questions with two outcomes; null where these are too few.
    pub log_bits: Option<Decomposition>,
    /// The probabilities by tenths, with how often they came true.
    pub calibration: Vec<Bin>,
}

/// What one step of the debates gained: the loss before it − the loss after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Which step: `pooling`, `debate` or `judge`.
    pub step: &'static str,
    /// What it gained.
    #[serde(flatten)]
    pub gain: Comparison,
}

/// The rules of a debate that make its forecast, without its question and its seed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Setting {
    /// The rules in a few words, such as `5 roles, 3 rounds, linear, judge 0.6, standard`.
    pub rules: String,
    /// The SHA-256 of all of them, personas included: equal where nothing but the question and the seed differs.
    pub digest: Digest,
}

/// What the debates gained over another forecaster, in debates that have both: its loss − theirs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The other forecaster; the blind opening makes it the uplift.
    #[serde(flatten)]
    pub over: Forecaster,
    /// How many debates have both.
    pub debates: u64,
    /// How many different questions these are about.
    pub questions: u64,
    /// The mean gain in Brier score with its 95 % interval over questions drawn anew, each with all its debates (paired
    /// bootstrap); null where there are too few.
    pub brier: Option<Interval>,
    /// The mean gain in log score, in bits, likewise.
    pub log_bits: Option<Interval>,
    /// What follows, by the Brier score.
    pub finding: Finding,
}

/// What follows from a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// There are fewer than [`QUESTIONS_MIN`] questions.
    TooFew,
    /// The whole interval is above 0.
    Better,
    /// The whole interval is below 0.
    Worse,
    /// The interval holds 0.
    Undecided,
}

/// The debates of the same models, prompts and rules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The models asked, in name order, joined by commas.
    pub models: String,
    /// The versions of the prompts, in order.
    pub prompts: Vec<String>,
    /// Their rules.
    #[serde(flatten)]
    pub setting: Setting,
    /// How many debates there are.
    pub debates: u64,
    /// How many different questions these are about.
    pub questions: u64,
    /// The mean Brier score of the debates' own distributions.
    pub brier: f64,
    /// Their mean log score, in bits.
    pub log_bits: f64,
    /// What they gained over their blind openings; null where none had one.
    pub uplift: Option<Comparison>,
}

impl Case {
    /// Reads a debate with the versions of its prompts; `None` where it is not resolved.
    #[must_use]
    pub fn of(debate: &Debate<Prediction>, prompts: BTreeSet<String>) -> Option<Self> {
        let (found, _) = debate.resolved()?;
        let happened = debate.config().outcome_index(&found.outcome)?;
        let scored = debate.scored();
        let completeness = scored.conclusion().map(|(concluded, _)| &concluded.completeness);
        let forecasts = Forecasts::of(scored).map(|forecasts| {
            let given = given(forecasts, found.market.clone()).into_iter();
            given.filter_map(|(of, forecast)| {
                let scores = ProperScores::of(&forecast, happened).ok()?;
                Some((of, (forecast, scores)))
            })
        });
        Some(Self {
            source: if debate.is_simulated() { Source::Simulated } else { Source::Real },
            models: debate.model_names(),
            prompts,
            setting: Setting::of(scored),
            is_partial: matches!(completeness, Some(Completeness::Partial { .. })),
            question: question(debate),
            happened,
            of_two: of_two(&debate.config().outcomes),
            forecasts: forecasts.map(Iterator::collect),
        })
    }

    fn loss(&self, of: &Forecaster) -> Option<&ProperScores> {
        self.forecasts.as_ref()?.get(of).map(|(_, scores)| scores)
    }
}

impl Setting {
    /// Returns the rules of a debate.
    fn of(debate: &Debate<Prediction>) -> Self {
        let config = debate.config();
        let preset = config.preset.unwrap_or(Preset::Contract);
        let rules = format!(
            "{} roles, {} rounds, {}, judge {}, {}",
            config.roles.len(),
            config.rounds,
            config.pooling.as_str(),
            config.judge_weight,
            preset.as_str()
        );
        let of_question = ["task_id", "outcomes", "seed", "dates", "models", "continued_after"];
        let mut all = serde_json::to_value(config).unwrap_or_default();
        if let Some(fields) = all.as_object_mut() {
            fields.retain(|name, _| !of_question.contains(&name.as_str()));
        }
        let personas =
            debate.brief().shown().map(|brief| serde_json::to_string(&(&brief.personas, &brief.rubrics)));
        let personas = personas.and_then(Result::ok).unwrap_or_default();
        Self { rules, digest: Digest::of_text(&format!("{all}\n{personas}")) }
    }
}

/// Returns the place of the outcome that is counted where there are two: `yes` or `true`, else the first by name.
fn of_two(outcomes: &[OutcomeId]) -> usize {
    let named =
        |outcome: &OutcomeId| ["yes", "true"].iter().any(|yes| outcome.as_str().eq_ignore_ascii_case(yes));
    let first = || (0..outcomes.len()).min_by_key(|place| outcomes[*place].as_str());
    outcomes.iter().position(named).or_else(first).unwrap_or_default()
}

/// Names a question alike in every debate about it: by its words, or by the task's id where these were redacted.
fn question(debate: &Debate<Prediction>) -> Digest {
    let config = debate.config();
    let words = Prediction::title(debate.brief());
    let words = words.map(|words| words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase());
    let outcomes: Vec<&str> = config.outcomes.iter().map(OutcomeId::as_str).collect();
    let words = words.unwrap_or_else(|| config.task_id.clone());
    Digest::of_text(&format!("{words}\n{}", outcomes.join("\n")))
}

fn given(forecasts: Forecasts, market: Option<Distribution>) -> Vec<(Forecaster, Distribution)> {
    let Forecasts { roles, openings, judge, blind, opened, consensus, last } = forecasts;
    let mut given = vec![(Forecaster::Final, last), (Forecaster::Consensus, consensus)];
    given.extend(judge.map(|judge| (Forecaster::Judge, judge)));
    given.extend(blind.map(|blind| (Forecaster::Blind, blind)));
    given.extend(opened.map(|opened| (Forecaster::Opened, opened)));
    given.extend(market.map(|market| (Forecaster::Market, market)));
    given.extend(roles.into_iter().map(|(role, given)| (Forecaster::Role(role), given)));
    given.extend(openings.into_iter().map(|(role, given)| (Forecaster::Opening(role), given)));
    given
}

impl TrackRecord {
    /// Starts without debates, of which so many are left out.
    #[must_use]
    pub fn new(left_out: u64) -> Self {
        Self { cases: Vec::new(), left_out }
    }

    /// Counts a resolved debate in.
    pub fn add(&mut self, case: Arc<Case>) {
        self.cases.push(case);
    }

    /// Returns what was counted in, summed up over debates of one source; where none is named, over those of models, or
    /// over simulated ones where there are no others. Partial debates count unless they are excluded.
    #[must_use]
    pub fn report(&self, source: Option<Source>, with_partial: bool) -> CalibrationReport {
        let count = |source: Source| self.cases.iter().filter(|case| case.source == source).count() as u64;
        let by_default = if count(Source::Real) > 0 { Source::Real } else { Source::Simulated };
        let source = source.unwrap_or(by_default);
        let is_counted = |case: &&Case| case.source == source && (with_partial || !case.is_partial);
        let all: Vec<&Case> = self.cases.iter().map(AsRef::as_ref).filter(is_counted).collect();
        let mut counts: BTreeMap<(&Forecaster, Digest), u64> = BTreeMap::new();
        let mut groups: BTreeMap<(&str, &BTreeSet<String>, &Setting), Vec<&Case>> = BTreeMap::new();
        for case in &all {
            let Some(forecasts) = &case.forecasts else { continue };
            groups.entry((&case.models, &case.prompts, &case.setting)).or_default().push(case);
            forecasts.keys().for_each(|of| *counts.entry((of, case.question)).or_default() += 1);
        }
        let mut calibrations: BTreeMap<&Forecaster, Calibration> = BTreeMap::new();
        for case in &all {
            for (of, (forecast, _)) in case.forecasts.iter().flatten() {
                // However often a question was debated, it is one question.
                let weight = 1.0 / counts.get(&(of, case.question)).map_or(1.0, |count| *count as f64);
                calibrations.entry(of).or_default().add(forecast, case.happened, case.of_two, weight);
            }
        }
        let others = calibrations.keys().filter(|forecaster| ***forecaster != Forecaster::Final);
        CalibrationReport {
            source,
            real: count(Source::Real),
            simulated: count(Source::Simulated),
            resolved: all.len() as u64,
            left_out: self.left_out,
            void: all.iter().filter(|case| case.forecasts.is_none()).count() as u64,
            partial: all.iter().filter(|case| case.is_partial).count() as u64,
            questions: questions(all.iter().copied()),
            questions_min: QUESTIONS_MIN,
            comparisons: others.filter_map(|other| compared(&all, other, &Forecaster::Final)).collect(),
            steps: STEPS.iter().filter_map(|step| stepped(&all, step)).collect(),
            forecasts: calibrations.iter().filter_map(|(of, found)| forecast(of, found, &all)).collect(),
            groups: groups
                .into_iter()
                .filter_map(|((models, prompts, setting), cases)| group((models, prompts, setting), &cases))
                .collect(),
        }
    }
}

fn questions<'c>(cases: impl Iterator<Item = &'c Case>) -> u64 {
    cases.map(|case| case.question).collect::<BTreeSet<_>>().len() as u64
}

fn forecast(of: &Forecaster, found: &Calibration, cases: &[&Case]) -> Option<ForecastReport> {
    let is_enough = |found: &Decomposition| found.questions >= QUESTIONS_MIN;
    let losses = cases.iter().filter(|case| case.loss(of).is_some());
    let ProperScores { brier, log_bits } = mean(cases, of)?;
    Some(ForecastReport {
        forecaster: of.clone(),
        debates: losses.count() as u64,
        brier_mean: brier,
        brier: found.brier().filter(is_enough),
        log_bits_mean: log_bits,
        log_bits: found.log_bits().filter(is_enough),
        calibration: found.bins(),
    })
}

fn mean(cases: &[&Case], of: &Forecaster) -> Option<ProperScores> {
    let losses: Vec<&ProperScores> = cases.iter().filter_map(|case| case.loss(of)).collect();
    let count = losses.len() as f64;
    (!losses.is_empty()).then(|| ProperScores {
        brier: losses.iter().map(|loss| loss.brier).sum::<f64>() / count,
        log_bits: losses.iter().map(|loss| loss.log_bits).sum::<f64>() / count,
    })
}

/// The steps from the blind opening to the debate's own distribution: name, before, after.
const STEPS: [(&str, Forecaster, Forecaster); 3] = [
    ("pooling", Forecaster::Blind, Forecaster::Opened),
    ("debate", Forecaster::Opened, Forecaster::Consensus),
    ("judge", Forecaster::Consensus, Forecaster::Final),
];

fn stepped(cases: &[&Case], (step, before, after): &(&'static str, Forecaster, Forecaster)) -> Option<Step> {
    compared(cases, before, after).map(|gain| Step { step, gain })
}

/// Returns what one forecaster gained over another, in debates that have both.
fn compared(cases: &[&Case], other: &Forecaster, one: &Forecaster) -> Option<Comparison> {
    let mut by_question: BTreeMap<Digest, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for case in cases {
        let (Some(last), Some(loss)) = (case.loss(one), case.loss(other)) else { continue };
        let gain = loss.uplift_of(last);
        let (brier, log_bits) = by_question.entry(case.question).or_default();
        brier.push(gain.brier);
        log_bits.push(gain.log_bits);
    }
    if by_question.is_empty() {
        return None;
    }
    let questions = by_question.len() as u64;
    let (brier, log_bits): (Vec<_>, Vec<_>) = by_question.into_values().unzip();
    let debates = brier.iter().map(Vec::len).sum::<usize>() as u64;
    let gain =
        |cases: &[Vec<f64>]| (questions >= QUESTIONS_MIN).then(|| bootstrap::mean_95(cases, SEED)).flatten();
    let (brier, log_bits) = (gain(&brier), gain(&log_bits));
    let finding = match &brier {
        None => Finding::TooFew,
        Some(gain) if gain.low > 0.0 => Finding::Better,
        Some(gain) if gain.high < 0.0 => Finding::Worse,
        Some(_) => Finding::Undecided,
    };
    Some(Comparison { over: other.clone(), debates, questions, brier, log_bits, finding })
}

fn group((models, prompts, setting): (&str, &BTreeSet<String>, &Setting), cases: &[&Case]) -> Option<Group> {
    let ProperScores { brier, log_bits } = mean(cases, &Forecaster::Final)?;
    Some(Group {
        models: models.to_owned(),
        prompts: prompts.iter().cloned().collect(),
        setting: setting.clone(),
        debates: cases.len() as u64,
        questions: questions(cases.iter().copied()),
        brier,
        log_bits,
        uplift: compared(cases, &Forecaster::Blind, &Forecaster::Final),
    })
}
