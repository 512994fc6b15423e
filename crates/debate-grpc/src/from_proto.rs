//! From wire messages to the JSON that the core reads, field by field under the same names; the one place that knows
//! requests of both sides. Nothing is checked here: what is wrong is said by the core, once for every interface.

mod roundtable;

mod review;

use std::collections::BTreeMap;

use debate_core::format::Format as _;
use debate_core::formats::any::FORMATS;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::id::Timestamp;
use debate_core::request::added::AddedRounds;
use debate_core::request::{Violation, Violations};
use debate_proto::v1;
use prost_types::value::Kind;
use serde_json::{Map, Number, Value};

use crate::refusal::Refusal;

/// Whole doubles up to here are written as whole numbers, as JSON clients do.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Returns a request as the JSON that [`debate_core::formats::accept::accept`] reads.
///
/// Whatever proto3 cannot tell from absent (empty texts, empty lists) is left out.
///
/// # Errors
/// No format was chosen.
pub fn request_json(request: v1::StartDebateRequest) -> Result<String, Violations> {
    use v1::start_debate_request::Format;
    let json = match request.format {
        Some(Format::Prediction(request)) => prediction(request),
        Some(Format::Deliberation(request)) => deliberation(request),
        Some(Format::Roundtable(request)) => roundtable::request(request),
        Some(Format::Review(request)) => review::request(request),
        Some(Format::Investigation(request)) => investigation(request),
        None => {
            let reason = format!("is required: one of {}", FORMATS.join(", "));
            return Err(Violation { field: "format".to_owned(), reason }.into());
        }
    };
    Ok(json.to_string())
}

/// Returns how many rounds are asked for, with which question.
///
/// # Errors
/// Everything that is wrong with them.
pub fn added_rounds(request: &v1::ContinueDebateRequest) -> Result<AddedRounds, Violations> {
    let asked = Object::default().text("focus", request.focus.clone());
    AddedRounds::accept(&asked.some("rounds", request.rounds.map(Value::from)).json())
}

fn prediction(request: v1::DebateRequest) -> Value {
    Object::default()
        .text("task_id", request.task_id)
        .some("prediction_context", request.prediction_context.map(context))
        .some("config", request.config.map(config))
        .some("options", request.options.map(options))
        .json()
}

fn context(context: v1::PredictionContext) -> Value {
    Object::default()
        .some("task", context.task.map(value))
        .list("outcomes", context.outcomes, |outcome| {
            Object::default()
                .text("id", outcome.id)
                .text("label", outcome.label)
                .text("description", outcome.description)
                .json()
        })
        .list("key_variables", context.key_variables, |variable| {
            Object::default()
                .text("name", variable.name)
                .text("category", variable.category)
                .some("importance", variable.importance.map(value))
                .some("current_value", variable.current_value.map(value))
                .json()
        })
        .some("simulation_summary", context.simulation_summary.map(simulation_summary))
        .some("data_summary", context.data_summary.map(data_summary))
        .json()
}

fn simulation_summary(summary: v1::SimulationSummary) -> Value {
    Object::default()
        .list("final_distribution", summary.final_distribution, |prior| {
            Object::default()
                .text("outcome_id", prior.outcome_id)
                .some("probability", Some(number(prior.probability)))
                .json()
        })
        .list("key_findings", summary.key_findings, Value::from)
        .json()
}

fn data_summary(summary: v1::DataSummary) -> Value {
    let timeframe = |timeframe: v1::Timeframe| {
        Object::default().text("start", timeframe.start).text("end", timeframe.end).json()
    };
    Object::default()
        .text("region", summary.region)
        .some("timeframe", summary.timeframe.map(timeframe))
        .list("economic_highlights", summary.economic_highlights, Value::from)
        .list("sentiment_highlights", summary.sentiment_highlights, Value::from)
        .list("data_gaps", summary.data_gaps, Value::from)
        .json()
}

fn config(config: v1::DebateConfig) -> Value {
    Object::default()
        .some("rounds", config.rounds)
        .list("roles", config.roles, Value::from)
        .some("max_argument_length", config.max_argument_length)
        .list("scoring_criteria", config.scoring_criteria, Value::from)
        .some("judge_weight", config.judge_weight.map(number))
        .json()
}

fn options(options: v1::DebateOptions) -> Value {
    let persona = |persona: v1::PersonaOption| {
        Object::default()
            .text("system_prompt", persona.system_prompt)
            .text("bias_direction", persona.bias_direction)
            .text("evidence_preference", persona.evidence_preference)
            .json()
    };
    let rubric = |rubric: v1::RubricOption| Object::default().map("bands", rubric.bands, Value::from).json();
    Object::default()
        .map("personas", options.personas, persona)
        .map("weights", options.weights, number)
        .map("rubrics", options.rubrics, rubric)
        .some("seed", options.seed)
        .some("pooling", options.pooling)
        .some("extremising_factor", options.extremising_factor.map(number))
        .some("trimmed_share", options.trimmed_share.map(number))
        .some("judge_passes", options.judge_passes)
        .some("models", options.models.map(models))
        .some("schedule", options.schedule)
        .some("as_of", options.as_of)
        .some("closes_at", options.closes_at)
        .some("resolves_at", options.resolves_at)
        .some("preset", options.preset)
        .map("input_tokens", options.input_tokens, Value::from)
        .some("language", options.language)
        .some("limits", options.limits.map(limits))
        .asking(options.effort, options.output_tokens)
        .json()
}

fn models(models: v1::ModelsOption) -> Value {
    Object::default()
        .list("default", models.default, Value::from)
        .list("argue", models.argue, Value::from)
        .list("score", models.score, Value::from)
        .list("synthesise", models.synthesise, Value::from)
        .map("roles", models.roles, list_value)
        .json()
}

fn limits(limits: v1::LimitsOption) -> Value {
    Object::default()
        .some("deadline_ms", limits.deadline_ms)
        .some("calls_max", limits.calls_max)
        .some("input_tokens_max", limits.input_tokens_max)
        .some("output_tokens_max", limits.output_tokens_max)
        .some("attempts_max", limits.attempts_max)
        .some("starts_max", limits.starts_max)
        .some("cost_micros_max", limits.cost_micros_max)
        .some("thinking_tokens_max", limits.thinking_tokens_max)
        .some("thinking_tokens_each", limits.thinking_tokens_each)
        .json()
}

fn deliberation(request: v1::DeliberationRequest) -> Value {
    let options = |options: v1::DeliberationOptions| {
        Object::default()
            .some("models", options.models.map(deliberation_models))
            .some("limits", options.limits.map(limits))
            .some("language", options.language)
            .some("as_of", options.as_of)
            .asking(options.effort, options.output_tokens)
            .json()
    };
    Object::default()
        .some("format", Some(Deliberation::NAME))
        .text("topic", request.topic)
        .some("mode", request.mode)
        .list("participants", request.participants, speaker)
        .some("orchestrator", request.orchestrator.map(speaker))
        .some("max_rounds", request.max_rounds)
        .some("timeout", request.timeout)
        .list("tool_phases", request.tool_phases, Value::from)
        .some("native_web_search", request.native_web_search)
        .some("concurrency", request.concurrency)
        .some("skills", request.skills.map(skills))
        .some("options", request.options.map(options))
        .json()
}

fn deliberation_models(models: v1::DeliberationModelsOption) -> Value {
    Object::default()
        .list("default", models.default, Value::from)
        .list("initial", models.initial, Value::from)
        .list("rebuttal", models.rebuttal, Value::from)
        .list("revised", models.revised, Value::from)
        .list("consensus", models.consensus, Value::from)
        .map("roles", models.roles, list_value)
        .json()
}

fn investigation(request: v1::InvestigationRequest) -> Value {
    let hypothesis = |hypothesis: v1::Hypothesis| {
        Object::default()
            .text("statement", hypothesis.statement)
            .text("prediction", hypothesis.prediction)
            .json()
    };
    let options = |options: v1::InvestigationOptions| {
        Object::default()
            .some("models", options.models.map(investigation_models))
            .some("limits", options.limits.map(limits))
            .some("as_of", options.as_of)
            .asking(options.effort, options.output_tokens)
            .json()
    };
    Object::default()
        .some("format", Some(Investigation::NAME))
        .text("problem", request.problem)
        .text("context", request.context)
        .some("language", request.language)
        .list("hypotheses", request.hypotheses, hypothesis)
        .list("investigators", request.investigators, Value::from)
        .some("rounds", request.rounds)
        .some("options", request.options.map(options))
        .json()
}

fn investigation_models(models: v1::InvestigationModelsOption) -> Value {
    Object::default()
        .list("default", models.default, Value::from)
        .list("propose", models.propose, Value::from)
        .list("report", models.report, Value::from)
        .list("challenge", models.challenge, Value::from)
        .list("respond", models.respond, Value::from)
        .list("status", models.status, Value::from)
        .list("verdict", models.verdict, Value::from)
        .list("convey", models.convey, Value::from)
        .map("roles", models.roles, list_value)
        .json()
}

fn speaker(speaker: v1::Speaker) -> Value {
    Object::default().text("name", speaker.name).list("skills", speaker.skills, Value::from).json()
}

fn skills(skills: v1::SkillsOption) -> Value {
    Object::default().list("global", skills.global, Value::from).json()
}

/// Returns a moment to the millisecond; `None` where it is none of the years 1 to 9999.
#[must_use]
pub fn timestamp(at: prost_types::Timestamp) -> Option<Timestamp> {
    let nanos = u32::try_from(at.nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
    let in_range = (-62_135_596_800..=253_402_300_799).contains(&at.seconds);
    in_range.then(|| Timestamp(at.seconds * 1_000 + i64::from(nanos / 1_000_000)))
}

/// Returns whether a watch shows the events of calls too.
///
/// # Errors
/// There are no such kinds.
pub fn wants_calls(kinds: i32) -> Result<bool, Refusal> {
    match v1::WatchKinds::try_from(kinds) {
        Ok(v1::WatchKinds::Unspecified | v1::WatchKinds::All) => Ok(true),
        Ok(v1::WatchKinds::RoundsAndJudgements) => Ok(false),
        Err(_) => Err(Refusal::field("kinds", "must be all, or rounds and judgements")),
    }
}

/// A JSON object in the making.
#[derive(Default)]
struct Object(Map<String, Value>);

impl Object {
    fn json(self) -> Value {
        Value::Object(self.0)
    }

    fn some(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
        self
    }

    fn text(self, name: &str, text: String) -> Self {
        self.some(name, Some(text).filter(|text| !text.is_empty()))
    }

    fn list<T>(self, name: &str, items: Vec<T>, json: impl FnMut(T) -> Value) -> Self {
        let items: Vec<Value> = items.into_iter().map(json).collect();
        self.some(name, Some(items).filter(|items| !items.is_empty()))
    }

    /// Adds how calls are asked (rule P23).
    fn asking(self, effort: Option<prost_types::Value>, output_tokens: BTreeMap<String, u32>) -> Self {
        self.some("effort", effort.map(value)).map("output_tokens", output_tokens, Value::from)
    }

    fn map<T>(self, name: &str, entries: BTreeMap<String, T>, mut json: impl FnMut(T) -> Value) -> Self {
        let entries: Map<String, Value> =
            entries.into_iter().map(|(key, value)| (key, json(value))).collect();
        self.some(name, Some(entries).filter(|entries| !entries.is_empty()))
    }
}

fn value(value: prost_types::Value) -> Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::NumberValue(found)) => number(found),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::BoolValue(truth)) => Value::Bool(truth),
        Some(Kind::StructValue(fields)) => {
            Value::Object(fields.fields.into_iter().map(|(name, field)| (name, self::value(field))).collect())
        }
        Some(Kind::ListValue(list)) => list_value(list),
    }
}

fn list_value(list: prost_types::ListValue) -> Value {
    Value::Array(list.values.into_iter().map(value).collect())
}

/// Returns a double as JSON; what JSON cannot hold as a text, which the core refuses.
fn number(found: f64) -> Value {
    if found == found.trunc() && found.abs() <= EXACT_MAX {
        return Value::from(found as i64);
    }
    Number::from_f64(found).map_or_else(|| Value::String(found.to_string()), Value::Number)
}

#[cfg(test)]
mod tests;
