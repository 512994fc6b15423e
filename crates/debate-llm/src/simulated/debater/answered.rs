//! The points of others that an argument answers, with words that really stand in them (P10, P11).

use std::borrow::Cow;

use serde::Serialize;

use super::sheet::{Point, Sheet};
use super::stance::{self, View};
use super::{phrases, room};
use crate::simulated::Draw;

/// Words of a point that are quoted, at most.
const QUOTE_WORDS_MAX: usize = 12;
const QUOTE_WORDS_TIGHT: usize = 6;
/// Tokens of a quotation at most.
const QUOTE_TOKENS_MAX: usize = 36;
/// The fewest letters that a quotation needs to differ from a chance match.
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

/// Returns quoted words as they stand in a sentence, inner quotation marks single.
pub(super) fn in_prose(quote: &str) -> Cow<'_, str> {
    if quote.contains(['“', '”']) {
        Cow::Owned(quote.replace('“', "‘").replace('”', "’"))
    } else {
        Cow::Borrowed(quote)
    }
}

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

/// Returns words that stand in a text, of one sentence of it; `None` where it has too few.
///
/// Sentences that say a fact or a figure are preferred to others.
pub(super) fn quote<'a>(text: &'a str, words_max: usize, draw: &mut Draw) -> Option<&'a str> {
    let text = text.trim().trim_end_matches('…');
    let text = text.strip_prefix(phrases::MARK).unwrap_or(text).trim_start();
    let sentences = text.split(". ").map(|sentence| span(sentence, words_max));
    let spans: Vec<&str> = sentences.filter(|span| span.chars().nth(QUOTE_CHARS_MIN - 1).is_some()).collect();
    let is_telling = |span: &&str| span.len() >= CLAUSE_BYTES && span.contains(char::is_whitespace);
    let telling: Vec<&str> = spans.iter().copied().filter(is_telling).collect();
    let beginning = || whole_words(room::beginning(text, words_max, QUOTE_TOKENS_MAX));
    let picked = draw.pick(if telling.is_empty() { &spans } else { &telling }).copied();
    picked.or_else(|| Some(beginning()).filter(|words| words.chars().nth(QUOTE_CHARS_MIN - 1).is_some()))
}

/// Returns the part of a sentence that is quoted: what it quotes itself where it begins with that, else its beginning
/// up to a comma or colon.
fn span(sentence: &str, words_max: usize) -> &str {
    let sentence = sentence.trim().trim_start_matches('\u{fffd}');
    if let Some((inner, _)) = sentence.strip_prefix('“').and_then(|rest| rest.split_once(['”', '…'])) {
        return whole_words(room::beginning(inner, words_max, QUOTE_TOKENS_MAX));
    }
    let sentence = sentence.split('\u{fffd}').next().unwrap_or_default().trim_start_matches(is_mark);
    let mut span = room::beginning(sentence, words_max, QUOTE_TOKENS_MAX);
    if span.len() < sentence.len() {
        let end = span.rfind([',', ':', ';', '(']).filter(|end| *end >= CLAUSE_BYTES);
        span = end.map_or(span, |end| &span[..end]);
    }
    if let Some(open) = span.rfind('“').filter(|open| !span[*open..].contains('”')) {
        let close = sentence[open..].find('”').map(|close| open + close + '”'.len_utf8());
        let whole =
            close.map(|close| &sentence[..close]).filter(|whole| room::tokens(whole) <= QUOTE_TOKENS_MAX);
        let (before, after) = (&span[..open], &span[open + '“'.len_utf8()..]);
        let cut = if open >= CLAUSE_BYTES || before.len() > after.len() { before } else { after };
        span = whole.unwrap_or(cut);
    }
    whole_words(span)
}

fn is_mark(letter: char) -> bool {
    (letter.is_ascii_punctuation() && letter != '%') || letter == ' '
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
        let text = "[simulated] I put Yes at 62 %, not more. In r1.pessimist the pessimist claims “risks grow with \
                    every month of delay”; the prior of 0.21 says otherwise. “The committee met in May and decided \
                    nothing” shows it. So does the trend of the last ten years…";
        let mut draw = Draw::new(1);
        let mut quotes: Vec<&str> = (0..50).filter_map(|_| quote(text, 8, &mut draw)).collect();
        assert!(
            quotes.iter().all(|quote| text.contains(quote) && !quote.contains("simulated")),
            "{quotes:?}"
        );
        quotes.sort_unstable();
        quotes.dedup();
        assert!(quotes.len() > 2, "{quotes:?}");
        let cut_in_a_quote = "[simulated] Hardly anyone weighs “(<a…";
        assert_eq!(quote(cut_in_a_quote, 8, &mut draw), Some("Hardly anyone weighs"));
        assert_eq!(quote("too short", 8, &mut draw), None);
        assert_eq!(quote("", 8, &mut draw), None);
    }
}
