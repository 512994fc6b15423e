//! From the core's debates, results and stored events to wire messages; the one place that knows both sides of what
//! goes out.

mod deliberation;
mod investigation;
pub mod parts;
mod prediction;
mod review;
mod roundtable;

use debate_core::codec;
use debate_core::debate::Lifecycle;
use debate_core::diff::{Place, first_difference};
use debate_core::envelope::Envelope;
use debate_core::event::{Concluded, Forked, KernelEvent};
use debate_core::format::Format as _;
use debate_core::formats::any::{AnyDebate, AnyReplayError};
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::moves;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::Timestamp;
use debate_core::prose::Texts;
use debate_core::record::Record as _;
use debate_core::spend::{Cost, Spend};
use debate_core::{call::Tokens, event::AttemptRef};
use debate_engine::{Chunk, Verification};
use debate_proto::v1;
use debate_store::{Archived, Listed};

pub use deliberation::deliberation_result;
pub use investigation::investigation_result;
pub use prediction::prediction_result;
pub use review::review_result;
pub use roundtable::roundtable_result;

/// Returns a debate as it stands.
#[must_use]
pub fn debate(debate: &AnyDebate) -> v1::Debate {
    let (phase, round) = debate.phase().unwrap_or_default();
    let conclusion = debate.conclusion();
    v1::Debate {
        id: debate.id().to_string(),
        format: debate.format().to_owned(),
        state: state(debate.lifecycle()).into(),
        title: debate.title().unwrap_or_default(),
        head_seq: debate.head().0,
        phase: phase.to_owned(),
        round,
        opened_at: Some(timestamp(debate.opened_at())),
        completed_at: conclusion.map(|(_, at)| timestamp(at)),
        deadline_at: debate.deadline().map(timestamp),
        stop_reason: debate.stop_rule().map(|rule| rule.as_str().to_owned()).unwrap_or_default(),
        completeness: Some(completeness(&debate.completeness())),
        confidence: debate.confidence(),
        spend: Some(spend(debate.spend())),
        models: debate.models().iter().cloned().collect(),
        simulated: Some(debate.is_simulated()),
        outcome_digest: conclusion.map(|(found, _)| found.outcome_digest.to_string()).unwrap_or_default(),
        conclusion_revision: conclusion.map_or(0, |(found, _)| found.revision),
        redacted: Some(debate.is_redacted()),
        unpriced_models: debate.unpriced_models().iter().cloned().collect(),
        forked_from: debate.forked().map(fork_origin),
        interrupted: None,
        parts_cut: debate.parts_cut().into_iter().map(|(part, count)| (part.to_owned(), count)).collect(),
    }
}

fn fork_origin(forked: &Forked) -> v1::ForkOrigin {
    v1::ForkOrigin {
        debate_id: forked.parent.to_string(),
        at_seq: forked.at.0,
        change: forked.change.clone(),
    }
}

/// Returns a debate with what a list knows of it: its first event, the last of its life, and the one that says what it
/// is about, which is its first or, of a fork, its eldest parent's.
///
/// # Errors
/// The first event cannot be read.
pub fn listed(listed: &Listed, eldest: &Envelope) -> Result<v1::Debate, AnyReplayError> {
    let first = AnyDebate::replay(std::slice::from_ref(eldest))?;
    let forked = codec::forked(&listed.first).transpose()?;
    let last = listed.last_of_kinds.as_ref();
    let concluded = last.and_then(|last| Some((concluded(last)?, last.at)));
    let state = match last.map(|last| last.kind.as_str()) {
        Some("concluded") => v1::DebateState::Concluded,
        Some("paused") => v1::DebateState::Paused,
        Some(_) | None => v1::DebateState::Running,
    };
    Ok(v1::Debate {
        id: listed.first.stream.id.to_string(),
        format: first.format().to_owned(),
        state: state.into(),
        title: first.title().unwrap_or_default(),
        head_seq: listed.head.0,
        opened_at: Some(timestamp(listed.first.at)),
        forked_from: forked.as_ref().map(fork_origin),
        completed_at: concluded.as_ref().map(|(_, at)| timestamp(*at)),
        stop_reason: concluded.as_ref().map(|(found, _)| found.rule.as_str().to_owned()).unwrap_or_default(),
        completeness: concluded.as_ref().map(|(found, _)| completeness(&found.completeness)),
        spend: concluded.as_ref().and_then(|(found, _)| found.spend).map(spend),
        outcome_digest: concluded
            .as_ref()
            .map(|(found, _)| found.outcome_digest.to_string())
            .unwrap_or_default(),
        conclusion_revision: concluded.as_ref().map_or(0, |(found, _)| found.revision),
        ..v1::Debate::default()
    })
}

/// Returns an archived debate with what the store still knows of it.
#[must_use]
pub fn archived(archived: &Archived) -> v1::Debate {
    v1::Debate {
        id: archived.stream.id.to_string(),
        format: archived.format.clone().unwrap_or_default(),
        state: v1::DebateState::Archived.into(),
        head_seq: archived.head.seq.0,
        opened_at: Some(timestamp(archived.opened_at)),
        ..v1::Debate::default()
    }
}

/// Reads a conclusion; `None` for any other event.
pub(crate) fn concluded(envelope: &Envelope) -> Option<Concluded> {
    let event = KernelEvent::decode(&envelope.kind, envelope.version, &envelope.body, None)?.ok()?;
    let KernelEvent::Concluded(concluded) = event else { return None };
    Some(concluded)
}

/// Returns a stored event, exact to the byte.
#[must_use]
pub fn event(envelope: &Envelope) -> v1::Event {
    let prose = envelope.prose.as_ref();
    v1::Event {
        seq: envelope.seq.0,
        kind: envelope.kind.clone(),
        version: u32::from(envelope.version),
        at: Some(timestamp(envelope.at)),
        actor: envelope.actor.clone(),
        tenant: envelope.tenant.clone(),
        trace: envelope.trace.clone().unwrap_or_default(),
        body_json: envelope.body.clone(),
        prose_json: prose.map(|prose| prose.text.clone()),
        redacted: envelope.is_redacted(),
        prose_salt: prose.map(|prose| prose.salt.to_vec()),
        prose_digest: envelope.prose_digest.map(|digest| digest.to_string()).unwrap_or_default(),
        hash: envelope.hash.to_string(),
    }
}

/// Returns a piece of live text.
#[must_use]
pub fn chunk(chunk: &Chunk) -> v1::TokenChunk {
    v1::TokenChunk {
        call: chunk.attempt.call.to_string(),
        revision: chunk.attempt.revision,
        attempt: chunk.attempt.attempt,
        turn: chunk.attempt.turn,
        chunk: chunk.number,
        text: chunk.text.clone(),
    }
}

/// Returns the notice that an attempt's chunks count for nothing.
#[must_use]
pub fn attempt_dropped(attempt: &AttemptRef) -> v1::AttemptDropped {
    v1::AttemptDropped {
        call: attempt.call.to_string(),
        revision: attempt.revision,
        attempt: attempt.attempt,
        turn: attempt.turn,
    }
}

/// Returns what checking a debate found.
#[must_use]
pub fn verification(found: &Verification) -> v1::VerifyDebateResponse {
    let fault = found.fault.as_ref();
    v1::VerifyDebateResponse {
        ok: fault.is_none(),
        events: found.events,
        head_seq: found.head.0.0,
        head_hash: found.head.1.to_string(),
        redacted_events: found.redacted,
        outcomes_checked: found.outcomes,
        fault: fault.map(|fault| v1::Fault { seq: fault.seq.0, reason: fault.why.clone() }),
    }
}

/// Returns how two debates differ, each given with all that it is folded from.
///
/// # Errors
/// A log does not fold.
pub fn comparison(a: &[Envelope], b: &[Envelope]) -> Result<v1::DiffDebatesResponse, AnyReplayError> {
    let moves = moves::between(&AnyDebate::replay(a)?, &AnyDebate::replay(b)?);
    let place = |place: Place| v1::EventPlace {
        debate_id: place.debate_id,
        seq: place.seq,
        kind: place.kind,
        about: place.about,
    };
    let first_difference = first_difference(a, b).map(|found| v1::Difference {
        a: found.a.map(place),
        b: found.b.map(place),
        field: found.field,
        a_value_json: found.a_value.to_string(),
        b_value_json: found.b_value.to_string(),
    });
    let moves = moves.into_iter().map(|moved| v1::ProbabilityMove {
        outcome_id: moved.outcome_id.to_string(),
        a: moved.a,
        b: moved.b,
        log_odds_change: moved.log_odds_change,
    });
    Ok(v1::DiffDebatesResponse { first_difference, moves: moves.collect() })
}

/// Returns the result as it stands, for an answer to Get.
#[must_use]
pub fn result(debate: &AnyDebate) -> v1::get_debate_response::Result {
    use v1::get_debate_response::Result;
    match debate {
        AnyDebate::Prediction(debate) => {
            Result::Prediction(prediction_result(Prediction::outcome(debate, Texts::Shown)))
        }
        AnyDebate::Deliberation(debate) => {
            Result::Deliberation(deliberation_result(Deliberation::outcome(debate, Texts::Shown)))
        }
        AnyDebate::Roundtable(debate) => {
            Result::Roundtable(roundtable_result(Roundtable::outcome(debate, Texts::Shown)))
        }
        AnyDebate::Review(debate) => Result::Review(review_result(Review::outcome(debate, Texts::Shown))),
        AnyDebate::Investigation(debate) => {
            Result::Investigation(investigation_result(Investigation::outcome(debate, Texts::Shown)))
        }
    }
}

/// Returns the result as it stood, for an answer to Replay.
#[must_use]
pub fn replayed_result(debate: &AnyDebate) -> v1::replay_debate_response::Result {
    use v1::get_debate_response::Result as Got;
    use v1::replay_debate_response::Result;
    match result(debate) {
        Got::Prediction(result) => Result::Prediction(result),
        Got::Deliberation(result) => Result::Deliberation(result),
        Got::Roundtable(result) => Result::Roundtable(result),
        Got::Review(result) => Result::Review(result),
        Got::Investigation(result) => Result::Investigation(result),
    }
}

/// Returns a moment, exact to the millisecond.
#[must_use]
pub fn timestamp(at: Timestamp) -> prost_types::Timestamp {
    let nanos = at.0.rem_euclid(1_000) * 1_000_000;
    prost_types::Timestamp {
        seconds: at.0.div_euclid(1_000),
        nanos: i32::try_from(nanos).expect("999,000,000 nanoseconds fit"),
    }
}

fn state(lifecycle: Lifecycle) -> v1::DebateState {
    match lifecycle {
        Lifecycle::Running => v1::DebateState::Running,
        Lifecycle::Paused { .. } => v1::DebateState::Paused,
        Lifecycle::Concluded => v1::DebateState::Concluded,
    }
}

fn spend(spend: Spend) -> v1::Spend {
    v1::Spend {
        calls: spend.calls,
        known: Some(tokens(spend.known)),
        bound: Some(tokens(spend.bound)),
        complete: spend.complete,
        cost: spend.cost.map(cost),
        unpriced_calls: spend.unpriced_calls,
        thinking_tokens: spend.thinking,
    }
}

fn cost(cost: Cost) -> v1::Cost {
    v1::Cost {
        cost_micros: cost.cost_micros,
        cost_micros_bound: cost.cost_micros_bound,
        complete: cost.complete,
    }
}

fn tokens(tokens: Tokens) -> v1::TokenCount {
    v1::TokenCount { input: tokens.input, output: tokens.output }
}

fn completeness(completeness: &debate_core::stop::Completeness) -> v1::Completeness {
    use debate_core::stop::Completeness;
    let (missing, why) = match completeness {
        Completeness::Full => (Vec::new(), Vec::new()),
        Completeness::Partial { missing, why } => (missing.clone(), why.clone()),
        Completeness::Void { why } => (Vec::new(), why.clone()),
    };
    v1::Completeness { state: completeness.as_str().to_owned(), missing, why }
}

fn texts<T: ToString>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}
