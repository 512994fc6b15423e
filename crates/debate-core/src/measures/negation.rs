//! Whether one text denies what another says: words of weight, each said plainly or under a negation.

use std::collections::BTreeMap;

/// Words of at least four letters that carry no meaning of their own.
const STOP_WORDS: [&str; 72] = [
    "about",
    "above",
    "after",
    "again",
    "against",
    "also",
    "although",
    "among",
    "another",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "cannot",
    "could",
    "does",
    "doing",
    "down",
    "during",
    "each",
    "even",
    "every",
    "from",
    "further",
    "have",
    "having",
    "here",
    "into",
    "itself",
    "just",
    "like",
    "many",
    "might",
    "more",
    "most",
    "much",
    "must",
    "only",
    "other",
    "over",
    "same",
    "shall",
    "should",
    "since",
    "some",
    "such",
    "than",
    "that",
    "their",
    "them",
    "then",
    "there",
    "therefore",
    "these",
    "they",
    "this",
    "those",
    "through",
    "under",
    "until",
    "upon",
    "very",
    "were",
    "what",
    "when",
    "which",
    "while",
    "will",
    "with",
];

/// Words that deny what follows; apostrophes are dropped before they are compared.
const NEGATIONS: [&str; 24] = [
    "not", "no", "never", "without", "against", "cannot", "neither", "nor", "avoid", "reject", "oppose",
    "dont", "doesnt", "didnt", "wont", "cant", "isnt", "arent", "shouldnt", "wouldnt", "couldnt", "mustnt",
    "wasnt", "werent",
];

/// How many words a negation reaches.
const REACH: usize = 4;

/// The fewest letters of a word of weight.
const LETTERS_MIN: usize = 4;

/// Returns whether a word of four letters or more carries meaning.
#[must_use]
pub fn is_key_term(word: &str) -> bool {
    word.chars().count() >= LETTERS_MIN && STOP_WORDS.binary_search(&word).is_err() && !is_negation(word)
}

/// Returns whether two texts negate each other's key terms: of the terms that both have, at least half are denied by
/// one of them alone.
#[must_use]
pub fn contradict(a: &str, b: &str) -> bool {
    let (a, b) = (terms(a), terms(b));
    let shared: Vec<bool> = a.iter().filter_map(|(term, denied)| Some(b.get(term)? != denied)).collect();
    let opposed = shared.iter().filter(|opposed| **opposed).count();
    opposed > 0 && opposed * 2 >= shared.len()
}

/// Returns the key terms of a text, each with whether it is denied wherever it stands.
fn terms(text: &str) -> BTreeMap<String, bool> {
    let spoken = text.to_lowercase().replace(['\'', '\u{2019}'], "");
    let mut terms: BTreeMap<String, bool> = BTreeMap::new();
    // A negation does not reach beyond its clause.
    for clause in spoken.split(['.', ',', ';', ':', '!', '?', '\n', '(', ')']) {
        let mut reach = 0;
        for word in clause.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            if is_negation(word) {
                reach = REACH;
                continue;
            }
            if is_key_term(word) {
                terms.entry(word.to_owned()).and_modify(|denied| *denied &= reach > 0).or_insert(reach > 0);
            }
            reach = reach.saturating_sub(1);
        }
    }
    terms
}

fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, expected: bool) {
        assert_eq!(contradict(a, b), expected, "{a:?} {b:?}");
        assert_eq!(contradict(b, a), expected, "{b:?} {a:?}");
    }

    #[test]
    fn t5_a_denied_term_contradicts_the_same_term_said_plainly() {
        check("We should adopt microservices now.", "We should not adopt microservices now.", true);
        check("The office moves.", "The office never moves!", true);
        check("Rates rise", "Rates won’t rise", true);
    }

    #[test]
    fn t5_what_is_denied_aside_contradicts_nothing() {
        check("Adopt microservices, not a rewrite.", "Adopt microservices soon.", false);
        check("Adopt microservices.", "Adopt microservices.", false);
        check("Not microservices.", "Not microservices, please.", false);
        check("Cats sleep.", "Dogs never sleep-walk through offices.", true);
        check("", "not at all", false);
    }

    #[test]
    fn stop_words_are_in_alphabetical_order() {
        assert!(STOP_WORDS.is_sorted());
    }
}
