//! The points of others that an argument answers, with words that really stand in them (P10, P11).

use serde::Serialize;

use super::sheet::{Point, Sheet};
use super::stance::{self, View};
use super::{phrases, room};
use crate::simulated::Draw;

/// Words of a point that are quoted, at most.
const QUOTE_WORDS_MAX: usize = 12;
const QUOTE_WORDS_TIGHT: usize = 6;
/// The fewest letters that can be told from chance.
const QUOTE_CHARS_MIN: usize = 10;
/// Clauses shorter than this are quoted only where there are no others.
const CLAUSE_BYTES: usize = 24;

/// Words that do not end a clause.
const DANGLING: [&str; 20] = [
    "a", "an", "and", "as", "at", "but", "by", "for", "from", "I", "in", "is", "it", "of", "on", "or",
    "that", "the", "to", "with",
];

/// A citation as it is replied.
#[derive(Serialize)]
pub(super) struct Cite<'a> {
    pub(super) point: &'a str,
    pub(super) quote: &'a str,
}

impl Cite<'_> {
    /// Returns about how many tokens it takes.
    pub(super) fn cost(&self) -> usize {
        10 + room::cost(self.point) + room::cost(self.quote)
    }
}

/// A point with words of it.
pub(super) type Quoted<'a> = (&'a Point<'a>, &'a str);

/// The points that a reply answers.
#[derive(Default)]
pub(super) struct Answered<'a> {
    /// The roles that are rebutted.
    pub(super) rebuts: Vec<&'a str>,
    /// The point that is spoken against.
    pub(super) rebutted: Option<Quoted<'a>>,
    /// The point that is given way to.
    pub(super) conceded: Option<Quoted<'a>>,
}

impl<'a> Answered<'a> {
    /// Picks what to answer: the one farthest away is rebutted, the strongest of the others is given way to.
    pub(super) fn of(sheet: &'a Sheet<'a>, view: &View, is_tight: bool, draw: &mut Draw) -> Self {
        let words_max = if is_tight { QUOTE_WORDS_TIGHT } else { QUOTE_WORDS_MAX };
        let is_earlier = |point: &&Point<'_>| point.round < sheet.task.round;
        let quoted =
            |point: &'a Point<'a>, draw: &mut Draw| Some((point, quote(&point.text, words_max, draw)?));
        let agreement = |place: usize| stance::spread(&sheet.points[place], &view.base)[view.supports];
        let farthest =
            view.others.iter().copied().min_by(|a, b| agreement(*a).total_cmp(&agreement(*b)).then(a.cmp(b)));
        let strongest = view.strongest.filter(|place| Some(*place) != farthest);
        let mut answered = Self::default();
        let earlier = |place: Option<usize>| place.map(|place| &sheet.points[place]).filter(is_earlier);
        answered.conceded = earlier(strongest).and_then(|point| quoted(point, draw));
        if !is_tight || answered.conceded.is_none() {
            answered.rebutted = earlier(farthest).and_then(|point| quoted(point, draw));
        }
        if answered.conceded.is_none() && answered.rebutted.is_none() {
            // The latest points are of this very round, or show no words: any earlier one will do.
            answered.conceded = sheet.points.iter().filter(is_earlier).find_map(|point| quoted(point, draw));
        }
        answered.rebuts.extend(farthest.map(|place| sheet.points[place].role));
        if !is_tight && view.others.len() > 3 && draw.chance(0.25) {
            answered.rebuts.extend(strongest.map(|place| sheet.points[place].role));
        }
        answered
    }

    /// Returns the points answered as citations.
    pub(super) fn cites(&self) -> Vec<Cite<'a>> {
        let cited = [self.conceded, self.rebutted].into_iter().flatten();
        cited.map(|(point, quote)| Cite { point: point.id, quote }).collect()
    }
}

/// Returns citations that are none: nothing at all, or words that stand nowhere.
pub(super) fn uncited<'a>(sheet: &'a Sheet<'a>, draw: &mut Draw) -> Vec<Cite<'a>> {
    let point = sheet.points.first().filter(|_| draw.chance(0.5));
    let cite = point.map(|point| Cite { point: point.id, quote: "words that nobody said in this debate" });
    cite.into_iter().collect()
}

/// Returns words that stand in a text, one clause of it; `None` where it has too few.
pub(super) fn quote<'a>(text: &'a str, words_max: usize, draw: &mut Draw) -> Option<&'a str> {
    let text = text.trim().trim_end_matches('…');
    let text = text.strip_prefix(phrases::MARK).unwrap_or(text);
    let parts = text.split(['“', '”', ';', '(', ')', '\u{fffd}']);
    let parts = parts.flat_map(|part| part.split(". ")).flat_map(|part| part.split(": "));
    let clauses = parts
        .map(|part| part.trim_matches(is_mark))
        .map(|part| whole_words(room::beginning(part, words_max, 40)))
        .filter(|part| part.chars().nth(QUOTE_CHARS_MIN - 1).is_some());
    let clauses: Vec<&str> = clauses.collect();
    let whole: Vec<&str> = clauses.iter().copied().filter(|clause| clause.len() >= CLAUSE_BYTES).collect();
    draw.pick(if whole.is_empty() { &clauses } else { &whole }).copied()
}

fn is_mark(letter: char) -> bool {
    letter.is_ascii_punctuation() || letter == ' '
}

/// Takes from the end of a clause what cannot end one.
fn whole_words(clause: &str) -> &str {
    let mut clause = clause.trim_end_matches(is_mark);
    while let Some((rest, last)) = clause.rsplit_once(' ') {
        if !DANGLING.contains(&last) || rest.len() < CLAUSE_BYTES {
            break;
        }
        clause = rest.trim_end_matches(is_mark);
    }
    clause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p11_a_quote_stands_in_the_text_and_leaves_the_mark_out() {
        let text = "[simulated] I put Yes at 62 %. In r1.pessimist the pessimist claims “risks grow with every month”; \
                    the prior of 0.21 says otherwise, and so does the trend…";
        let mut draw = Draw::new(1);
        let mut quotes: Vec<&str> = (0..50).filter_map(|_| quote(text, 8, &mut draw)).collect();
        assert!(
            quotes.iter().all(|quote| text.contains(quote) && !quote.contains("simulated")),
            "{quotes:?}"
        );
        quotes.sort_unstable();
        quotes.dedup();
        assert!(quotes.len() > 2, "{quotes:?}");
        assert_eq!(quote("too short", 8, &mut draw), None);
        assert_eq!(quote("", 8, &mut draw), None);
    }
}
