//! Requests for roundtables.

use debate_core::format::Format as _;
use debate_core::formats::roundtable::Roundtable;
use debate_proto::v1;
use serde_json::Value;

use super::{Object, limits, list_value};

pub(super) fn request(request: v1::RoundtableRequest) -> Value {
    Object::default()
        .some("format", Some(Roundtable::NAME))
        .text("topic", request.topic)
        .some("mode", request.mode)
        .list("agents", request.agents, |agent| {
            Object::default().text("name", agent.name).some("perspective", agent.perspective).json()
        })
        .some("rounds", request.rounds)
        .some("perspective_config", request.perspective_config.map(perspectives))
        .some("flags", request.flags.map(flags))
        .some("sequential", request.sequential.map(sequential))
        .some("native_web_search", request.native_web_search)
        .list("tools", request.tools, Value::from)
        .some("options", request.options.map(options))
        .json()
}

fn perspectives(config: v1::RoundtablePerspectives) -> Value {
    Object::default()
        .list("perspectives", config.perspectives, Value::from)
        .some("assignment_strategy", config.assignment_strategy)
        .json()
}

fn flags(flags: v1::RoundtableFlags) -> Value {
    let parallelization = |flags: v1::RoundtableParallelizationFlags| {
        Object::default()
            .some("enabled", flags.enabled)
            .some("level", flags.level)
            .list("modes", flags.modes, Value::from)
            .json()
    };
    let tools = |flags: v1::RoundtableToolFlags| {
        Object::default()
            .some("enabled", flags.enabled)
            .some("level", flags.level)
            .some("min_calls", flags.min_calls)
            .some("max_calls", flags.max_calls)
            .json()
    };
    let groupthink = |flags: v1::RoundtableGroupthinkFlags| {
        Object::default()
            .some("enabled", flags.enabled)
            .some("threshold", flags.threshold.map(super::number))
            .some("action", flags.action)
            .some("closeness", flags.closeness)
            .json()
    };
    let exit = |flags: v1::RoundtableExitFlags| {
        Object::default()
            .some("enabled", flags.enabled)
            .some("shadow", flags.shadow)
            .some("consensus_threshold", flags.consensus_threshold.map(super::number))
            .some("convergence_rounds", flags.convergence_rounds)
            .some("confidence_threshold", flags.confidence_threshold.map(super::number))
            .json()
    };
    Object::default()
        .some("sequential_parallelization", flags.sequential_parallelization.map(parallelization))
        .some("tool_enforcement", flags.tool_enforcement.map(tools))
        .some("groupthink_detection", flags.groupthink_detection.map(groupthink))
        .some("exit_criteria", flags.exit_criteria.map(exit))
        .json()
}

fn sequential(sequential: v1::RoundtableSequentialOption) -> Value {
    Object::default()
        .some("use_light_model", sequential.use_light_model)
        .some("max_tokens", sequential.max_tokens)
        .some("cache_tool_results", sequential.cache_tool_results)
        .json()
}

fn options(options: v1::RoundtableOptions) -> Value {
    Object::default()
        .some("seed", options.seed)
        .some("similarity", options.similarity)
        .some("limits", options.limits.map(limits))
        .some("models", options.models.map(models))
        .some("language", options.language)
        .some("as_of", options.as_of)
        .asking(options.effort, options.output_tokens)
        .json()
}

fn models(models: v1::RoundtableModelsOption) -> Value {
    Object::default()
        .list("default", models.default, Value::from)
        .list("respond", models.respond, Value::from)
        .list("repoll", models.repoll, Value::from)
        .list("light", models.light, Value::from)
        .map("roles", models.roles, list_value)
        .json()
}
