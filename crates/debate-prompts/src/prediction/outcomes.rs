//! Outcomes as prompts name them: by letters, so that a prompt is short and a reply unmistakable (P15).

use std::fmt::Write as _;
use std::sync::Arc;

use debate_core::formats::prediction::answer::OutcomeRef;
use debate_core::formats::prediction::config::{Brief, OutcomeText};
use debate_core::formats::prediction::visible::Subject;
use debate_core::id::OutcomeId;
use debate_core::measures::distribution::Distribution;

use crate::escape;

/// Probabilities that the tag of a point shows at most.
const SHOWN_MAX: usize = 3;

/// The letters of a question's outcomes, in their order. None of them is the label or id of an outcome (rule P25).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Letters(Vec<String>);

impl Letters {
    /// Returns the first letters that mean nothing else.
    pub(super) fn of(ids: &[OutcomeId], texts: &[OutcomeText]) -> Self {
        let labels = || texts.iter().map(|text| text.label.trim());
        let is_free = |letter: &String| {
            !ids.iter().map(OutcomeId::as_str).chain(labels()).any(|name| name.eq_ignore_ascii_case(letter))
        };
        Self((0..).map(letter).filter(is_free).take(ids.len()).collect())
    }

    /// Returns the letters of a question whose labels may be gone.
    pub(super) fn of_subject(subject: &Subject) -> Self {
        let texts = subject.brief.shown().map_or(&[][..], |brief| &brief.outcomes);
        Self::of(&subject.outcomes, texts)
    }

    /// Returns all of them.
    pub(super) fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Returns the letter of the outcome at a place.
    pub(super) fn get(&self, place: usize) -> &str {
        self.0.get(place).map_or("", String::as_str)
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|letter| letter.eq_ignore_ascii_case(name))
    }
}

/// Returns the letter with a number: A to Z, then AA, AB and so on.
fn letter(place: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = place + 1;
    while rest > 0 {
        let digit = (rest - 1) % 26;
        letters.push(char::from(b'A' + u8::try_from(digit).unwrap_or_default()));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect()
}

/// Writes the block of outcomes, one a line: `A | label`, with `| prior 0.21` behind it where one is known.
pub(super) fn block(brief: &Brief, outcomes: &[OutcomeId], only: Option<usize>, priors: bool) -> String {
    let mut block = String::from("<outcomes>\n");
    let letters = Letters::of(outcomes, &brief.outcomes);
    for (place, id) in outcomes.iter().enumerate().filter(|(place, _)| only.is_none_or(|only| only == *place))
    {
        let _infallible = write!(block, "{} | {}", letters.get(place), cell(label(brief, place, id)));
        if let Some(prior) = priors.then(|| prior(brief, id)).flatten() {
            let _infallible = write!(block, " | prior {prior:.2}");
        }
        block.push('\n');
    }
    block.push_str("</outcomes>\n");
    block
}

/// Returns the forms of the block of all outcomes: with priors where there are any, and without.
pub(super) fn forms(brief: &Brief, outcomes: &[OutcomeId]) -> Vec<Arc<str>> {
    let has_priors = !brief.simulation_summary.final_distribution.is_empty();
    let with_priors = has_priors.then_some(true);
    with_priors.into_iter().chain([false]).map(|priors| block(brief, outcomes, None, priors).into()).collect()
}

/// Returns a distribution as the tag of a point shows it: `A 0.60, B 0.40`, of more than three outcomes the likeliest.
pub(super) fn shown(letters: &Letters, distribution: &Distribution) -> String {
    let probabilities = distribution.as_slice();
    let mut places: Vec<usize> = (0..probabilities.len()).collect();
    if places.len() > SHOWN_MAX {
        places.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
        places.truncate(SHOWN_MAX);
    }
    let shown = places.into_iter().map(|place| format!("{} {:.2}", letters.get(place), probabilities[place]));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns a text as one cell of a line: escaped, without line breaks and bars.
fn cell(text: &str) -> String {
    escape::xml_line(text).replace('|', "/")
}

fn label<'a>(brief: &'a Brief, place: usize, id: &'a OutcomeId) -> &'a str {
    brief.outcomes.get(place).map_or(id.as_str(), |text| text.label.as_str())
}

fn prior(brief: &Brief, id: &OutcomeId) -> Option<f64> {
    let priors = &brief.simulation_summary.final_distribution;
    priors.iter().find(|prior| prior.outcome_id == *id).map(|prior| prior.probability)
}

/// The names by which a reply may call the outcomes.
#[derive(Debug)]
pub(super) struct Names<'a> {
    ids: &'a [OutcomeId],
    texts: &'a [OutcomeText],
    letters: Letters,
}

impl<'a> Names<'a> {
    /// Takes the names of a question's outcomes; labels are gone where the brief was redacted.
    pub(super) fn of(subject: &'a Subject) -> Self {
        let texts = subject.brief.shown().map_or(&[][..], |brief| &brief.outcomes);
        Self { ids: &subject.outcomes, texts, letters: Letters::of_subject(subject) }
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the outcome that a reply names: by its letter, its label or id, or letter and label together.
    pub(super) fn find(&self, named: &str) -> OutcomeRef {
        let name = named.trim().trim_matches(['"', '\'', '`', '*', '<', '>']).trim();
        let found = self.place_of(name).or_else(|| {
            let (head, tail) = name.split_once(['|', ':', '(', '-', '–', '—', '='])?;
            let place = self.letters.place_of(head.trim())?;
            let tail = tail.split('|').next().unwrap_or(tail).trim().trim_end_matches(')').trim();
            self.by_label(tail).is_none_or(|labelled| labelled == place).then_some(place)
        });
        found.map_or_else(|| OutcomeRef::Unknown(named.to_owned()), OutcomeRef::Known)
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        let id = || self.ids.iter().position(|id| id.as_str() == name);
        self.letters.place_of(name).or_else(|| self.by_label(name)).or_else(id)
    }

    /// Returns the place of a label, as it stands or as prompts show it; letters' case aside where only one is meant.
    fn by_label(&self, name: &str) -> Option<usize> {
        let exact = self.texts.iter().position(|text| text.label.trim() == name || cell(&text.label) == name);
        exact.or_else(|| {
            let folded = name.to_lowercase();
            let mut alike = (0..self.texts.len())
                .filter(|&place| self.texts[place].label.trim().to_lowercase() == folded);
            alike.next().filter(|_| alike.next().is_none())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'a>(ids: &'a [OutcomeId], texts: &'a [OutcomeText]) -> Names<'a> {
        Names { ids, texts, letters: Letters::of(ids, texts) }
    }

    fn text(label: &str) -> OutcomeText {
        OutcomeText { label: label.to_owned(), description: String::new() }
    }

    #[test]
    fn p15_outcomes_have_letters() {
        let letters = [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB"), (49, "AX"), (51, "AZ"), (52, "BA")];
        for (place, expected) in letters {
            assert_eq!(letter(place), expected);
        }
    }

    #[test]
    fn p25_no_letter_is_the_label_or_id_of_an_outcome() {
        let ids = [OutcomeId::from("flu-b"), OutcomeId::from("flu-a"), OutcomeId::from("c")];
        let texts = [text("B"), text(" a "), text("Neither")];
        let names = names(&ids, &texts);
        assert_eq!(names.letters.as_slice(), ["D", "E", "F"]);
        for (named, place) in [("B", 0), ("A", 1), ("d", 0), ("E", 1), ("c", 2), ("E | a", 1), ("flu-a", 1)] {
            assert_eq!(names.find(named), OutcomeRef::Known(place), "{named}");
        }
        assert_eq!(names.find("D | A"), OutcomeRef::Unknown("D | A".to_owned()));
    }

    #[test]
    fn an_outcome_is_found_by_letter_label_and_id_and_by_nothing_else() {
        let ids = [OutcomeId::from("o-1"), OutcomeId::from("o-2"), OutcomeId::from("o-3")];
        let texts = [text("Yes"), text("No | never"), text("yes, later")];
        let names = names(&ids, &texts);
        for (named, place) in [
            ("A", 0),
            (" b ", 1),
            ("\"C\"", 2),
            ("Yes", 0),
            ("YES", 0),
            ("No | never", 1),
            ("No / never", 1),
            ("o-3", 2),
            ("A | Yes", 0),
            ("A: Yes", 0),
            ("c (yes, later)", 2),
            ("B | No / never | prior 0.20", 1),
        ] {
            assert_eq!(names.find(named), OutcomeRef::Known(place), "{named}");
        }
        for named in ["D", "", "Maybe", "A: yes, later", "o-4", "AAAAAAAA", "a yes"] {
            assert_eq!(names.find(named), OutcomeRef::Unknown(named.to_owned()), "{named}");
        }
    }

    #[test]
    fn every_letter_is_found_again() {
        let ids: Vec<OutcomeId> = (0..60).map(|id| OutcomeId::new(format!("id{id}"))).collect();
        let names = names(&ids, &[]);
        for place in 0..60 {
            assert_eq!(names.find(&letter(place)), OutcomeRef::Known(place));
        }
    }

    #[test]
    fn of_many_outcomes_the_likeliest_are_shown() {
        let ids: Vec<OutcomeId> = (0..4).map(|id| OutcomeId::new(format!("id{id}"))).collect();
        let letters = Letters::of(&ids, &[]);
        let distribution = Distribution::new(vec![0.1, 0.4, 0.05, 0.45]).unwrap();
        assert_eq!(shown(&letters, &distribution), "D 0.45, B 0.40, A 0.10");
        assert_eq!(shown(&letters, &Distribution::new(vec![0.6, 0.4]).unwrap()), "A 0.60, B 0.40");
    }
}
