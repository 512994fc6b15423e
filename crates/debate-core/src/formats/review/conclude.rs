//! The result of a review debate, computed from the state alone (rules K4, K6, V4, V5, V6).

use super::Review;
use super::call;
use super::config::{Dispute, Pair, Side, Skip, Speech};
use super::fact::Winner;
use super::judged::Judged;
use super::outcome::{
    DebateLog, FailedPair, JudgeFeedback, LoggedCost, LoggedFeedback, LoggedPair, Metadata, NotRun,
    PairDebate, PairJudgement, PassShown, RawJson, ReviewResult,
};
use super::{checks, visibility};
use crate::call::{CallKey, Tokens};
use crate::debate::Debate;
use crate::prose::{REDACTED, Texts};
use crate::stop::Completeness;

/// Returns the result as it stands.
pub(super) fn outcome(debate: &Debate<Review>, texts: Texts) -> ReviewResult {
    let config = debate.config();
    let brief = texts.of(debate.brief());
    let completeness = debate.completeness();
    let spend = debate.spend();
    ReviewResult {
        debate_id: debate.id(),
        completed_at: debate.conclusion().map(|(_, at)| at.to_string()).unwrap_or_default(),
        critiques: RawJson::of(brief.map_or(REDACTED, |brief| &brief.critiques_json)),
        conflicts: config.conflicts_given.then(|| {
            RawJson::of(brief.and_then(|brief| brief.conflicts_json.as_deref()).unwrap_or(REDACTED))
        }),
        conflicts_found: brief
            .filter(|_| !config.conflicts_given)
            .map(|brief| brief.conflicts.clone())
            .unwrap_or_default(),
        conflict_count: config.conflicts,
        debate_log: config.skip().is_none().then(|| debate_log(debate, texts)),
        not_run: config.skip().map(|why| NotRun { why, reason: reason(debate, why) }),
        debates: config.numbered_pairs().map(|(number, pair)| shown(debate, number, pair, texts)).collect(),
        failed_pairs: failed_pairs(debate),
        total_tokens: spend.known.input.saturating_add(spend.known.output),
        metadata: Metadata {
            calls: spend.calls,
            wall_clock_time_ms: debate.wall_clock_ms(),
            model: debate.model_names(),
        },
        completeness,
        stop_reason: debate.stop_reason().to_owned(),
        simulated: debate.is_simulated(),
        usage_complete: spend.complete,
        thinking_tokens: spend.thinking,
        cost: spend.cost,
        unpriced_models: debate.unpriced_if_cost_known(),
        redacted: debate.is_redacted(),
    }
}

/// Returns why no pair debated, in a sentence.
fn reason(debate: &Debate<Review>, why: Skip) -> String {
    let (found, needed) = (debate.config().conflicts, debate.config().min_conflicts_to_trigger);
    match why {
        Skip::Disabled => "debate.enabled is false".to_owned(),
        Skip::TooFewConflicts => format!("{found} conflicts; {needed} start a debate"),
        Skip::NoPair => {
            format!("{found} conflicts, and in none of them one reviewer adds what another removes")
        }
    }
}

fn dispute(debate: &Debate<Review>, number: u32, texts: Texts) -> Option<&Dispute> {
    let place = (number as usize).checked_sub(1)?;
    texts.of(debate.brief())?.disputes.get(place)
}

/// Returns the audit entry (rule V5).
fn debate_log(debate: &Debate<Review>, texts: Texts) -> DebateLog {
    let config = debate.config();
    let ended = config.numbered_pairs().filter(|(number, pair)| has_ended(debate, *number, pair));
    let pairs = ended.map(|(number, pair)| {
        let judged = Judged::of(debate, number);
        let winner = judged.as_ref().map(|judged| match judged.winner.side() {
            Some(side) => pair.role(side).to_string(),
            None => Winner::Tie.as_str().to_owned(),
        });
        let scores = judged
            .iter()
            .flat_map(|judged| Side::BOTH.map(|side| (pair.role(side).clone(), judged.score(side))));
        let conflict =
            dispute(debate, number, texts).map_or_else(|| REDACTED.to_owned(), Dispute::audit_line);
        LoggedPair {
            role_a: pair.role_a.clone(),
            role_b: pair.role_b.clone(),
            conflict,
            winner,
            judge_scores: scores.collect(),
        }
    });
    let feedback = config.numbered_pairs().flat_map(|(number, pair)| {
        let judged = Judged::of(debate, number);
        judged.map(|judged| Side::BOTH.map(|side| feedback(&judged, pair, side, texts))).into_iter().flatten()
    });
    let Tokens { input, output } = debate.spend().known;
    DebateLog {
        ran: true,
        pairs: pairs.collect(),
        judge_feedback: feedback.collect(),
        cost: LoggedCost { input_tokens: input, output_tokens: output },
    }
}

fn feedback(judged: &Judged<'_>, pair: &Pair, side: Side, texts: Texts) -> LoggedFeedback {
    let mut words = judged.passes.iter().map(|pass| texts.of(&pass.prose).map(|prose| prose.signal(side)));
    LoggedFeedback {
        role: pair.role(side).clone(),
        argument_quality_score: judged.score(side),
        argument_labels: judged.labels(side),
        policy_signal: words.next().flatten().unwrap_or(REDACTED).to_owned(),
    }
}

/// Returns whether all four speeches of a pair were made.
fn has_ended(debate: &Debate<Review>, number: u32, pair: &Pair) -> bool {
    call::speeches(number, pair).all(|call| debate.is_answered(&call, debate.revision(&call)))
}

/// Returns a pair as it stands.
fn shown(debate: &Debate<Review>, number: u32, pair: &Pair, texts: Texts) -> PairDebate {
    let state = debate.state();
    let dispute = dispute(debate, number, texts);
    let said = |speech, side| {
        let made = state.speech(number, speech, side)?;
        Some(texts.of(&made.prose).map_or_else(|| REDACTED.to_owned(), |prose| prose.text.clone()))
    };
    let made = Speech::ORDER.into_iter().filter_map(|(speech, side)| state.speech(number, speech, side));
    let off_length = made.filter(|made| !checks::SENTENCES.contains(&made.sentences));
    PairDebate {
        pair: number,
        role_a: pair.role_a.clone(),
        role_b: pair.role_b.clone(),
        conflict_description: dispute
            .map_or_else(|| REDACTED.to_owned(), |dispute| dispute.conflict_description.clone()),
        op_a: dispute.map(|dispute| dispute.op_a.clone()),
        op_b: dispute.map(|dispute| dispute.op_b.clone()),
        role_a_argument: said(Speech::Argue, Side::A),
        role_b_argument: said(Speech::Argue, Side::B),
        role_a_rebuttal: said(Speech::Rebut, Side::A),
        role_b_rebuttal: said(Speech::Rebut, Side::B),
        off_length: off_length.map(|made| call::speak(number, made.speech, &made.role).to_string()).collect(),
        usage: used(debate, call::speeches(number, pair)),
        judgement: Judged::of(debate, number).map(|judged| judgement(debate, number, pair, &judged, texts)),
    }
}

fn used(debate: &Debate<Review>, calls: impl Iterator<Item = CallKey>) -> Tokens {
    let used = calls.filter_map(|call| Some(debate.call(&call)?.used));
    used.fold(Tokens::default(), Tokens::plus)
}

fn judgement(
    debate: &Debate<Review>,
    number: u32,
    pair: &Pair,
    judged: &Judged<'_>,
    texts: Texts,
) -> PairJudgement {
    let scores = |of: &dyn Fn(Side) -> f64| Side::BOTH.map(|side| (pair.role(side).clone(), of(side))).into();
    let shown = judged.passes.iter().map(|pass| PassShown {
        pass: pass.pass,
        shown_first: pair.role(visibility::first_shown(debate, number, pass.pass)).clone(),
        winner: pass.winner,
        judge_scores: scores(&|side| pass.verdict(side).argument_quality_score),
    });
    let words = judged.passes.first().and_then(|pass| texts.of(&pass.prose));
    let had = u32::try_from(judged.passes.len()).unwrap_or(u32::MAX);
    let note = if judged.flipped {
        Some(
            "the judge names different winners when it sees the sides the other way round; this counts as a tie",
        )
    } else if had < debate.config().judge_passes {
        Some("only one of two passes of the judge could be had")
    } else {
        None
    };
    PairJudgement {
        feedback: Side::BOTH
            .map(|side| JudgeFeedback { logged: feedback(judged, pair, side, texts), winner: judged.winner })
            .into(),
        winner: judged.winner,
        summary: words.map_or_else(|| REDACTED.to_owned(), |words| words.summary.clone()),
        note: note.map(str::to_owned),
        passes: shown.collect(),
        usage: used(debate, call::passes(debate.config(), number)),
    }
}

/// Lists the pairs without all four speeches, once no more are to come (rule V3).
fn failed_pairs(debate: &Debate<Review>) -> Vec<FailedPair> {
    let pairs = debate.config().numbered_pairs().filter_map(|(number, pair)| {
        let why = match (debate.state().failed(number), debate.stop()) {
            (Some(failed), _) => format!("{} has no usable answer after its retries", failed.call),
            (None, Some(fired)) if !has_ended(debate, number, pair) => format!("stopped by {}", fired.name()),
            (None, Some(_) | None) => return None,
        };
        Some(FailedPair { pair: number, role_a: pair.role_a.clone(), role_b: pair.role_b.clone(), why })
    });
    pairs.collect()
}

/// Returns how whole the result is, were the debate to conclude now (rule K6).
///
/// The caller's input stands whatever fails, so a review is never void.
pub(super) fn completeness(debate: &Debate<Review>) -> Completeness {
    let (mut missing, mut why) = (Vec::new(), Vec::new());
    let early = debate.early_stop();
    why.extend(early.map(|fired| format!("stopped by {}", fired.name())));
    for (number, pair) in debate.config().numbered_pairs() {
        for call in call::speeches(number, pair) {
            debate.note_cut_text(&call, &mut missing, &mut why);
        }
        let open = |call: &CallKey| !debate.is_answered(call, debate.revision(call));
        let failed = |call: &CallKey| debate.is_failed(call, debate.revision(call));
        let speech = call::speeches(number, pair).find(open);
        let lacking: Vec<CallKey> = match speech {
            Some(call) => vec![call],
            None => call::passes(debate.config(), number).filter(open).collect(),
        };
        for call in lacking {
            if failed(&call) {
                why.push(format!("{call} has no usable answer after its retries"));
            }
            missing.push(call.to_string());
        }
    }
    Completeness::of(missing, why)
}
