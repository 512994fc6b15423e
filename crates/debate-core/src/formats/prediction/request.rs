//! The contract's `DebateRequest`, made valid once: JSON to rules, subject and limits, or all violations (rule K12).
//!
//! What goes beyond the contract stands in `options`.

mod options;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::config::{
    ARGUMENT_TOKENS_DEFAULT, Brief, Config, Criterion, DataSummary, InputTokens, KeyVariable, OutcomeText,
    Preset, Prior, ROLES, ROUNDS_DEFAULT, ROUNDS_MAX, RULES, SCORE_OUTPUT_TOKENS, SYNTHESIS_OUTPUT_TOKENS,
    Schedule, SimulationSummary, Timeframe,
};
use super::{Prediction, call, plan};
use crate::call::Tokens;
use crate::format::Format as _;
use crate::formats::accept::Accepted;
use crate::id::{Digest, OutcomeId, Role};
use crate::limits::{DEADLINE_MS_DEFAULT, Limits};
use crate::measures::pooling::JUDGE_WEIGHT;
use crate::measures::scoring::{DEFAULT_CRITERIA, default_weight};
use crate::models::ModelPlan;
use crate::request::alike;
use crate::request::sizes::{
    ARGUMENT_TOKENS, CRITERIA_MAX, KEY_VARIABLES_MAX, LABEL_CHARS_MAX, OUTCOME_ID_CHARS_MAX, OUTCOMES_MAX,
    PARTICIPANTS_MAX, QUESTION_CHARS_MAX, TASK_BYTES_MAX, TASK_ID_CHARS_MAX, TEXT_CHARS_MAX, TEXTS_MAX,
};
use crate::request::{Complaints, Field, Fields, Violations, meaning_digest, raw_member};
use options::Options;

/// The name under which results give an argument's weighted mean; no criterion may have it.
const COMPOSITE: &str = "composite";
/// What a cut question ends with.
const CUT: &str = "…";

/// Makes rules, subject and limits of a request.
///
/// `json` is the text of `request`: the task is kept as it stands there. Without a seed in the options, the seed
/// follows from what the request asks for, so that the same request gives the same debate.
///
/// # Errors
/// Everything that is wrong with the request.
pub(in crate::formats) fn accept(
    json: &str,
    request: &Value,
    complaints: Complaints,
) -> Result<(Config, Brief, Limits), Violations> {
    let known = ["format", "task_id", "prediction_context", "config", "options"];
    let fields = Fields::of_request(request, &known, &complaints);
    let context = fields.required("prediction_context").object(&[
        "task",
        "outcomes",
        "key_variables",
        "simulation_summary",
        "data_summary",
    ]);
    let rules = fields.field("config").object(&[
        "rounds",
        "roles",
        "max_argument_length",
        "scoring_criteria",
        "judge_weight",
    ]);
    let task_id = fields.required("task_id").words(TASK_ID_CHARS_MAX).unwrap_or_default().to_owned();
    let (question, task) = task(json, &context);
    let (outcomes, texts) = outcomes(&context.required("outcomes"));
    let key_variables = key_variables(&context.field("key_variables"));
    let simulation_summary = simulation_summary(&context.field("simulation_summary"), &outcomes);
    let data_summary = data_summary(&context.field("data_summary"));
    let rounds = rules.field("rounds").whole(1..=u64::from(ROUNDS_MAX)).map_or(ROUNDS_DEFAULT, small);
    let max_argument_length =
        rules.field("max_argument_length").whole(ARGUMENT_TOKENS).map_or(ARGUMENT_TOKENS_DEFAULT, small);
    let judge_weight = rules.field("judge_weight").number(0.0..=1.0).unwrap_or(JUDGE_WEIGHT);
    let options = Options::read(&fields.field("options"));
    let roles = roles(&rules.field("roles"), &options);
    let models = options.models(&roles);
    let criteria = criteria(&rules.field("scoring_criteria"), &options);
    let mut config = Config {
        task_id,
        outcomes,
        roles,
        rounds,
        continued_after: Vec::new(),
        max_argument_length,
        criteria,
        judge_weight,
        seed: options.seed.unwrap_or_default(),
        judge_reversed: false,
        pooling: options.pooling,
        pool_settings: options.pool_settings,
        models,
        judge_passes: options.judge_passes,
        schedule: options.schedule,
        dates: options.dates,
        preset: options.preset,
        input_tokens: options.input_tokens,
        rules: RULES,
    };
    let limits = options
        .limits
        .on_top_of(default_limits(&config, options.limits.deadline_ms().unwrap_or(DEADLINE_MS_DEFAULT)));
    let brief = Brief {
        question,
        task,
        outcomes: texts,
        key_variables,
        simulation_summary,
        data_summary,
        personas: options.personas,
        rubrics: options.rubrics,
    };
    if options.seed.is_none() {
        config.seed = drawn_seed(&config, &brief);
    }
    complaints.finish((config, brief, limits))
}

/// Returns the seed of a request that names none. How a debate is run does not change what is drawn for it.
fn drawn_seed(config: &Config, brief: &Brief) -> u64 {
    let meant = Config {
        schedule: Schedule::Strict,
        judge_passes: 1,
        models: ModelPlan::default(),
        preset: None,
        input_tokens: BTreeMap::new(),
        ..config.clone()
    };
    digest(&meant, brief, &default_limits(&meant, DEADLINE_MS_DEFAULT)).as_seed()
}

/// Returns the digest of what a request asks for; the spelling of its task counts for nothing (rule K11).
pub(in crate::formats) fn digest(config: &Config, brief: &Brief, limits: &Limits) -> Digest {
    let task: Value = serde_json::from_str(&brief.task).unwrap_or_default();
    let rest = Brief { task: String::new(), ..brief.clone() };
    meaning_digest(Prediction::NAME, config, &(task, rest), limits)
}

/// Returns the limits that follow from the rules: four times what a debate without faults needs at the token
/// budgets of rule P15.
fn default_limits(config: &Config, deadline_ms: u64) -> Limits {
    let arguments = config.roles.len() as u64 * u64::from(config.rounds);
    let cap = |kind: &str, own: u32| config.models.output_tokens.get(kind).copied().unwrap_or(own);
    let prompts = config.input_tokens();
    let per_argument = Tokens {
        input: u64::from(prompts.argue) + u64::from(prompts.score),
        output: u64::from(cap("argue", config.max_argument_length))
            + u64::from(cap("score", SCORE_OUTPUT_TOKENS)),
    };
    let synthesis = u64::from(cap("synthesise", SYNTHESIS_OUTPUT_TOKENS));
    let closing =
        Tokens { output: synthesis, ..closing_tokens(prompts) }.times(u64::from(config.judge_passes));
    let tokens = Tokens {
        input: arguments * per_argument.input + closing.input,
        output: arguments * per_argument.output + closing.output,
    };
    Limits::for_calls(config.calls_expected(), tokens, closing, deadline_ms)
}

/// Returns what is kept back for the synthesis (rules K8, P15).
fn closing_tokens(prompts: InputTokens) -> Tokens {
    Tokens { input: u64::from(prompts.synthesise), output: u64::from(SYNTHESIS_OUTPUT_TOKENS) }
}

impl Accepted<Prediction> {
    /// Uses `standard` where the request names neither a preset nor numbers of tokens (P15).
    pub fn default_to_standard(&mut self) {
        if self.config.preset.is_none() && self.config.input_tokens.is_empty() {
            self.take_preset(Preset::Standard);
        }
    }

    /// Sets the preset of a request that names none; limits of tokens that follow from the rules follow it.
    pub fn take_preset(&mut self, preset: Preset) {
        let deadline_ms = self.limits.deadline_ms;
        let before = default_limits(&self.config, deadline_ms);
        self.config.preset = Some(preset);
        let after = default_limits(&self.config, deadline_ms);
        let limits = &mut self.limits;
        for (limit, before, after) in [
            (&mut limits.tokens_max.input, before.tokens_max.input, after.tokens_max.input),
            (&mut limits.closing_tokens.input, before.closing_tokens.input, after.closing_tokens.input),
        ] {
            if *limit == before {
                *limit = after;
            }
        }
        self.digest = digest(&self.config, &self.brief, &self.limits);
    }
}

/// Narrows a number whose range was checked to be small.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Reads the task: the question in it, and its JSON as it stands in the request.
fn task(json: &str, context: &Fields<'_>) -> (String, String) {
    let field = context.required("task");
    let Some(value) = field.value() else {
        return (String::new(), String::new());
    };
    let raw = raw_member(json, "prediction_context", "task").unwrap_or_else(|| value.to_string());
    if raw.len() > TASK_BYTES_MAX {
        field.refuse(format_args!("has {} bytes; {TASK_BYTES_MAX} are allowed", raw.len()));
    }
    if asks_nothing(value) {
        field.refuse("asks nothing");
    }
    (question(value), raw)
}

/// Returns whether nothing stands in a task that one could debate.
fn asks_nothing(task: &Value) -> bool {
    match task {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(asks_nothing),
        Value::Object(map) => map.values().all(asks_nothing),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the question that a task puts: its `question`, `title` or `text`, or else all of it.
fn question(task: &Value) -> String {
    let spelled = match task {
        Value::String(text) => Some(text.as_str()),
        Value::Object(map) => ["question", "title", "text"].iter().find_map(|name| map.get(*name)?.as_str()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let question = spelled.map(str::trim).filter(|text| !text.is_empty());
    let question = question.map_or_else(|| task.to_string(), str::to_owned);
    if question.chars().count() <= QUESTION_CHARS_MAX {
        return question;
    }
    question.chars().take(QUESTION_CHARS_MAX - 1).chain(CUT.chars()).collect()
}

fn outcomes(list: &Field<'_>) -> (Vec<OutcomeId>, Vec<OutcomeText>) {
    let items = list.items(OUTCOMES_MAX);
    if items.is_empty() && matches!(list.value(), Some(Value::Array(given)) if given.is_empty()) {
        list.refuse("must name at least one outcome");
    }
    let (mut seen, mut labels) = (BTreeSet::new(), BTreeMap::new());
    let mut ids = Vec::with_capacity(items.len());
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        let outcome = item.object(&["id", "label", "description"]);
        let id = outcome_id(&outcome.required("id")).unwrap_or_default();
        if !id.is_empty() && !seen.insert(alike::key(id)) {
            outcome.field("id").refuse(format_args!("{id:?} is given more than once"));
        }
        let label = outcome.field("label").text_or_empty(LABEL_CHARS_MAX);
        let key = alike::key(if label.trim().is_empty() { id } else { &label });
        match labels.entry(key) {
            Entry::Vacant(place) => drop(place.insert(id)),
            Entry::Occupied(other) if other.get().is_empty() || *other.get() == id => {}
            Entry::Occupied(other) => {
                outcome.field("label").refuse(format_args!("looks like that of outcome {:?}", other.get()));
            }
        }
        ids.push(OutcomeId::new(id));
        texts.push(OutcomeText {
            label: if label.trim().is_empty() { id.to_owned() } else { label },
            description: outcome.field("description").text_or_empty(TEXT_CHARS_MAX),
        });
    }
    (ids, texts)
}

fn outcome_id<'a>(field: &Field<'a>) -> Option<&'a str> {
    let id = field.words(OUTCOME_ID_CHARS_MAX)?;
    if id.chars().any(char::is_control) {
        field.refuse("must not hold control characters");
        return None;
    }
    if id.trim() != id {
        field.refuse("must not begin or end with white space");
        return None;
    }
    Some(id)
}

fn key_variables(list: &Field<'_>) -> Vec<KeyVariable> {
    let variable = |item: &Field<'_>| {
        let variable = item.object(&["name", "category", "importance", "current_value"]);
        KeyVariable {
            name: variable.required("name").words(LABEL_CHARS_MAX).unwrap_or_default().to_owned(),
            category: variable.field("category").text_or_empty(LABEL_CHARS_MAX),
            importance: variable.field("importance").scalar(LABEL_CHARS_MAX),
            current_value: variable.field("current_value").scalar(TEXT_CHARS_MAX),
        }
    };
    list.items(KEY_VARIABLES_MAX).iter().map(variable).collect()
}

fn simulation_summary(field: &Field<'_>, outcomes: &[OutcomeId]) -> SimulationSummary {
    let summary = field.object(&["final_distribution", "key_findings"]);
    let mut seen = BTreeSet::new();
    let mut final_distribution = Vec::new();
    for item in summary.field("final_distribution").items(OUTCOMES_MAX) {
        let prior = item.object(&["outcome_id", "probability"]);
        let named = prior.required("outcome_id");
        let probability = prior.required("probability").number(0.0..=1.0).unwrap_or_default();
        let Some(id) = named.text(OUTCOME_ID_CHARS_MAX) else { continue };
        match outcomes.iter().find(|outcome| outcome.as_str() == id) {
            None => named.refuse(format_args!("{id:?} is not one of the outcomes")),
            Some(_) if !seen.insert(id) => named.refuse(format_args!("{id:?} is given more than once")),
            Some(outcome) => final_distribution.push(Prior { outcome_id: outcome.clone(), probability }),
        }
    }
    let key_findings = summary.field("key_findings").texts(TEXTS_MAX, TEXT_CHARS_MAX);
    SimulationSummary { final_distribution, key_findings }
}

fn data_summary(field: &Field<'_>) -> DataSummary {
    let summary =
        field.object(&["region", "timeframe", "economic_highlights", "sentiment_highlights", "data_gaps"]);
    let timeframe = summary.field("timeframe").object(&["start", "end"]);
    let texts = |name: &str| summary.field(name).texts(TEXTS_MAX, TEXT_CHARS_MAX);
    DataSummary {
        region: summary.field("region").text_or_empty(LABEL_CHARS_MAX),
        timeframe: Timeframe {
            start: timeframe.field("start").text_or_empty(LABEL_CHARS_MAX),
            end: timeframe.field("end").text_or_empty(LABEL_CHARS_MAX),
        },
        economic_highlights: texts("economic_highlights"),
        sentiment_highlights: texts("sentiment_highlights"),
        data_gaps: texts("data_gaps"),
    }
}

/// Reads who argues (rule P1).
fn roles(list: &Field<'_>, options: &Options<'_>) -> Vec<Role> {
    let roles: Vec<Role> = if list.value().is_none() {
        ROLES.into_iter().map(Role::from).collect()
    } else {
        named_roles(list, options)
    };
    if let Some(Value::Array(named)) = list.value() {
        // A role whose name was refused may still argue.
        let judges = usize::from(roles.iter().any(|role| role.as_str() == call::JUDGE));
        if named.len() - judges < plan::ROLES_MIN {
            let least = plan::ROLES_MIN;
            list.refuse(format_args!("must name at least {least} roles that are not the judge"));
        }
    }
    options.check_roles(&roles);
    roles
}

fn named_roles(list: &Field<'_>, options: &Options<'_>) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    for item in list.items(PARTICIPANTS_MAX) {
        let Some(name) = item.name() else { continue };
        if roles.iter().any(|role| role.as_str() == name) {
            item.refuse(format_args!("{name:?} is given more than once"));
            continue;
        }
        if !ROLES.contains(&name) && !options.has_persona(name) {
            item.refuse(format_args!(
                "{name:?} is none of {}; another role needs its persona in options.personas",
                ROLES.join(", ")
            ));
        }
        roles.push(name.into());
    }
    roles
}

/// Reads the scoring criteria with their weights (rule P5).
fn criteria(list: &Field<'_>, options: &Options<'_>) -> Vec<Criterion> {
    let names: Vec<&str> = if list.value().is_none() {
        DEFAULT_CRITERIA.iter().map(|(name, _)| *name).collect()
    } else {
        named_criteria(list, options)
    };
    options.check_criteria(&names);
    let criterion = |name: &&str| Criterion {
        name: (*name).to_owned(),
        weight: options.weight(name).or_else(|| default_weight(name)).unwrap_or_default(),
    };
    names.iter().map(criterion).collect()
}

fn named_criteria<'a>(list: &Field<'a>, options: &Options<'_>) -> Vec<&'a str> {
    let items = list.items(CRITERIA_MAX);
    if items.is_empty() && matches!(list.value(), Some(Value::Array(given)) if given.is_empty()) {
        list.refuse("must name at least one criterion");
    }
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        let Some(name) = item.name() else { continue };
        if names.contains(&name) {
            item.refuse(format_args!("{name:?} is given more than once"));
            continue;
        }
        if name == COMPOSITE {
            item.refuse("composite is the name of the weighted mean");
        } else if default_weight(name).is_none() && !options.defines_criterion(name) {
            item.refuse(format_args!(
                "{name:?} is new and needs its rubric in options.rubrics and its weight in options.weights"
            ));
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests;
