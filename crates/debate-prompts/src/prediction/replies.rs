//! The shapes of replies: what a model is asked to answer with, and what is read of what it answers.

use debate_core::formats::prediction::answer::{Citation, OutcomeRef, Precedent};
use debate_core::measures::distribution::REPAIRED_MAX;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::lenient::{self, Numbers, Stated};
use super::outcomes::Names;
use crate::prompts::{CUT, ParseError, Received};
use crate::reader::{self, Repair};

/// An argument as it is replied.
#[derive(Debug, Deserialize)]
pub(super) struct ArgumentReply {
    /// Private. The model writes it first so that the argument follows from it; no code reads it.
    #[serde(default, rename = "thinking", deserialize_with = "lenient::text")]
    _thinking: String,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) claim: String,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) argument: String,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) supports: String,
    #[serde(default)]
    pub(super) probabilities: Numbers,
    #[serde(default, deserialize_with = "lenient::share")]
    pub(super) confidence: Option<f64>,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub(super) evidence_cited: Vec<String>,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub(super) rebuts: Vec<String>,
    #[serde(default, deserialize_with = "lenient::items")]
    pub(super) cites: Vec<CitationReply>,
    #[serde(default, deserialize_with = "lenient::items")]
    pub(super) precedents: Vec<PrecedentReply>,
}

/// A citation as it is replied.
#[derive(Debug, Deserialize)]
pub(super) struct CitationReply {
    #[serde(default, deserialize_with = "lenient::text")]
    point: String,
    #[serde(default, deserialize_with = "lenient::text")]
    quote: String,
}

impl From<CitationReply> for Citation {
    fn from(reply: CitationReply) -> Self {
        let point = reply.point.trim().trim_matches(['<', '>', '[', ']', '(', ')', '"', '#']);
        Self { point: point.to_owned(), quote: reply.quote }
    }
}

/// A precedent as it is replied.
#[derive(Debug, Deserialize)]
pub(super) struct PrecedentReply {
    #[serde(default, deserialize_with = "lenient::text")]
    event: String,
    #[serde(default, deserialize_with = "lenient::text")]
    date: String,
    #[serde(default, deserialize_with = "lenient::text")]
    outcome: String,
    #[serde(default, deserialize_with = "lenient::text")]
    relevance: String,
    #[serde(default, deserialize_with = "lenient::share")]
    similarity_score: Option<f64>,
}

impl From<PrecedentReply> for Precedent {
    fn from(reply: PrecedentReply) -> Self {
        let PrecedentReply { event, date, outcome, relevance, similarity_score } = reply;
        Self { event, date, outcome, relevance, similarity_score: similarity_score.unwrap_or(f64::NAN) }
    }
}

/// Scores as they are replied.
#[derive(Debug, Deserialize)]
pub(super) struct ScoresReply {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) scores: Numbers,
}

/// The synthesis as it is replied.
#[derive(Debug, Deserialize)]
pub(super) struct SynthesisReply {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) reasoning: String,
    #[serde(default)]
    pub(super) probabilities: Numbers,
    #[serde(default, deserialize_with = "lenient::share")]
    pub(super) confidence: Option<f64>,
    #[serde(default, deserialize_with = "lenient::items")]
    pub(super) disagreements: Vec<DisagreementReply>,
    #[serde(default, deserialize_with = "lenient::items")]
    pub(super) insights: Vec<InsightReply>,
}

/// A disagreement as it is replied.
#[derive(Debug, Deserialize)]
pub(super) struct DisagreementReply {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) topic: String,
    #[serde(default, deserialize_with = "lenient::items")]
    pub(super) positions: Vec<PositionReply>,
    #[serde(default, deserialize_with = "lenient::flag")]
    pub(super) resolved: bool,
}

/// One side of a disagreement as it is replied.
#[derive(Debug, Deserialize)]
pub(super) struct PositionReply {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) role: String,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) stance: String,
    #[serde(default, deserialize_with = "lenient::share")]
    pub(super) strength: Option<f64>,
}

/// An insight as it is replied.
#[derive(Debug, Deserialize)]
pub(super) struct InsightReply {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) insight: String,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) source_role: String,
    #[serde(default, deserialize_with = "lenient::whole")]
    pub(super) round: u32,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(super) impact: String,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub(super) affected_outcomes: Vec<String>,
}

/// Reads a reply of a shape, with what was repaired, one word each. `keys` tell it from other objects; those that are
/// `needed` must be complete where the reply was cut (rule K18).
///
/// # Errors
/// The reply has no object that can be read, or was cut too early.
pub(crate) fn read<T: DeserializeOwned>(
    reply: Received<'_>,
    keys: &[&str],
    needed: &[&str],
) -> Result<(T, Vec<String>), ParseError> {
    let read = reader::read(reply, keys, needed);
    let (reply, repairs) = read.map_err(|error| ParseError { why: error.to_string() })?;
    Ok((reply, repairs.iter().map(word).collect()))
}

/// Returns the one word for a repair.
fn word(repair: &Repair) -> String {
    let value = serde_json::to_value(repair).unwrap_or_default();
    value.get("repair").and_then(Value::as_str).unwrap_or("repaired").to_owned()
}

/// Returns an error that names what a reply lacks, `None` where nothing is missing.
pub(crate) fn missing(fields: &[(&str, bool)], repairs: &[String]) -> Option<ParseError> {
    let missing: Vec<&str> =
        fields.iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return None;
    }
    if let (true, Some(first)) = (repairs.iter().any(|repair| repair == CUT), missing.first()) {
        return Some(ParseError {
            why: format!("the reply reached its limit before `{first}`; write a shorter one"),
        });
    }
    let cut =
        if repairs.iter().any(|repair| repair == "truncated") { "; the reply ends too early" } else { "" };
    Some(ParseError { why: format!("the reply has no usable {}{cut}", missing.join(", no ")) })
}

/// The confidence of who states none.
pub(super) const CONFIDENCE_DEFAULT: f64 = 0.5;

/// Returns the stated confidence; where it is none, or not in [0, 1], the default, which is said among the repairs.
pub(super) fn confidence(stated: Option<f64>, repairs: &mut Vec<String>) -> f64 {
    stated.filter(|stated| (0.0..=1.0).contains(stated)).unwrap_or_else(|| {
        repairs.push("confidence_missing".to_owned());
        CONFIDENCE_DEFAULT
    })
}

/// Returns the probabilities by outcome, percentages as shares; says so among the repairs (P7).
///
/// Numbers are percentages where they sum to 100 ± 5 (P29); a number with a percent sign is one in any case. Of two
/// outcomes only the first is asked for: the other has the rest.
pub(super) fn probabilities(
    stated: &Numbers,
    names: &Names<'_>,
    repairs: &mut Vec<String>,
) -> Vec<(OutcomeRef, f64)> {
    let numbers = || stated.named.iter().map(|(_, stated)| stated.number);
    let near_100 = (numbers().sum::<f64>() - 100.0).abs() <= 100.0 * REPAIRED_MAX;
    let all = near_100 && numbers().all(|number| number >= 0.0);
    let is_percent = |stated: &Stated| stated.percent || all;
    if stated.named.iter().any(|(_, stated)| is_percent(stated)) {
        repairs.push("percentages".to_owned());
    }
    if stated.listed && !stated.named.is_empty() {
        repairs.push("probabilities_as_list".to_owned());
    }
    let share = |stated: &Stated| if is_percent(stated) { stated.number / 100.0 } else { stated.number };
    let mut shares: Vec<(OutcomeRef, f64)> =
        stated.named.iter().map(|(name, stated)| (names.find(name), share(stated))).collect();
    if let ([(OutcomeRef::Known(place), share)], 2) = (&shares[..], names.len())
        && (0.0..=1.0).contains(share)
    {
        let rest = (OutcomeRef::Known(1 - place), 1.0 - share);
        shares.push(rest);
    }
    shares
}
