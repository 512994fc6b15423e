//! The result of an investigation, computed from the state alone (rules K4, K6, I5, I7).

use super::Investigation;
use super::answer::HypothesisText;
use super::call::Call;
use super::config::LEAD_MIN;
use super::fact::{
    ChallengeRaised, EvidenceFact, EvidenceReported, NamedBy, Standing, VerdictRendered, ViolationFound,
};
use super::outcome::{
    ChallengeEntry, ChallengeState, ConclusionEntry, EvidenceEntry, HypothesisEntry, InvestigationResult,
    Metadata, ReportEntry, VerdictEntry, ViolationEntry,
};
use super::{plan, visibility};
use crate::debate::Debate;
use crate::prose::{REDACTED, Texts};
use crate::stop::Completeness;

/// Returns the result as it stands.
pub(super) fn outcome(debate: &Debate<Investigation>, texts: Texts) -> InvestigationResult {
    let (config, state) = (debate.config(), debate.state());
    let round = state.last_round();
    let completeness = debate.completeness();
    let conclusion = state.conclusion().map(|conveyed| {
        let words = texts.of(&conveyed.prose);
        ConclusionEntry {
            text: words.map_or_else(redacted, |words| words.text.clone()),
            next_steps: words.map(|words| words.next_steps.clone()).unwrap_or_default(),
        }
    });
    InvestigationResult {
        debate_id: debate.id(),
        problem: texts.of(debate.brief()).map_or_else(redacted, |brief| brief.problem.clone()),
        language: config.language,
        completed_at: debate.conclusion().map(|(_, at)| at.to_string()).unwrap_or_default(),
        verdict: verdict(debate, texts),
        conclusion,
        hypotheses: state
            .standings(config, round)
            .into_iter()
            .map(|standing| hypothesis(debate, standing, texts))
            .collect(),
        challenges: state.challenges(round).map(|raised| challenge(debate, raised, texts)).collect(),
        violations: state.violations().map(violation).collect(),
        rounds: state.summaries().cloned().collect(),
        metadata: metadata(debate),
        completeness,
        stop_reason: debate.stop_reason().to_owned(),
        simulated: debate.is_simulated(),
        usage_complete: debate.spend().complete,
        thinking_tokens: debate.spend().thinking,
        cost: debate.spend().cost,
        unpriced_models: debate.unpriced_if_cost_known(),
        redacted: debate.is_redacted(),
    }
}

fn redacted() -> String {
    REDACTED.to_owned()
}

/// Returns the words of a hypothesis if they may be shown and are still there.
fn words(debate: &Debate<Investigation>, number: u32, texts: Texts) -> HypothesisText {
    let shown = match texts {
        Texts::Shown => visibility::hypothesis(debate, number),
        Texts::Withheld => None,
    };
    shown.unwrap_or_else(|| HypothesisText { statement: redacted(), prediction: redacted() })
}

fn evidence_id(hypothesis: u32, number: u32) -> String {
    format!("H{hypothesis}.E{number}")
}

/// Returns the verdict: the synthesizer's, or what stands strongest once the debate is over without one.
fn verdict(debate: &Debate<Investigation>, texts: Texts) -> Option<VerdictEntry> {
    let (config, state) = (debate.config(), debate.state());
    let round = state.last_round();
    let rendered = state.verdict();
    let named = rendered.map(|rendered| rendered.hypothesis);
    let standing = || {
        let is_over = debate.stop().is_some() && round > 0;
        state.strongest(config, round).filter(|_| is_over)
    };
    let hypothesis = named.or_else(standing)?;
    let seat = state.seats(config).find(|seat| seat.hypothesis == hypothesis)?;
    let brought = |supports: bool| {
        let counting = state.evidence(&seat.investigator, round).filter(|evidence| evidence.counts());
        counting.filter(move |evidence| evidence.supports == supports).map(|evidence| evidence.number)
    };
    let ids = |named: fn(&VerdictRendered) -> &Vec<u32>, supports: bool| {
        let named = rendered.map(named).filter(|named| !named.is_empty());
        let numbers = named.map_or_else(|| brought(supports).collect(), Clone::clone);
        numbers.into_iter().map(|number| evidence_id(hypothesis, number)).collect()
    };
    let said = rendered.and_then(|rendered| texts.of(&rendered.prose));
    Some(VerdictEntry {
        hypothesis,
        statement: words(debate, hypothesis, texts).statement,
        named_by: rendered.map_or(NamedBy::Standing, |rendered| rendered.named_by),
        confidence: rendered.and_then(|rendered| rendered.confidence),
        confirmed: is_confirmed(debate, hypothesis),
        reasoning: rendered
            .map_or_else(String::new, |_| said.map_or_else(redacted, |said| said.reasoning.clone())),
        evidence_for: ids(|rendered| &rendered.evidence_for, true),
        evidence_against: ids(|rendered| &rendered.evidence_against, false),
        needs_more_information: rendered.is_some_and(|rendered| rendered.needs_more_information),
        missing: said.map(|said| said.missing.clone()).unwrap_or_default(),
    })
}

/// Returns whether a hypothesis led clearly in one round and still did in the last (rule I7).
fn is_confirmed(debate: &Debate<Investigation>, hypothesis: u32) -> bool {
    let leads = debate
        .state()
        .summaries()
        .map(|summary| summary.leading == Some(hypothesis) && summary.lead >= LEAD_MIN);
    let leads: Vec<bool> = leads.collect();
    leads.split_last().is_some_and(|(last, before)| *last && before.contains(&true))
}

fn hypothesis(debate: &Debate<Investigation>, standing: Standing, texts: Texts) -> HypothesisEntry {
    let state = debate.state();
    let number = standing.hypothesis;
    let messages = || state.messages(&standing.investigator, state.last_round());
    let HypothesisText { statement, prediction } = words(debate, number, texts);
    HypothesisEntry {
        hypothesis: number,
        statement,
        prediction,
        reports: messages().map(|message| report(message, texts)).collect(),
        evidence: messages().flat_map(|message| evidence(number, message, texts)).collect(),
        investigator: standing.investigator,
        status: standing.status,
        confidence: standing.confidence,
        refusals: standing.refusals,
        open_challenges: standing.open_challenges,
        trusted: standing.trusted,
    }
}

fn report(message: &EvidenceReported, texts: Texts) -> ReportEntry {
    ReportEntry {
        round: message.round,
        stage: message.stage,
        status: message.status,
        before: message.before,
        stated: message.stated,
        confidence: message.confidence,
        key_finding: texts.of(&message.prose).map_or_else(redacted, |said| said.key_finding.clone()),
    }
}

fn evidence(hypothesis: u32, message: &EvidenceReported, texts: Texts) -> Vec<EvidenceEntry> {
    let said = texts.of(&message.prose);
    let entry = |(place, fact): (usize, &EvidenceFact)| {
        let words = said.and_then(|said| said.evidence().nth(place)).map(|(_, words)| words);
        let text = |text: fn(&super::evidence::Evidence) -> &String| {
            words.map_or_else(redacted, |words| text(words).clone())
        };
        EvidenceEntry {
            id: evidence_id(hypothesis, fact.number),
            supports: fact.supports,
            kind: fact.kind,
            pointer: text(|words| &words.pointer),
            quote: text(|words| &words.quote),
            claim: text(|words| &words.claim),
            check: fact.check,
            ignored: !fact.counts(),
        }
    };
    message.evidence.iter().enumerate().map(entry).collect()
}

fn challenge(debate: &Debate<Investigation>, raised: &ChallengeRaised, texts: Texts) -> ChallengeEntry {
    let state = debate.state();
    let is_closed = state.closed(state.last_round()).contains(&raised.id);
    ChallengeEntry {
        id: raised.id,
        hypothesis: raised.hypothesis,
        kind: raised.kind,
        expects: raised.expects,
        challenge: texts.of(&raised.prose).map_or_else(redacted, |said| said.challenge.clone()),
        stance: state.stance(raised.id, state.last_round()),
        state: match (raised.stands, is_closed) {
            (false, _) => ChallengeState::Ignored,
            (true, true) => ChallengeState::Closed,
            (true, false) => ChallengeState::Open,
        },
    }
}

fn violation(found: &ViolationFound) -> ViolationEntry {
    ViolationEntry {
        shown_by: found.shown_by.call.to_string(),
        by: found.by.clone(),
        violation: found.violation.as_str(),
        consequence: found.consequence.as_str(),
        act: found.act.map(super::answer::Act::as_str),
        hypothesis: found.hypothesis,
        challenge: found.challenge,
    }
}

fn metadata(debate: &Debate<Investigation>) -> Metadata {
    let spend = debate.spend();
    Metadata {
        rounds: debate.state().last_round(),
        tokens: spend.known,
        calls: spend.calls,
        wall_clock_time_ms: debate.wall_clock_ms(),
        model: debate.model_names(),
    }
}

/// Returns how whole the result is, were the debate to conclude now (rule K6).
pub(super) fn completeness(debate: &Debate<Investigation>) -> Completeness {
    let (config, state) = (debate.config(), debate.state());
    let mut why = Vec::new();
    let stop = debate.early_stop();
    why.extend(stop.map(|fired| format!("stopped by {}", fired.name())));
    let round = state.last_round();
    if round == 0 {
        let hypotheses = state.hypotheses().unwrap_or(0);
        why.push(format!("nobody reported on any of {hypotheses} hypotheses"));
        return Completeness::Void { why };
    }
    let mut missing = Vec::new();
    let mut gone = |call: Call, is_needed: bool| {
        let key = call.key();
        debate.note_cut_text(&key, &mut missing, &mut why);
        if is_needed && !debate.is_answered(&key, debate.revision(&key)) {
            missing.push(key.to_string());
            if plan::is_failed(debate, &call) {
                why.push(format!("{key} gave no usable answer after its retries"));
            }
        }
    };
    for round in 1..=round {
        for seat in state.seats(config) {
            let investigator = || seat.investigator.clone();
            gone(Call::Report { round, investigator: investigator() }, true);
            let is_challenged = !state.to_answer(seat.hypothesis, round).is_empty();
            gone(Call::Respond { round, investigator: investigator() }, is_challenged);
        }
        gone(Call::Challenge { round }, true);
        gone(Call::Status { round }, true);
    }
    gone(Call::Verdict { round }, true);
    gone(Call::Convey { round }, true);
    Completeness::of(missing, why)
}
