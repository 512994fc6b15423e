//! Makes up an argument: a forecast that leans as its role does, and the words for it, out of what the prompt shows.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use super::answered::{self, Answered, Cite};
use super::numbers::Numbers;
use super::phrases;
use super::room;
use super::sheet::{Fact, FactKind, Sheet};
use super::speech::{Limits, Speech};
use super::stance::{self, Stance, View};
use crate::simulated::{Draw, Flaws};

/// Tokens that a whole reply may have at most (P15).
const REPLY_TOKENS_MAX: usize = 500;
/// Tokens that the public argument may have at most (P15), less a margin for the estimate.
const ARGUMENT_TOKENS_MAX: usize = 280;
/// Tokens of the reply's keys and brackets.
const FRAME_TOKENS: usize = 64;
/// Room below which a reply has nothing but what it must.
const ROOM_TO_SPARE: usize = 200;
/// An outcome that the question does not list (P7).
const UNLISTED: &str = "Unlisted outcome";

#[derive(Serialize)]
struct Reply<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    claim: &'a str,
    argument: &'a str,
    supports: &'a str,
    probabilities: Numbers<'a>,
    confidence: f64,
    evidence_cited: Vec<Cow<'a, str>>,
    rebuts: Vec<&'a str>,
    cites: Vec<Cite<'a>>,
    precedents: Vec<Precedent<'a>>,
}

#[derive(Serialize)]
struct Precedent<'a> {
    event: String,
    date: String,
    outcome: &'a str,
    relevance: &'a str,
    similarity_score: f64,
}

/// Returns the text of a reply of at most `tokens_max` tokens.
pub(super) fn reply(sheet: &Sheet<'_>, tokens_max: usize, draw: &mut Draw, flaws: &Flaws) -> String {
    let stance = Stance::of(sheet.task.role, sheet.system);
    let view = View::of(sheet, stance, draw);
    let tokens_max = tokens_max.min(REPLY_TOKENS_MAX);
    let mut room = (tokens_max * 19 / 20).saturating_sub(FRAME_TOKENS);
    let is_tight = room < ROOM_TO_SPARE;

    let stated = stance::stated(&view.probabilities);
    let letters = sheet.outcomes.iter().map(|outcome| outcome.letter);
    let mut probabilities = Numbers(letters.zip(stated.iter().copied()).collect());
    if probabilities.0.is_empty() {
        probabilities.0.push(("A", 1.0));
    }
    if flaws.unknown_outcome {
        probabilities.0.push((UNLISTED, 0.1));
    }
    room = room.saturating_sub(probabilities.0.iter().map(|(name, _)| room::cost(name) + 4).sum());

    let precedents = if sheet.task.precedents { precedents(sheet, &view, draw, flaws) } else { Vec::new() };
    room = room.saturating_sub(precedents.iter().map(Precedent::cost).sum());
    let answered = Answered::of(sheet, &view, is_tight, draw);
    let cites = if flaws.missing_citation { answered::uncited(sheet, draw) } else { answered.cites() };
    room = room.saturating_sub(cites.iter().map(Cite::cost).sum());
    room = room.saturating_sub(answered.rebuts.iter().map(|name| room::cost(name) + 1).sum());

    let chosen = if flaws.weak_argument { Vec::new() } else { chosen(sheet, &view, stance, draw) };
    let evidence_room = if is_tight { room / 4 } else { room / 3 };
    let mut evidence = evidence(&chosen, evidence_room);
    if let Some((point, quote)) = answered.conceded.filter(|_| evidence.is_empty() && !flaws.weak_argument) {
        let text = format!("{}: {quote}", point.id);
        evidence.extend((room::cost(&text) < evidence_room).then_some(Cow::Owned(text)));
    }
    room = room.saturating_sub(evidence.iter().map(|text| room::cost(text) + 2).sum());

    let thinking = thinking(sheet, &view, if is_tight { 0 } else { 24 });
    let claim = if sheet.task.claim { claim(sheet, &view, stated[view.supports]) } else { String::new() };
    room = room.saturating_sub(room::cost(&thinking) + room::cost(&claim));
    let limits = Limits {
        tokens: room.min(ARGUMENT_TOKENS_MAX).min(tokens_max * 9 / 16),
        words: sheet.task.words_max,
    };
    let argument = if flaws.weak_argument {
        empty(sheet, draw)
    } else {
        Speech { sheet, view: &view, stance, stated: &stated, answered: &answered, facts: &chosen }
            .write(limits, draw)
    };
    let reply = Reply {
        thinking: &thinking,
        claim: &claim,
        argument: &argument,
        supports: sheet.outcomes.get(view.supports).map_or("A", |outcome| outcome.letter),
        probabilities,
        confidence: view.confidence(sheet.facts.len(), draw),
        evidence_cited: evidence,
        rebuts: answered.rebuts,
        cites,
        precedents,
    };
    serde_json::to_string(&reply).unwrap_or_default()
}

/// Returns what the argument holds, in one sentence.
fn claim(sheet: &Sheet<'_>, view: &View, probability: f64) -> String {
    let label = sheet.outcomes.get(view.supports).map_or("the first outcome", |outcome| &*outcome.label);
    format!("{label} is the likeliest outcome, at {:.0} %.", probability * 100.0)
}

impl Precedent<'_> {
    fn cost(&self) -> usize {
        let texts = [&*self.event, &*self.date, self.outcome, self.relevance];
        24 + texts.into_iter().map(room::cost).sum::<usize>()
    }
}

/// Returns the facts that a role rests on, the weightiest for it first.
fn chosen<'a>(sheet: &'a Sheet<'a>, view: &View, stance: Stance, draw: &mut Draw) -> Vec<&'a Fact<'a>> {
    let count = sheet.facts.len();
    let weight = |place: usize, fact: &Fact<'_>, draw: &mut Draw| {
        let kind = match fact.kind {
            FactKind::Finding => 2.0,
            FactKind::Variable | FactKind::Data => 1.6,
            FactKind::Forecast => 0.2,
            FactKind::Gap => -2.0,
            FactKind::Background => 0.8,
        };
        let tone = f64::from(fact.tone.clamp(-3, 3));
        let digits = fact.text.bytes().any(|byte| byte.is_ascii_digit());
        let early = 1.0 - place as f64 / count as f64;
        let taste = match stance {
            Stance::Hopeful => tone * 0.7,
            Stance::Wary => -tone * 0.7,
            Stance::Against => 0.8 - early * 0.8,
            Stance::BaseRate => {
                if digits {
                    0.9
                } else {
                    0.0
                }
            }
            Stance::Balanced => early * 0.8,
            Stance::Own(_) => 0.0,
        };
        // Later rounds bring up what was not yet said.
        let is_said = view
            .others
            .iter()
            .any(|point| sheet.points[*point].text.contains(room::beginning(&fact.text, 4, 20)));
        kind + taste + draw.between(0.0, 1.2) - if is_said { 0.5 } else { 0.0 }
    };
    let mut weighed: Vec<(f64, &Fact<'_>)> =
        sheet.facts.iter().enumerate().map(|(place, fact)| (weight(place, fact, draw), fact)).collect();
    weighed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut chosen: Vec<&Fact<'_>> = weighed.into_iter().map(|(_, fact)| fact).take(3).collect();
    let gap = sheet.facts.iter().filter(|fact| fact.kind == FactKind::Gap);
    let gaps: Vec<&Fact<'_>> = gap.collect();
    if !chosen.iter().any(|fact| fact.kind == FactKind::Gap) {
        chosen.extend(draw.pick(&gaps).copied());
    }
    chosen
}

/// Returns the facts as a reply cites them, as far as there is room.
fn evidence<'a>(chosen: &[&'a Fact<'a>], mut room: usize) -> Vec<Cow<'a, str>> {
    let mut evidence = Vec::new();
    let facts = chosen.iter().filter(|fact| fact.kind != FactKind::Gap);
    for fact in facts.take(3) {
        let text = room::clipped(&fact.text, 16, room.saturating_sub(2).min(30));
        let cost = room::cost(&text) + 2;
        if cost > room || text.chars().count() < 4 {
            break;
        }
        room -= cost;
        evidence.push(text);
    }
    evidence
}

/// Returns an argument that says nothing, and that the prompt does not show already (rule P27).
fn empty(sheet: &Sheet<'_>, draw: &mut Draw) -> String {
    let mut argument = phrases::MARK.to_owned();
    let is_new = |text: &str| !sheet.points.iter().any(|point| point.text == text);
    loop {
        let all = phrases::EMPTY.map(|phrase| format!("{argument} {phrase}"));
        let new: Vec<&String> = all.iter().filter(|text| is_new(text)).collect();
        if let Some(text) = draw.pick(&new) {
            return (*text).clone();
        }
        argument.push_str(" Really.");
    }
}

fn thinking(sheet: &Sheet<'_>, view: &View, tokens_max: usize) -> String {
    if tokens_max == 0 {
        return String::new();
    }
    let mut notes = String::new();
    if sheet.is_rejected {
        notes.push_str("Mend what was rejected. ");
    }
    let (from, to) =
        (view.before.as_ref().unwrap_or(&view.base)[view.supports], view.probabilities[view.supports]);
    let _infallible = write!(
        notes,
        "From {:.0} to {:.0} %; {} facts, {} points read.",
        from * 100.0,
        to * 100.0,
        sheet.facts.len(),
        sheet.points.len()
    );
    notes
}

/// Makes up precedents, each plainly marked as made up (P12).
fn precedents<'a>(sheet: &'a Sheet<'a>, view: &View, draw: &mut Draw, flaws: &Flaws) -> Vec<Precedent<'a>> {
    let count = if flaws.missing_precedents { draw.below(2) } else { 2 };
    let first = draw.below(phrases::PRECEDENTS.len());
    let made = (0..count).map(|number| {
        let (event, relevance) = phrases::PRECEDENTS[(first + number) % phrases::PRECEDENTS.len()];
        let ended = if number == 0 || draw.chance(0.6) { view.supports } else { view.rival };
        Precedent {
            event: format!("Simulated precedent {}: {event}", number + 1),
            date: format!("{} (simulated)", 1995 + draw.below(29)),
            outcome: sheet
                .outcomes
                .get(ended)
                .map_or("unknown", |outcome| room::beginning(&outcome.label, 6, 12)),
            relevance,
            similarity_score: draw.between(0.45, 0.85).mul_add(100.0, 0.0).round() / 100.0,
        }
    });
    made.collect()
}
