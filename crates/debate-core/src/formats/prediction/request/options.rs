//! What a prediction request says beyond the contract, in its field `options`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::call::Call;
use super::super::config::{Dates, Persona, Preset, ROLES, Rubric, RubricBand, Schedule};
use super::super::preset::INPUT_TOKENS;
use super::closing_tokens;
use crate::id::{Role, Timestamp};
use crate::measures::pooling::{PoolSettings, Pooling};
use crate::measures::scoring::default_weight;
use crate::models::ModelPlan;
use crate::request::limits::AskedLimits;
use crate::request::sizes::{
    CRITERIA_MAX, LABEL_CHARS_MAX, LEANING_CHARS_MAX, NAME_CHARS_MAX, PARTICIPANTS_MAX, PERSONA_CHARS_MAX,
    RUBRIC_BANDS_MAX, RUBRIC_CHARS_MAX, WEIGHT_MAX,
};
use crate::request::{Field, Fields, models};

/// The options of one request. What was refused is left out; the complaints tell.
#[derive(Debug)]
pub(super) struct Options<'a> {
    pub(super) personas: Vec<Persona>,
    pub(super) rubrics: Vec<Rubric>,
    pub(super) seed: Option<u64>,
    pub(super) pooling: Pooling,
    pub(super) pool_settings: PoolSettings,
    pub(super) judge_passes: u32,
    pub(super) schedule: Schedule,
    pub(super) dates: Dates,
    pub(super) preset: Option<Preset>,
    pub(super) input_tokens: BTreeMap<String, u32>,
    pub(super) limits: AskedLimits,
    weights: Vec<(&'a str, f64)>,
    fields: Fields<'a>,
}

impl<'a> Options<'a> {
    /// Reads the options; absent ones are the defaults.
    pub(super) fn read(field: &Field<'a>) -> Self {
        let fields = field.object(&[
            "personas",
            "weights",
            "rubrics",
            "seed",
            "pooling",
            "extremising_factor",
            "trimmed_share",
            "judge_passes",
            "models",
            "effort",
            "output_tokens",
            "schedule",
            "as_of",
            "closes_at",
            "resolves_at",
            "preset",
            "input_tokens",
            "language",
            "limits",
        ]);
        let preset = preset(&fields.field("preset"));
        let input_tokens = input_tokens(&fields.field("input_tokens"));
        let prompts = preset.unwrap_or(Preset::Contract).input_tokens(&input_tokens);
        Self {
            personas: personas(&fields.field("personas")),
            rubrics: rubrics(&fields.field("rubrics")),
            seed: fields.field("seed").whole(0..=u64::MAX),
            pooling: pooling(&fields.field("pooling")),
            pool_settings: pool_settings(&fields),
            judge_passes: if fields.field("judge_passes").whole(1..=2) == Some(2) { 2 } else { 1 },
            schedule: schedule(&fields.field("schedule")),
            dates: dates(&fields),
            preset,
            input_tokens,
            limits: AskedLimits::read(&fields.field("limits"), closing_tokens(prompts)),
            weights: weights(&fields.field("weights")),
            fields,
        }
    }

    /// Returns the models that the request names.
    pub(super) fn models(&self, roles: &[Role]) -> ModelPlan {
        let is_role = |name: &str| roles.iter().any(|role| role.as_str() == name);
        let mut plan = models::read(&self.fields.field("models"), &Call::KINDS, is_role, "roles");
        models::read_asking(&mut plan, &self.fields, &Call::KINDS, is_role, "roles");
        plan
    }

    /// Returns whether a role has words of its own here.
    pub(super) fn has_persona(&self, role: &str) -> bool {
        self.personas.iter().any(|persona| persona.role.as_str() == role)
    }

    /// Returns the weight that the request gives a criterion.
    pub(super) fn weight(&self, criterion: &str) -> Option<f64> {
        self.weights.iter().find(|(name, _)| *name == criterion).map(|(_, weight)| *weight)
    }

    /// Returns whether a criterion that the contract does not know has all that it needs (rule P5).
    pub(super) fn defines_criterion(&self, criterion: &str) -> bool {
        self.weight(criterion).is_some() && self.rubrics.iter().any(|rubric| rubric.criterion == criterion)
    }

    /// Notes personas of roles that are not in the debate.
    pub(super) fn check_roles(&self, roles: &[Role]) {
        for (name, entry) in self.fields.field("personas").known_entries(PARTICIPANTS_MAX) {
            if !roles.iter().any(|role| role.as_str() == name) {
                entry.refuse(format_args!("{name:?} is not one of the roles"));
            }
        }
    }

    /// Notes weights and rubrics of criteria that are not scored.
    pub(super) fn check_criteria(&self, criteria: &[&str]) {
        for name in ["weights", "rubrics"] {
            for (criterion, entry) in self.fields.field(name).known_entries(CRITERIA_MAX) {
                if !criteria.contains(&criterion) {
                    entry.refuse(format_args!("{criterion:?} is not one of the scoring criteria"));
                }
            }
        }
    }
}

/// Reads the moments that the question depends on, in the order in which they come (rule K19).
fn dates(fields: &Fields<'_>) -> Dates {
    let [as_of, closes_at, resolves_at] =
        ["as_of", "closes_at", "resolves_at"].map(|name| fields.field(name).moment());
    let in_order = |name: &str, at: Option<Timestamp>, before: (&str, Option<Timestamp>)| {
        if let (Some(at), (other, Some(earliest))) = (at, before)
            && at < earliest
        {
            fields.field(name).refuse(format_args!("{at} is before {other}, {earliest}"));
        }
    };
    in_order("closes_at", closes_at, ("as_of", as_of));
    in_order("resolves_at", resolves_at, ("closes_at", closes_at));
    in_order("resolves_at", resolves_at, ("as_of", as_of.filter(|_| closes_at.is_none())));
    Dates { as_of, closes_at, resolves_at }
}

fn preset(field: &Field<'_>) -> Option<Preset> {
    let name = field.text(LABEL_CHARS_MAX)?;
    let preset = Preset::named(name);
    if preset.is_none() {
        field.refuse(format_args!("must be one of {}", Preset::ALL.map(Preset::as_str).join(", ")));
    }
    preset
}

fn input_tokens(field: &Field<'_>) -> BTreeMap<String, u32> {
    let own = field.object(&Call::KINDS);
    let tokens =
        |kind: &str| own.field(kind).whole(INPUT_TOKENS).and_then(|tokens| u32::try_from(tokens).ok());
    Call::KINDS.into_iter().filter_map(|kind| Some((kind.to_owned(), tokens(kind)?))).collect()
}

/// Reads personas by role, written as in the contract's table of system prompts.
fn personas(field: &Field<'_>) -> Vec<Persona> {
    let mut personas = Vec::new();
    for (role, entry) in field.entries(PARTICIPANTS_MAX) {
        entry.check_name(role);
        let persona = entry.object(&["system_prompt", "bias_direction", "evidence_preference"]);
        let words = persona.required("system_prompt").words(PERSONA_CHARS_MAX).unwrap_or_default();
        personas.push(Persona {
            role: role.into(),
            system_prompt: words.to_owned(),
            bias_direction: persona.field("bias_direction").text_or_empty(LEANING_CHARS_MAX),
            evidence_preference: persona.field("evidence_preference").text_or_empty(LEANING_CHARS_MAX),
        });
    }
    let place = |persona: &Persona| ROLES.iter().position(|role| *role == persona.role.as_str());
    personas.sort_by_key(|persona| (place(persona).unwrap_or(ROLES.len()), persona.role.clone()));
    personas
}

fn weights<'a>(field: &Field<'a>) -> Vec<(&'a str, f64)> {
    let entries = field.entries(CRITERIA_MAX).into_iter();
    let positive = (std::ops::Bound::Excluded(0.0), std::ops::Bound::Included(WEIGHT_MAX));
    let weight = |(name, entry): (&'a str, Field<'a>)| entry.number(positive).map(|weight| (name, weight));
    entries.filter_map(weight).collect()
}

/// Reads rubrics of criteria that the contract does not know; bands are ordered by their range.
fn rubrics(field: &Field<'_>) -> Vec<Rubric> {
    let mut rubrics = Vec::new();
    for (criterion, entry) in field.entries(CRITERIA_MAX) {
        if default_weight(criterion).is_some() {
            entry.refuse("is the contract's own criterion and has its rubric");
        }
        entry.check_name(criterion);
        let bands = entry.object(&["bands"]).required("bands");
        let mut read: Vec<RubricBand> = Vec::new();
        for (range, meaning) in bands.entries(RUBRIC_BANDS_MAX) {
            if range.trim().is_empty() || range.chars().count() > NAME_CHARS_MAX {
                meaning.refuse(format_args!("a range has 1 to {NAME_CHARS_MAX} characters, such as 0.0-0.3"));
            }
            let meaning = meaning.words(RUBRIC_CHARS_MAX).unwrap_or_default().to_owned();
            read.push(RubricBand { range: range.to_owned(), meaning });
        }
        if read.is_empty() && matches!(bands.value(), Some(Value::Object(given)) if given.is_empty()) {
            bands.refuse("must have at least one band");
        }
        read.sort_by(|one, other| one.range.cmp(&other.range));
        rubrics.push(Rubric { criterion: criterion.to_owned(), bands: read });
    }
    rubrics.sort_by(|one, other| one.criterion.cmp(&other.criterion));
    rubrics
}

fn pooling(field: &Field<'_>) -> Pooling {
    match field.text(LABEL_CHARS_MAX) {
        None | Some("linear") => Pooling::Linear,
        Some("log_odds") => Pooling::LogOdds,
        Some("extremised") => Pooling::Extremised,
        Some("trimmed") => Pooling::Trimmed,
        Some(_) => {
            field.refuse("must be one of linear, log_odds, extremised, trimmed");
            Pooling::Linear
        }
    }
}

fn schedule(field: &Field<'_>) -> Schedule {
    match field.text(LABEL_CHARS_MAX) {
        None | Some("pipelined") => Schedule::Pipelined,
        Some("strict") => Schedule::Strict,
        Some(_) => {
            field.refuse("must be one of pipelined, strict");
            Schedule::Pipelined
        }
    }
}

fn pool_settings(fields: &Fields<'_>) -> PoolSettings {
    let defaults = PoolSettings::default();
    let positive = (std::ops::Bound::Excluded(0.0), std::ops::Bound::Included(10.0));
    let factor = fields.field("extremising_factor").number(positive);
    let share = fields.field("trimmed_share").number(0.0..0.5);
    PoolSettings::new(
        factor.unwrap_or(defaults.extremising_factor()),
        share.unwrap_or(defaults.trimmed_share()),
    )
    .unwrap_or(defaults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::accept::{AcceptedRequest, accept};
    use serde_json::json;

    #[test]
    fn k19_dates_are_moments_or_days_in_their_order() {
        let request = |options: &Value| {
            let outcomes = json!([{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]);
            let context = json!({"task": {"question": "Will it rain?"}, "outcomes": outcomes});
            accept(&json!({"task_id": "t-1", "prediction_context": context, "options": options}).to_string())
        };
        let dates = |options: Value| match request(&options).unwrap() {
            AcceptedRequest::Prediction(accepted) => accepted.config.dates,
            other => panic!("{other:?}"),
        };
        let refused = |options: Value| -> Vec<String> {
            request(&options).unwrap_err().0.iter().map(ToString::to_string).collect()
        };
        assert_eq!(dates(json!({})), Dates::default());
        let given = dates(
            json!({"as_of": "2026-11-21", "closes_at": "2026-11-21T00:00:00Z", "resolves_at": "2026-12-01"}),
        );
        let moment = |text: &str| text.parse().ok();
        let (as_of, closes_at) = (moment("2026-11-21"), moment("2026-11-21"));
        assert_eq!(given, Dates { as_of, closes_at, resolves_at: moment("2026-12-01") });
        assert_eq!(
            refused(json!({"as_of": "2027-01-01", "closes_at": "2026-12-31", "resolves_at": "2026-12-30"})),
            [
                "options.closes_at: 2026-12-31T00:00:00.000Z is before as_of, 2027-01-01T00:00:00.000Z",
                "options.resolves_at: 2026-12-30T00:00:00.000Z is before closes_at, 2026-12-31T00:00:00.000Z",
            ]
        );
        assert_eq!(
            refused(json!({"as_of": "2026-11-21", "resolves_at": "2026-11-20"})),
            ["options.resolves_at: 2026-11-20T00:00:00.000Z is before as_of, 2026-11-21T00:00:00.000Z"]
        );
        assert_eq!(
            refused(json!({"as_of": "yesterday"})),
            [
                "options.as_of: \"yesterday\" is not a moment such as 2026-11-21T23:17:00Z, nor a day such as 2026-11-21",
            ]
        );
    }
}
