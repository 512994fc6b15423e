//! What an answer means: facts, and the violations that show in it (rules I1–I3, I5–I7, I9).

use super::Investigation;
use super::answer::{
    Act, Answer, Challenge, ChallengeKind, Conclusion, HypothesisText, Report, Response, Said, Stance,
    Status, StatusUpdate, Verdict,
};
use super::call::Call;
use super::config::{DEVILS_ADVOCATE, HYPOTHESES_MIN, SYNTHESIZER, Seat};
use super::evidence::{CHECK_TOOL, Check, Evidence, REFUTED, VERIFIED};
use super::fact::{
    ChallengeId, ChallengeRaised, ConclusionConveyed, EvidenceFact, EvidenceReported, Fact,
    HypothesesProposed, NamedBy, ProposalProse, ResponseFact, Stage, StatusUpdated, VerdictRendered,
    Violation, ViolationFound,
};
use super::independence;
use crate::call::Want;
use crate::counted::counted;
use crate::debate::Debate;
use crate::id::Role;
use crate::measures::similarity::{jaccard, words};
use crate::prose::Prose;

/// The most challenges of one round that are looked at.
const CHALLENGES_MAX: usize = 24;
/// The narrowest reason of a challenge; a Chinese letter is as wide as two others.
const REASON_WIDTH_MIN: usize = 20;
/// From this share of common words on, a challenge is the same again.
const REPEATED_MIN: f64 = 0.8;
/// The highest confidence.
const CONFIDENCE_MAX: f64 = 10.0;

/// Returns what an answer means as facts, or why it cannot be used.
pub(super) fn facts(
    debate: &Debate<Investigation>,
    want: &Want,
    answer: &Answer,
) -> Result<Vec<Fact>, String> {
    let astray = || format!("the reply does not answer {}", want.call);
    let call = Call::of(&want.call).ok_or_else(astray)?;
    let mut facts = strays(want, &call, &answer.strays);
    facts.extend(match (&call, &answer.said) {
        (Call::Propose, Said::Hypotheses(proposed)) => proposal(debate, want, proposed)?,
        (Call::Report { round, investigator }, Said::Report(said)) => {
            report(debate, want, (*round, Stage::Report), investigator, said)?
        }
        (Call::Respond { round, investigator }, Said::Report(said)) => {
            report(debate, want, (*round, Stage::Respond), investigator, said)?
        }
        (Call::Challenge { round }, Said::Challenges(said)) => challenges(debate, want, *round, said),
        (Call::Status { round }, Said::Status(said)) => vec![status(debate, want, *round, said).into()],
        (Call::Verdict { round }, Said::Verdict(said)) => verdict(debate, want, *round, said)?,
        (Call::Convey { round }, Said::Conclusion(said)) => {
            vec![conclusion(debate, want, *round, said)?.into()]
        }
        (
            Call::Propose
            | Call::Report { .. }
            | Call::Challenge { .. }
            | Call::Respond { .. }
            | Call::Status { .. }
            | Call::Verdict { .. }
            | Call::Convey { .. },
            _,
        ) => return Err(astray()),
    });
    Ok(facts)
}

/// Returns the acts of a reply that belong to another role. For an investigator, all acts other than its
/// report do.
fn strays(want: &Want, call: &Call, strays: &[Act]) -> Vec<Fact> {
    let investigates = matches!(call, Call::Report { .. } | Call::Respond { .. });
    let out_of_role = strays.iter().filter(|act| investigates || !call.allows(**act));
    let found = out_of_role.map(|act| {
        let found = violation(want, &want.call.role, Violation::OutOfRole);
        ViolationFound { act: Some(*act), ..found }.into()
    });
    found.collect()
}

fn violation(want: &Want, by: &Role, violation: Violation) -> ViolationFound {
    ViolationFound::new(&want.call, want.revision, by.clone(), violation)
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// Keeps a confidence in [0, 10]; what is no number is none.
fn confidence(stated: Option<f64>) -> Option<f64> {
    stated.filter(|stated| stated.is_finite()).map(|stated| stated.clamp(0.0, CONFIDENCE_MAX))
}

fn proposal(
    debate: &Debate<Investigation>,
    want: &Want,
    proposed: &[HypothesisText],
) -> Result<Vec<Fact>, String> {
    let seats = debate.config().seats.len();
    let (mut hypotheses, mut refused): (Vec<_>, Vec<_>) =
        proposed.iter().cloned().partition(|hypothesis| hypothesis.why_untestable().is_none());
    if hypotheses.len() < HYPOTHESES_MIN {
        let why: Vec<String> = (proposed.iter().zip(1..))
            .filter_map(|(hypothesis, number)| Some(format!("H{number} {}", hypothesis.why_untestable()?)))
            .collect();
        let found = counted(hypotheses.len(), "hypothesis", "hypotheses");
        return Err(format!("{found} can be tested, {HYPOTHESES_MIN} are needed; {}", why.join("; ")));
    }
    refused.splice(0..0, hypotheses.split_off(hypotheses.len().min(seats)));
    Ok(vec![
        HypothesesProposed {
            revision: want.revision,
            count: count(hypotheses.len()),
            refused: count(refused.len()),
            prose: Prose::new(ProposalProse { hypotheses, refused }),
        }
        .into(),
    ])
}

fn report(
    debate: &Debate<Investigation>,
    want: &Want,
    (round, stage): (u32, Stage),
    investigator: &Role,
    said: &Report,
) -> Result<Vec<Fact>, String> {
    let state = debate.state();
    let seat = debate.config().seat(investigator);
    let seat = seat.ok_or_else(|| format!("{investigator} does not take part"))?;
    if said.hypothesis.is_some_and(|number| number != seat.hypothesis) {
        return Err(format!("report on H{} and on no other hypothesis", seat.hypothesis));
    }
    let before = state.messages(investigator, round).next_back().map_or(0.0, |last| last.confidence);
    let evidence = evidence(debate, want, (round, investigator), said);
    let stated = confidence(said.confidence);
    let brings_any = evidence.iter().any(EvidenceFact::counts);
    let counted = match (said.status, stated) {
        (Status::Refuted, _) => 0.0,
        (Status::Investigating | Status::Supported | Status::Weakened, None) => before,
        (Status::Investigating | Status::Supported | Status::Weakened, Some(stated)) => {
            if brings_any {
                stated
            } else {
                stated.min(before)
            }
        }
    };
    let claims_more = said.status != Status::Refuted && stated.is_some_and(|stated| stated > counted);
    let claims_idly = claims_more || evidence.iter().any(|evidence| !evidence.counts());
    let to_answer = state.to_answer(seat.hypothesis, round);
    let mut responses: Vec<ResponseFact> = said.responses.iter().filter_map(response).collect();
    responses.retain(|response| to_answer.iter().any(|raised| raised.id == response.challenge));
    let is_refused = |id: &ChallengeId| {
        let mut met = responses.iter().filter(|response| response.challenge == *id);
        stage == Stage::Respond && met.all(|response| response.stance == Stance::Refuse)
    };
    let refused: Vec<ChallengeId> = to_answer.iter().map(|raised| raised.id).filter(is_refused).collect();
    let hypothesis = Some(seat.hypothesis);
    let broken = |broken, challenge| {
        let found = violation(want, investigator, broken);
        Fact::from(ViolationFound { hypothesis, challenge, ..found })
    };
    let idle = claims_idly.then(|| broken(Violation::NoEvidence, None));
    let refused = refused.into_iter().map(|id| broken(Violation::ChallengeRefused, Some(id)));
    let reported = EvidenceReported {
        round,
        stage,
        investigator: investigator.clone(),
        hypothesis: seat.hypothesis,
        revision: want.revision,
        status: said.status,
        stated,
        before,
        confidence: counted,
        evidence,
        responses,
        prose: Prose::new(said.clone()),
    };
    Ok(std::iter::once(reported.into()).chain(idle).chain(refused).collect())
}

/// Returns the evidence of a report, numbered on from what was brought before.
fn evidence(
    debate: &Debate<Investigation>,
    want: &Want,
    (round, investigator): (u32, &Role),
    said: &Report,
) -> Vec<EvidenceFact> {
    let first = count(debate.state().evidence(investigator, round).count()) + 1;
    let facts = said.evidence().zip(first..).map(|((supports, evidence), number)| EvidenceFact {
        number,
        supports,
        kind: evidence.concrete(),
        check: check(debate, want, evidence),
    });
    facts.collect()
}

/// Returns what a look at the real thing has shown, where the investigator's call has taken one (rule I10).
fn check(debate: &Debate<Investigation>, want: &Want, evidence: &Evidence) -> Check {
    let Some(arguments) = evidence.check_arguments() else { return Check::Unverified };
    let turns = debate.call(&want.call).into_iter().flat_map(|call| &call.turns);
    let looks = turns.flat_map(|turn| {
        let asked = turn.prose.shown().map_or(&[][..], |prose| &prose.arguments);
        turn.tools.iter().zip(asked)
    });
    let mut found = looks.filter(|(tool, asked)| tool.tool == CHECK_TOOL && **asked == arguments);
    let result = found.find_map(|(tool, _)| tool.result.shown().filter(|_| tool.answered == Some(true)));
    match result {
        Some(result) if result.starts_with(VERIFIED) => Check::Verified,
        Some(result) if result.starts_with(REFUTED) => Check::Refuted,
        Some(_) | None => Check::Unverified,
    }
}

/// Returns how a response meets its challenge; an answer without words is a refusal.
fn response(said: &Response) -> Option<ResponseFact> {
    let stance = match said.stance {
        Stance::Answer if said.text.trim().is_empty() => Stance::Refuse,
        stance @ (Stance::Answer | Stance::Concede | Stance::Refuse) => stance,
    };
    Some(ResponseFact { challenge: said.challenge.parse().ok()?, stance })
}

fn challenges(debate: &Debate<Investigation>, want: &Want, round: u32, said: &[Challenge]) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (challenge, number) in said.iter().take(CHALLENGES_MAX).zip(1..) {
        let id = ChallengeId { round, number };
        let seat = challenged(debate, challenge);
        let counter_evidence = challenge.counter_evidence.iter().filter(|one| one.concrete().is_some());
        let broken = match seat {
            Some(seat) => fault(debate, seat, challenge),
            None => Some(Violation::NoEvidence),
        };
        let hypothesis = seat.map(|seat| seat.hypothesis);
        let raised = ChallengeRaised {
            id,
            revision: want.revision,
            hypothesis,
            kind: challenge.kind,
            expects: challenge.expects,
            counter_evidence: count(counter_evidence.count()),
            stands: broken.is_none(),
            prose: Prose::new(challenge.clone()),
        };
        facts.push(raised.into());
        let hides = seat.filter(|seat| broken.is_none() && hides(debate, want, seat, challenge));
        let found = match (broken, hides) {
            (Some(broken), _) => violation(want, &DEVILS_ADVOCATE.into(), broken),
            (None, Some(seat)) => violation(want, &seat.investigator, Violation::HiddenEvidence),
            (None, None) => continue,
        };
        facts.push(ViolationFound { hypothesis, challenge: Some(id), ..found }.into());
    }
    facts
}

/// Returns the seat whose hypothesis is challenged: the one named, else that of the investigator named.
fn challenged<'a>(debate: &'a Debate<Investigation>, challenge: &Challenge) -> Option<&'a Seat> {
    let mut seats = debate.state().seats(debate.config());
    let to = challenge.to.trim();
    seats.find(|seat| match challenge.hypothesis {
        Some(number) => seat.hypothesis == number,
        None => seat.investigator.as_str().eq_ignore_ascii_case(to),
    })
}

/// Returns what keeps a challenge from having to be answered.
fn fault(debate: &Debate<Investigation>, seat: &Seat, challenge: &Challenge) -> Option<Violation> {
    let width: usize = challenge.challenge.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
    let has_evidence = challenge.counter_evidence.iter().any(|one| one.concrete().is_some());
    let needs_evidence = challenge.kind == ChallengeKind::CounterEvidence;
    if width < REASON_WIDTH_MIN || needs_evidence && !has_evidence {
        return Some(Violation::NoEvidence);
    }
    let state = debate.state();
    let closed = state.closed(u32::MAX);
    let said = words(&challenge.challenge, 1);
    let is_same = |text: &str| jaccard(&words(text, 1), &said) >= REPEATED_MIN;
    let mut answered =
        state.challenges_to(seat.hypothesis, u32::MAX).filter(|raised| closed.contains(&raised.id));
    if answered.any(|raised| raised.prose.shown().is_some_and(|prose| is_same(&prose.challenge))) {
        return Some(Violation::ChallengeRepeated);
    }
    independence::is_broken(debate, seat, challenge).then_some(Violation::IndependenceBroken)
}

/// Returns whether a challenge shows adverse evidence that the investigator left out (rule I5). Where there is a workspace,
/// evidence counts for that only if it was found there.
fn hides(debate: &Debate<Investigation>, want: &Want, seat: &Seat, challenge: &Challenge) -> bool {
    let reported = |shown: &Evidence| {
        let mut messages = debate.state().messages(&seat.investigator, u32::MAX);
        messages.any(|message| {
            let mut known = message.prose.shown().into_iter().flat_map(Report::evidence);
            known.any(|(_, evidence)| evidence.is_of_same_place(shown))
        })
    };
    let is_found = |one: &Evidence| !debate.config().workspace || check(debate, want, one) == Check::Verified;
    let mut shown = challenge.counter_evidence.iter().filter(|one| one.concrete().is_some());
    challenge.hidden && shown.any(|one| is_found(one) && !reported(one))
}

fn status(debate: &Debate<Investigation>, want: &Want, round: u32, said: &StatusUpdate) -> StatusUpdated {
    let state = debate.state();
    let mut answered: Vec<ChallengeId> = said.answered.iter().filter_map(|id| id.parse().ok()).collect();
    answered.retain(|id| state.stance(*id, round) == Some(Stance::Answer));
    answered.sort_unstable();
    answered.dedup();
    let is_known = |number: &u32| state.seats(debate.config()).any(|seat| seat.hypothesis == *number);
    StatusUpdated {
        round,
        revision: want.revision,
        leading: said.leading.filter(is_known),
        convergence: said.convergence,
        answered,
        prose: Prose::new(said.clone()),
    }
}

fn verdict(
    debate: &Debate<Investigation>,
    want: &Want,
    round: u32,
    said: &Verdict,
) -> Result<Vec<Fact>, String> {
    if said.needs_more_information && said.missing.is_empty() {
        return Err("say what information is missing".to_owned());
    }
    let (config, state) = (debate.config(), debate.state());
    let strongest = state.strongest(config, round).ok_or("there is no hypothesis to name")?;
    let named = state.seats(config).find(|seat| Some(seat.hypothesis) == said.hypothesis);
    let named = named.map(|seat| seat.hypothesis);
    if let Some(named) = named.filter(|named| !state.is_trusted(*named, round))
        && state.is_trusted(strongest, round)
    {
        return Err(format!("H{named} is marked as untrusted; name one that is not"));
    }
    let hypothesis = named.unwrap_or(strongest);
    let brought = |ids: &[String]| {
        let seat = state.seats(config).find(|seat| seat.hypothesis == hypothesis);
        let of = format!("H{hypothesis}.E");
        let numbers = ids.iter().filter_map(|id| id.trim().strip_prefix(&of)?.parse::<u32>().ok());
        let is_there = |number: &u32| {
            let mut there = seat.into_iter().flat_map(|seat| state.evidence(&seat.investigator, round));
            there.any(|evidence| evidence.number == *number && evidence.counts())
        };
        numbers.filter(is_there).collect()
    };
    let rendered = VerdictRendered {
        round,
        revision: want.revision,
        hypothesis,
        named_by: if named.is_some() { NamedBy::Synthesizer } else { NamedBy::Standing },
        confidence: confidence(said.confidence),
        needs_more_information: said.needs_more_information,
        evidence_for: brought(&said.evidence_for),
        evidence_against: brought(&said.evidence_against),
        prose: Prose::new(said.clone()),
    };
    let found = violation(want, &SYNTHESIZER.into(), Violation::ConvergenceBroken);
    let broken = named.is_none().then(|| ViolationFound { hypothesis: Some(hypothesis), ..found }.into());
    Ok(std::iter::once(rendered.into()).chain(broken).collect())
}

fn conclusion(
    debate: &Debate<Investigation>,
    want: &Want,
    round: u32,
    said: &Conclusion,
) -> Result<ConclusionConveyed, String> {
    if said.text.trim().is_empty() {
        return Err("the conclusion says nothing".to_owned());
    }
    Ok(ConclusionConveyed {
        round,
        revision: want.revision,
        violations_told: count(debate.state().violations().count()),
        prose: Prose::new(said.clone()),
    })
}
