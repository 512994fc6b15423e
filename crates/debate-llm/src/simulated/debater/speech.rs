//! Puts an argument into words, sentence by sentence, as long as there is room.

use std::borrow::Cow;

use super::answered::{self, Answered, Quoted};
use super::phrases::{self, Slots};
use super::room;
use super::sheet::{Fact, FactKind, Sheet};
use super::stance::{self, Stance, View};
use crate::simulated::Draw;

/// Moves of fewer percent are called none.
const MOVE_PERCENT_MIN: f64 = 2.0;

/// Tokens of an argument that may begin with a fact.
const ROOM_FOR_A_FACT_FIRST: usize = 120;

/// How long the public argument may be.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) tokens: usize,
    pub(super) words: usize,
}

/// What is to be said.
pub(super) struct Speech<'a> {
    pub(super) sheet: &'a Sheet<'a>,
    pub(super) view: &'a View,
    pub(super) stance: Stance,
    /// The probabilities as the reply states them.
    pub(super) stated: &'a [f64],
    pub(super) answered: &'a Answered<'a>,
    pub(super) facts: &'a [&'a Fact<'a>],
}

/// Names and figures of a speech as they are written.
struct Figures<'a> {
    outcome: Cow<'a, str>,
    rival: Cow<'a, str>,
    target: Cow<'a, str>,
    percent: String,
    rival_percent: String,
    target_percent: String,
    base_percent: String,
    before_percent: String,
    topic: Cow<'a, str>,
}

/// The text so far.
struct Page {
    text: String,
    tokens: usize,
    words: usize,
    limits: Limits,
    used: Vec<&'static str>,
}

impl Speech<'_> {
    /// Writes the argument: claim, answers to others, facts, prior, doubt.
    pub(super) fn write(&self, limits: Limits, draw: &mut Draw) -> String {
        let figures = self.figures();
        let slots = figures.slots();
        let mut page = Page::new(limits);
        let mut facts = self.facts.iter().filter(|fact| fact.kind != FactKind::Gap);
        // Others are shown the beginning alone where room is short, so that a fact may well come first.
        if self.sheet.task.round == 1 && limits.tokens >= ROOM_FOR_A_FACT_FIRST && draw.chance(0.5) {
            self.weigh(&mut page, facts.next(), &slots, draw);
        }
        self.claim(&mut page, &figures, draw);
        if let Some(rebutted) = self.answered.rebutted {
            self.rebut(&mut page, rebutted, facts.next(), &slots, draw);
        }
        if let Some((point, quote)) = self.answered.conceded {
            let quote = answered::in_prose(quote);
            let slots = Slots { speaker: point.role, id: point.id, quote: &quote, ..slots.clone() };
            page.say(draw, if self.has_moved() { &phrases::CONCESSIONS } else { &phrases::HOLDS }, &slots);
        }
        for fact in facts {
            self.weigh(&mut page, Some(fact), &slots, draw);
        }
        if self.facts.is_empty() && self.answered.rebuts.is_empty() {
            page.say(draw, &phrases::NO_FACTS, &slots);
        }
        self.weigh_prior(&mut page, &slots, draw);
        if let Some(gap) = self.facts.iter().find(|fact| fact.kind == FactKind::Gap) {
            let gap = room::clipped(&gap.text, 14, 28);
            page.say(draw, &phrases::GAPS, &Slots { fact: &gap, ..slots.clone() });
        }
        let last: &[&'static str] =
            if self.sheet.task.phase == "closing" { &phrases::CLOSINGS } else { &phrases::DOUBTS };
        page.say(draw, last, &slots);
        page.text
    }

    fn claim(&self, page: &mut Page, figures: &Figures<'_>, draw: &mut Draw) {
        let slots = figures.slots();
        let has_spoken = self.view.before.is_some();
        if has_spoken && self.has_moved() && self.answered.conceded.is_none() {
            page.say(draw, &phrases::MOVED_CLAIMS, &slots);
        } else if has_spoken && !self.has_moved() && draw.chance(0.6) {
            page.say(draw, &phrases::HELD_CLAIMS, &slots);
        } else if self.view.supports == self.view.target {
            page.say(draw, &phrases::claims(self.stance), &slots);
        } else {
            let slots = Slots { rival: &figures.target, rival_percent: &figures.target_percent, ..slots };
            page.say(draw, &phrases::CONCEDED_CLAIMS, &slots);
        }
    }

    fn weigh(&self, page: &mut Page, fact: Option<&&Fact<'_>>, slots: &Slots<'_>, draw: &mut Draw) {
        let Some(fact) = fact else { return };
        let text = phrased(fact);
        let slots = Slots { fact: &text, ..slots.clone() };
        if self.speaks_against(fact) {
            page.say(draw, &phrases::FACTS_AGAINST, &slots);
        } else {
            page.say(draw, &phrases::facts_for(self.stance), &slots);
        }
    }

    fn rebut(
        &self,
        page: &mut Page,
        (point, quote): Quoted<'_>,
        fact: Option<&&Fact<'_>>,
        slots: &Slots<'_>,
        draw: &mut Draw,
    ) {
        let quote = answered::in_prose(quote);
        let slots = Slots { speaker: point.role, id: point.id, quote: &quote, ..slots.clone() };
        let fact = fact.filter(|fact| !self.speaks_against(fact)).map(|fact| phrased(fact));
        let said = fact.is_some_and(|fact| {
            page.say(draw, &phrases::REBUTTALS_WITH_FACT, &Slots { fact: &fact, ..slots.clone() })
        });
        if !said {
            page.say(draw, &phrases::REBUTTALS, &slots);
        }
    }

    fn weigh_prior(&self, page: &mut Page, slots: &Slots<'_>, draw: &mut Draw) {
        if self.sheet.outcomes.get(self.view.supports).is_none_or(|outcome| outcome.prior.is_none()) {
            return;
        }
        let moved = self.stated[self.view.supports] - self.view.base[self.view.supports];
        let patterns = if moved * 100.0 >= MOVE_PERCENT_MIN {
            &phrases::PRIOR_UP
        } else if moved * 100.0 <= -MOVE_PERCENT_MIN {
            &phrases::PRIOR_DOWN
        } else {
            &phrases::PRIOR_SAME
        };
        page.say(draw, patterns, slots);
    }

    /// Returns whether the role's own figure has moved since it last spoke.
    fn has_moved(&self) -> bool {
        let place = self.view.supports;
        let before = self.view.before.as_ref().map(|before| before[place]);
        before.is_some_and(|before| (before - self.stated[place]).abs() * 100.0 >= MOVE_PERCENT_MIN)
    }

    /// Returns whether a fact reads against the outcome that is spoken for.
    fn speaks_against(&self, fact: &Fact<'_>) -> bool {
        let view = self.view;
        if fact.kind == FactKind::Forecast {
            return view.supports != stance::likeliest(&view.base, None);
        }
        (fact.tone > 0 && view.supports == view.worst && view.best != view.worst)
            || (fact.tone < 0 && view.supports == view.best && view.best != view.worst)
    }

    fn figures(&self) -> Figures<'_> {
        let view = self.view;
        let label = |place: usize| {
            let label = self.sheet.outcomes.get(place).map_or("the only outcome", |outcome| &outcome.label);
            let label = room::clipped(label, 8, 16);
            if label.contains(' ') { Cow::Owned(format!("“{label}”")) } else { label }
        };
        let percent = |shares: &[f64], place: usize| {
            let percent = shares.get(place).copied().unwrap_or(1.0) * 100.0;
            if percent < 1.0 { "under 1".to_owned() } else { format!("{percent:.0}") }
        };
        Figures {
            outcome: label(view.supports),
            rival: label(view.rival),
            target: label(view.target),
            percent: percent(self.stated, view.supports),
            rival_percent: percent(self.stated, view.rival),
            target_percent: percent(self.stated, view.target),
            base_percent: percent(&view.base, view.supports),
            before_percent: percent(view.before.as_deref().unwrap_or(&view.base), view.supports),
            topic: room::clipped(&self.sheet.question, 14, 30),
        }
    }
}

impl Figures<'_> {
    fn slots(&self) -> Slots<'_> {
        Slots {
            outcome: &self.outcome,
            rival: &self.rival,
            percent: &self.percent,
            rival_percent: &self.rival_percent,
            base_percent: &self.base_percent,
            before_percent: &self.before_percent,
            topic: &self.topic,
            ..Slots::default()
        }
    }
}

impl Page {
    fn new(limits: Limits) -> Self {
        let mut text = String::with_capacity(limits.tokens * 5);
        text.push_str(phrases::MARK);
        let tokens = room::cost(&text);
        Self { text, tokens, words: 1, limits, used: Vec::new() }
    }

    /// Writes one of the patterns if there is room for it; the first sentence is written in any case, if need be short.
    fn say(&mut self, draw: &mut Draw, patterns: &[&'static str], slots: &Slots<'_>) -> bool {
        let first = draw.below(patterns.len());
        let (before, from) = patterns.split_at(first);
        let fresh = from.iter().chain(before).find(|pattern| !self.used.contains(*pattern));
        let pattern = fresh.or(patterns.first()).copied().unwrap_or_default();
        self.used.push(pattern);
        let is_first = self.words == 1;
        self.fits(pattern, slots) || is_first && self.fits(phrases::SHORTEST_CLAIM, slots)
    }

    /// Writes a sentence if there is room for it.
    fn fits(&mut self, pattern: &str, slots: &Slots<'_>) -> bool {
        let end = self.text.len();
        self.text.push(' ');
        phrases::fill(pattern, slots, &mut self.text);
        let said = &self.text[end..];
        let (tokens, words) = (room::cost(said), said.bytes().filter(|byte| *byte == b' ').count());
        let is_within = self.tokens + tokens <= self.limits.tokens && self.words + words <= self.limits.words;
        if !is_within && pattern != phrases::SHORTEST_CLAIM {
            self.text.truncate(end);
            return false;
        }
        capitalise(&mut self.text, end + 1);
        self.tokens += tokens;
        self.words += words;
        true
    }
}

/// Makes the letter at a place a capital one, where it is a small ASCII letter.
fn capitalise(text: &mut String, at: usize) {
    if let Some(letter) = text[at..].chars().next().filter(char::is_ascii_lowercase) {
        let capital = letter.to_ascii_uppercase();
        text.replace_range(at..at + 1, capital.encode_utf8(&mut [0; 4]));
    }
}

/// Returns a fact as it stands in a sentence: a variable with its value, anything else in quotation marks.
fn phrased(fact: &Fact<'_>) -> String {
    match fact.kind {
        FactKind::Variable => match fact.text.split_once(" = ") {
            Some((name, value)) => {
                format!("{} ({})", room::clipped(name, 10, 20), room::clipped(value, 10, 20))
            }
            None => room::clipped(&fact.text, 10, 20).into_owned(),
        },
        FactKind::Finding | FactKind::Forecast | FactKind::Data | FactKind::Gap | FactKind::Background => {
            format!("“{}”", room::clipped(&fact.text, 18, 34))
        }
    }
}
