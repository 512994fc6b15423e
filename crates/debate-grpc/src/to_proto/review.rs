//! The result of a review debate.

use std::collections::BTreeMap;

use debate_core::formats::review::conflict::{Conflict, Operation};
use debate_core::formats::review::outcome::{
    DebateLog, FailedPair, JudgeFeedback, LoggedFeedback, LoggedPair, NotRun, PairDebate, PairJudgement,
    PassShown, ReviewResult,
};
use debate_core::id::Role;
use debate_proto::v1;
use prost_types::value::Kind;
use serde_json::Value;

use super::{completeness, cost, tokens};

/// Returns the result of a review debate.
#[must_use]
pub fn review_result(result: ReviewResult) -> v1::ReviewResult {
    v1::ReviewResult {
        debate_id: result.debate_id.to_string(),
        completed_at: result.completed_at,
        critiques_json: result.critiques.as_str().to_owned(),
        conflicts_json: result.conflicts.map(|conflicts| conflicts.as_str().to_owned()),
        conflicts_found: result.conflicts_found.into_iter().map(conflict).collect(),
        conflict_count: result.conflict_count,
        debate_log: result.debate_log.map(debate_log),
        not_run: result
            .not_run
            .map(|NotRun { why, reason }| v1::ReviewNotRun { why: why.as_str().to_owned(), reason }),
        debates: result.debates.into_iter().map(pair).collect(),
        failed_pairs: result.failed_pairs.into_iter().map(failed_pair).collect(),
        total_tokens: result.total_tokens,
        calls: result.metadata.calls,
        wall_clock_time_ms: result.metadata.wall_clock_time_ms,
        model: result.metadata.model,
        completeness: Some(completeness(&result.completeness)),
        stop_reason: result.stop_reason,
        simulated: result.simulated,
        usage_complete: result.usage_complete,
        thinking_tokens: result.thinking_tokens,
        redacted: result.redacted,
        cost: result.cost.map(cost),
        unpriced_models: result.unpriced_models,
    }
}

fn conflict(conflict: Conflict) -> v1::ReviewConflict {
    v1::ReviewConflict {
        r#type: conflict.kind,
        target: conflict.target,
        ops: conflict.ops.into_iter().map(operation).collect(),
        resolution: Some(conflict.resolution).filter(|resolution| !resolution.is_null()).map(value),
    }
}

fn operation(operation: Operation) -> v1::ReviewOperation {
    v1::ReviewOperation {
        reviewer_role: operation.reviewer_role.to_string(),
        op: operation.op,
        target: operation.target,
        value: Some(operation.value).filter(|value| !value.is_null()).map(value),
    }
}

fn value(json: Value) -> prost_types::Value {
    let kind = match json {
        Value::Null => Kind::NullValue(0),
        Value::Bool(truth) => Kind::BoolValue(truth),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Kind::StringValue(text),
        Value::Array(items) => {
            let values = items.into_iter().map(value).collect();
            Kind::ListValue(prost_types::ListValue { values })
        }
        Value::Object(map) => {
            let fields = map.into_iter().map(|(name, field)| (name, value(field))).collect();
            Kind::StructValue(prost_types::Struct { fields })
        }
    };
    prost_types::Value { kind: Some(kind) }
}

fn debate_log(log: DebateLog) -> v1::ReviewLog {
    v1::ReviewLog {
        ran: log.ran,
        pairs: log.pairs.into_iter().map(logged_pair).collect(),
        judge_feedback: log.judge_feedback.into_iter().map(|feedback| logged(feedback, None)).collect(),
        cost: Some(v1::ReviewLogCost {
            input_tokens: log.cost.input_tokens,
            output_tokens: log.cost.output_tokens,
        }),
    }
}

fn logged_pair(pair: LoggedPair) -> v1::ReviewLogPair {
    v1::ReviewLogPair {
        role_a: pair.role_a.to_string(),
        role_b: pair.role_b.to_string(),
        conflict: pair.conflict,
        winner: pair.winner,
        judge_scores: scores(pair.judge_scores),
    }
}

fn scores(scores: BTreeMap<Role, f64>) -> BTreeMap<String, f64> {
    scores.into_iter().map(|(role, score)| (role.to_string(), score)).collect()
}

fn logged(feedback: LoggedFeedback, winner: Option<String>) -> v1::JudgeFeedback {
    v1::JudgeFeedback {
        role: feedback.role.to_string(),
        argument_quality_score: feedback.argument_quality_score,
        argument_labels: feedback.argument_labels,
        policy_signal: feedback.policy_signal,
        winner,
    }
}

/// Converts what a pair said and what the judge found.
pub(super) fn pair(debated: PairDebate) -> v1::ReviewPair {
    v1::ReviewPair {
        pair: debated.pair,
        role_a: debated.role_a.to_string(),
        role_b: debated.role_b.to_string(),
        conflict_description: debated.conflict_description,
        op_a: debated.op_a.map(operation),
        op_b: debated.op_b.map(operation),
        role_a_argument: debated.role_a_argument,
        role_b_argument: debated.role_b_argument,
        role_a_rebuttal: debated.role_a_rebuttal,
        role_b_rebuttal: debated.role_b_rebuttal,
        off_length: debated.off_length,
        usage: Some(tokens(debated.usage)),
        judgement: debated.judgement.map(judgement),
    }
}

fn judgement(judgement: PairJudgement) -> v1::ReviewJudgement {
    let feedback = |JudgeFeedback { logged: of, winner }| logged(of, Some(winner.as_str().to_owned()));
    v1::ReviewJudgement {
        feedback: judgement.feedback.into_iter().map(feedback).collect(),
        winner: judgement.winner.as_str().to_owned(),
        summary: judgement.summary,
        note: judgement.note,
        passes: judgement.passes.into_iter().map(pass).collect(),
        usage: Some(tokens(judgement.usage)),
    }
}

fn pass(shown: PassShown) -> v1::ReviewPass {
    v1::ReviewPass {
        pass: shown.pass,
        shown_first: shown.shown_first.to_string(),
        winner: shown.winner.as_str().to_owned(),
        judge_scores: scores(shown.judge_scores),
    }
}

fn failed_pair(failed: FailedPair) -> v1::ReviewFailedPair {
    v1::ReviewFailedPair {
        pair: failed.pair,
        role_a: failed.role_a.to_string(),
        role_b: failed.role_b.to_string(),
        why: failed.why,
    }
}
