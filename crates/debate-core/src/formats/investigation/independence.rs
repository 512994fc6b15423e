//! Whether a challenge would tell an investigator what another one said (rule I4).
//!
//! Challenges are written by somebody who knows all reports and read by one who must not. Where to look, such as a line of
//! a file, may be told; who else found what, and in which words, may not.

use std::collections::BTreeSet;

use super::Investigation;
use super::answer::{Challenge, Report};
use super::config::Seat;
use super::fact::EvidenceReported;
use crate::debate::Debate;

/// So many letters in a row are no coincidence; a Chinese one counts for three.
const SHARED_WIDTH: usize = 30;

/// Returns whether a challenge to the hypothesis of `seat` names another investigator or hypothesis, or repeats words that
/// only others have reported.
pub(super) fn is_broken(debate: &Debate<Investigation>, seat: &Seat, challenge: &Challenge) -> bool {
    let (config, state) = (debate.config(), debate.state());
    let text = told(challenge);
    let others = state.seats(config).filter(|other| *other != seat);
    let names_other = |other: &Seat| {
        let number = format!("h{}", other.hypothesis);
        has_word(&text, &number) || has_word(&text, &folded(other.investigator.as_str()))
    };
    if others.clone().any(names_other) {
        return true;
    }
    let mut known = vec![];
    if let Some(brief) = debate.brief().shown() {
        known.extend([folded(&brief.problem), folded(&brief.context)]);
    }
    let own = super::sights::hypothesis(debate, seat.hypothesis);
    known.extend(own.into_iter().flat_map(|own| [folded(&own.statement), folded(&own.prediction)]));
    known.extend(state.messages(&seat.investigator, u32::MAX).flat_map(words));
    let theirs = others.flat_map(|other| state.messages(&other.investigator, u32::MAX).flat_map(words));
    let said = spans(&text);
    theirs
        .flat_map(|text| spans(&text))
        .any(|span| said.contains(&span) && !known.iter().any(|known| known.contains(&span)))
}

/// Returns what of a challenge is an investigator shown, folded; quotations and pointers are the world's, not a finding.
fn told(challenge: &Challenge) -> String {
    let claims = challenge.counter_evidence.iter().map(|evidence| evidence.claim.as_str());
    let texts: Vec<String> =
        std::iter::once(challenge.challenge.as_str()).chain(claims).map(folded).collect();
    texts.join("\n")
}

/// Returns an investigator's own words in a message, folded.
fn words(message: &EvidenceReported) -> Vec<String> {
    let own = |report: &Report| {
        let claims = report.evidence().map(|(_, evidence)| evidence.claim.as_str());
        let responses = report.responses.iter().map(|response| response.text.as_str());
        let texts = std::iter::once(report.key_finding.as_str()).chain(claims).chain(responses);
        texts.map(folded).collect()
    };
    message.prose.shown().map(own).unwrap_or_default()
}

/// Returns every span of a text that is as wide as [`SHARED_WIDTH`] and begins with a word.
fn spans(text: &str) -> BTreeSet<String> {
    let mut spans = BTreeSet::new();
    for (at, letter) in text.char_indices() {
        let begins = !letter.is_ascii() || at == 0 || text.as_bytes()[at - 1] == b' ';
        if !begins || letter == ' ' {
            continue;
        }
        let mut width = 0;
        let end = text[at..].char_indices().find_map(|(offset, letter)| {
            width += if letter.is_ascii() { 1 } else { 3 };
            (width >= SHARED_WIDTH).then(|| at + offset + letter.len_utf8())
        });
        spans.extend(end.map(|end| text[at..end].to_owned()));
    }
    spans
}

fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_letter) && !text[at + word.len()..].starts_with(is_letter))
}

/// Returns a text in small letters, with one space between words and without punctuation between them.
fn folded(text: &str) -> String {
    let kept = text.to_lowercase().replace(|letter: char| !letter.is_alphanumeric() && letter != '_', " ");
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i4_spans_begin_with_words_and_chinese_letters_are_wide() {
        assert_eq!(spans("short").len(), 0);
        assert_eq!(spans(&folded("The listener is never removed from the bus.")).len(), 2);
        assert_eq!(spans(&folded("监听器从未被移除，内存线性增长")).len(), 5);
        assert!(has_word("so h2 says", "h2") && !has_word("h21 or sh2", "h2"));
    }
}
