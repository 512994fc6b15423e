//! What the page of one debate shows at one event: the result as it stood, what it stands on, who speaks.

use debate_core::event::{AttemptRef, Cancelled, Forked, StopRuleFired};
use debate_core::format::Format as _;
use debate_core::formats::any::{AnyDebate, AnyReplayError};
use debate_core::formats::prediction::Prediction;
use debate_core::id::{Seq, Timestamp};
use debate_core::measures::distribution::Distribution;
use debate_core::prose::Texts;
use debate_core::record::Body as _;
use debate_core::spend::Spend;
use debate_core::stop::Completeness;
use serde::Serialize;
use serde_json::Value;

use crate::decision::Decision;
use crate::log::Log;
use crate::said::{Said, said};
use crate::wording::{asked, spent, stopped};

/// One debate as its page shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DebatePage {
    /// Which debate.
    pub debate_id: String,
    /// The format's name.
    pub format: String,
    /// The question or topic; null where it was redacted.
    pub title: Option<String>,
    /// The event of the debate's own stream that the page stands at.
    pub seq: u64,
    /// When that was.
    pub at: String,
    /// That event's hash.
    pub hash: String,
    /// The last event there is.
    pub head_seq: u64,
    /// The state after it, as `state` below.
    pub head_state: &'static str,
    /// How many events are shared with parents; 0 unless it is a fork.
    pub inherited: usize,
    /// `running`, `paused` or `concluded`.
    pub state: &'static str,
    /// The phase that is open, with its number.
    pub phase: Option<PhaseShown>,
    /// How whole the outcome is, or were the debate to conclude now (rule K6).
    pub completeness: Completeness,
    /// What is missing, in words.
    pub missing: Vec<String>,
    /// Why it stopped, or is stopping (rule K7).
    pub stop: Option<StopShown>,
    /// What who ended it said about it.
    pub cancelled_because: Option<String>,
    /// When the debate was opened.
    pub opened_at: String,
    /// When time is up; none where there is no deadline.
    pub deadline_at: Option<String>,
    /// When the outcome stood.
    pub concluded_at: Option<String>,
    /// What happened in the world, once known (rule K16).
    pub resolved: Option<ResolvedShown>,
    /// What it was forked from (rule K14).
    pub forked_from: Option<Origin>,
    /// Requests that a debate in which nothing goes wrong sends.
    pub calls_expected: u64,
    /// What was spent (rule K8).
    pub spend: Spend,
    /// The same in words: tokens and cost.
    pub spent: String,
    /// The models asked so far.
    pub models: Vec<String>,
    /// Those of them that have no price.
    pub unpriced_models: Vec<String>,
    /// The calls whose answer was taken from a reply that its limit cut, in words (rule K18).
    pub cut: Vec<String>,
    /// What prompts did not show whole, in a line (rule K20).
    pub parts_cut: Option<String>,
    /// Whether any reply came from a simulated model.
    pub simulated: bool,
    /// Whether words of the debate were deleted.
    pub redacted: bool,
    /// How sure the debate is, where the format has such a number.
    pub confidence: Option<f64>,
    /// The attempts that are under way.
    pub speaking: Vec<AttemptRef>,
    /// The rules in force.
    pub rules: Value,
    /// The subject in people's words; null where it was redacted.
    pub brief: Option<Value>,
    /// The result as it stands.
    pub result: Value,
    /// What it came to, in a few lines.
    pub decision: Decision,
    /// What was said, in order, of formats whose result is not laid out in a page of its own.
    pub said: Vec<Said>,
}

/// An open phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseShown {
    /// Its name.
    pub name: String,
    /// Its number, from 1.
    pub round: u32,
}

/// A rule that ended a debate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StopShown {
    /// Why it stopped, in a sentence.
    pub words: String,
    /// The rule with its numbers, as it is in the log.
    #[serde(flatten)]
    pub fired: StopRuleFired,
}

/// What happened in the world.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResolvedShown {
    /// The outcome.
    pub outcome: String,
    /// When it happened, where that is known.
    pub happened_at: Option<String>,
    /// When it was recorded.
    pub recorded_at: String,
    /// What a market had given the outcomes, in their order, where that is known.
    pub market: Option<Distribution>,
}

/// What a fork was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Its parent.
    pub debate_id: String,
    /// The last event that they share.
    pub at: u64,
    /// What was changed.
    pub change: String,
}

impl From<&Forked> for Origin {
    fn from(forked: &Forked) -> Self {
        Self { debate_id: forked.parent.to_string(), at: forked.at.0, change: forked.change.clone() }
    }
}

impl DebatePage {
    /// Computes the page of a debate as it was after the event `seq`.
    ///
    /// # Errors
    /// The log does not fold that far.
    pub fn of(log: &Log, seq: Seq) -> Result<Self, AnyReplayError> {
        let debate = log.at(seq)?;
        let events = log.until(seq);
        let last = events.last();
        let conclusion = debate.conclusion();
        let result: Value = serde_json::from_str(&debate.result_json(Texts::Shown)).unwrap_or_default();
        let is_laid_out = debate.format() == Prediction::NAME;
        let phase = debate.phase().map(|(name, round)| PhaseShown { name: name.to_owned(), round });
        let resolved = debate.resolved().map(|(resolved, at)| ResolvedShown {
            outcome: resolved.outcome.to_string(),
            happened_at: resolved.happened_at.as_ref().map(Timestamp::to_string),
            recorded_at: at.to_string(),
            market: resolved.market.clone(),
        });
        let stop = debate
            .stop()
            .map(|fired| StopShown { words: stopped(debate.format(), fired), fired: fired.clone() });
        let completeness = debate.completeness();
        let (rules, brief) = (debate.rules_json(), debate.brief_json());
        Ok(Self {
            debate_id: log.id().to_string(),
            format: debate.format().to_owned(),
            title: debate.title(),
            seq: seq.0,
            at: last.map(|event| event.at.to_string()).unwrap_or_default(),
            hash: last.map(|event| event.hash.to_string()).unwrap_or_default(),
            head_seq: log.head().0.0,
            head_state: log.state(),
            inherited: log.inherited(),
            state: debate.lifecycle().as_str(),
            phase,
            missing: missing(&completeness, debate.format()),
            completeness,
            stop,
            cancelled_because: events
                .iter()
                .rev()
                .find(|event| event.kind == Cancelled::KIND)
                .and_then(|event| serde_json::from_str(&event.prose.as_ref()?.text).ok()),
            opened_at: debate.opened_at().to_string(),
            deadline_at: debate.deadline().map(|deadline| deadline.to_string()),
            concluded_at: conclusion.map(|(_, at)| at.to_string()),
            resolved,
            forked_from: debate.forked().map(Origin::from),
            calls_expected: debate.calls_expected(),
            spend: debate.spend(),
            spent: spent(&debate.spend()),
            models: debate.models().iter().cloned().collect(),
            unpriced_models: debate.unpriced_models().iter().cloned().collect(),
            cut: debate.calls_cut().iter().map(|call| asked(&call.to_string(), debate.format())).collect(),
            parts_cut: debate.parts_cut_note(),
            simulated: debate.is_simulated(),
            redacted: debate.is_redacted(),
            confidence: debate.confidence(),
            speaking: speaking(&debate),
            decision: Decision::of(debate.format(), &result, &rules, brief.as_ref()),
            rules,
            brief,
            result,
            said: if is_laid_out { Vec::new() } else { said(events) },
        })
    }
}

/// Returns what is missing, each in words.
fn missing(completeness: &Completeness, format: &str) -> Vec<String> {
    match completeness {
        Completeness::Partial { missing, .. } => missing.iter().map(|what| asked(what, format)).collect(),
        Completeness::Full | Completeness::Void { .. } => Vec::new(),
    }
}

/// Returns the attempts that are speaking; none once the debate has concluded.
fn speaking(debate: &AnyDebate) -> Vec<AttemptRef> {
    if debate.conclusion().is_some() { Vec::new() } else { debate.open_attempts() }
}
