//! Whether a challenge would tell an investigator what another one said (rule I4).
//!
//! The author of a challenge knows all reports; its reader must not know them. A challenge may say where to
//! look, such as a line of a file. It may not say who else found what, or in which words.

use std::collections::BTreeSet;

use super::Investigation;
use super::answer::{Challenge, Report};
use super::config::Seat;
use super::fact::EvidenceReported;
use crate::debate::Debate;

/// So many letters in a row are no coincidence; a Chinese one counts for three.
const SHARED_WIDTH: usize = 30;

/// Returns whether a challenge to the hypothesis of `seat` names another investigator or hypothesis, or repeats words that
/// only others have reported or were given to test.
///
/// What the investigator already knows does not count as a finding: the subject, its own hypothesis and its
/// own messages. A name that occurs there is an ordinary word.
pub(super) fn is_broken(debate: &Debate<Investigation>, seat: &Seat, challenge: &Challenge) -> bool {
    let (config, state) = (debate.config(), debate.state());
    let others = || state.seats(config).filter(|other| *other != seat);
    let mut known = own_words(debate, seat);
    if let Some(brief) = debate.brief().shown() {
        known.extend([folded(&brief.problem), folded(&brief.context)]);
    }
    let names =
        others().flat_map(|other| [format!("h{}", other.hypothesis), folded(other.investigator.as_str())]);
    let theirs = others().flat_map(|other| own_words(debate, other));
    tells(&shown_text(challenge), &known, names, theirs)
}

/// Returns whether a text has one of some names, or a span of words of others, that is not known.
fn tells(
    text: &str,
    known: &[String],
    mut names: impl Iterator<Item = String>,
    mut theirs: impl Iterator<Item = String>,
) -> bool {
    let is_news = |name: &String| !known.iter().any(|known| has_word(known, name));
    if names.any(|name| has_word(text, &name) && is_news(&name)) {
        return true;
    }
    let said = spans(text);
    theirs.any(|text| {
        let mut shared = spans(&text).into_iter().filter(|span| said.contains(span));
        shared.any(|span| !known.iter().any(|known| known.contains(&span)))
    })
}

/// Returns the text of a challenge that an investigator is shown, folded. It has no quotations and pointers:
/// these come from the world and are not findings.
fn shown_text(challenge: &Challenge) -> String {
    let claims = challenge.counter_evidence.iter().map(|evidence| evidence.claim.as_str());
    let texts = [challenge.to.as_str(), challenge.challenge.as_str()].into_iter().chain(claims);
    texts.map(folded).collect::<Vec<_>>().join("\n")
}

/// Returns what an investigator tests and what it has said, folded.
fn own_words(debate: &Debate<Investigation>, seat: &Seat) -> Vec<String> {
    let tested = super::visibility::hypothesis(debate, seat.hypothesis);
    let tested = tested.into_iter().flat_map(|own| [folded(&own.statement), folded(&own.prediction)]);
    tested.chain(debate.state().messages(&seat.investigator, u32::MAX).flat_map(words)).collect()
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

    /// Returns whether a challenge to amber reveals others. Amber tests whether the kernel's timers are
    /// stale; birch and kernel are two of the others.
    fn reveals_others(challenge: &str) -> bool {
        let known = [
            "Just after midnight, Linux servers began to use all of their processors at once.",
            "The kernel's timers are stale by a second.",
            "内核的定时器在闰秒之后落后了一秒",
        ];
        let theirs = [
            "The virtual machine cannot handle a minute with 61 seconds.",
            "虚拟机无法处理一分钟有六十一秒的情况",
            "Stopping the daemon ended the load on nine of ten machines.",
        ];
        let names = ["h2", "birch", "h3", "kernel", "h4", "runtime", "h5", "小林"];
        let names = names.map(str::to_owned).into_iter();
        tells(&folded(challenge), &known.map(folded), names, theirs.map(folded).into_iter())
    }

    #[test]
    fn i4_only_names_and_text_of_others_break_independence() {
        for (challenge, reveals) in [
            // Names, in either language.
            ("As birch has shown, timers are not to blame.", true),
            ("H2 explains all of this much better.", true),
            ("The birches in the yard are not to blame.", false),
            ("H21 is no hypothesis here.", false),
            ("正如 birch 所示，定时器并无问题。", true),
            ("正如小林所示，定时器并无问题。", true),
            // An investigator's name that is an ordinary word of the subject, and one that is not.
            ("Show that the kernel, and nothing else, reads the stale offset.", false),
            ("请说明 kernel 在何处读取了过期的偏移量。", false),
            ("Show that the runtime does not read the offset itself.", true),
            // What another one was given to test, and has found.
            ("Could it not be that the virtual machine cannot handle a minute with 61 seconds?", true),
            ("会不会是虚拟机无法处理一分钟有六十一秒的情况？", true),
            ("But stopping the daemon ended the load on nine of ten machines!", true),
            // What the investigator knows itself.
            ("You say that the kernel's timers are stale by a second; where is that seen?", false),
            ("你说内核的定时器在闰秒之后落后了一秒，证据何在？", false),
            ("Why would Linux servers began to use all of their processors at once follow?", false),
            ("What is shown is a correlation, so seek the mechanism behind it.", false),
        ] {
            assert_eq!(reveals_others(challenge), reveals, "{challenge}");
        }
    }

    #[test]
    fn i4_spans_begin_with_words_and_chinese_letters_are_wide() {
        assert_eq!(spans("short").len(), 0);
        assert_eq!(spans(&folded("The listener is never removed from the bus.")).len(), 2);
        assert_eq!(spans(&folded("监听器从未被移除，内存线性增长")).len(), 5);
        assert!(has_word("so h2 says", "h2") && !has_word("h21 or sh2", "h2"));
    }
}
