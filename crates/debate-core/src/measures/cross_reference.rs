//! Who refers to whom, which questions are put, and who takes them up (rule T11).

use super::negation::is_key_term;
use super::similarity::words;

/// Phrases that refer to others without naming them.
const PHRASES: [&str; 12] = [
    "agree with",
    "as argued by",
    "as mentioned by",
    "as noted by",
    "as pointed out",
    "building on",
    "contrary to",
    "in response to",
    "previous participant",
    "previous response",
    "the others argue",
    "while others",
];

/// Verbs that make "as X argued" a reference.
const VERBS: [&str; 8] = ["argued", "argues", "noted", "notes", "said", "says", "mentioned", "observed"];

/// Words that may stand between "as" and the verb.
const BETWEEN_MAX: usize = 3;

/// Words of a question, at least.
const QUESTION_WORDS_MIN: usize = 3;

/// Key terms that tell one question from another, at least.
const TERMS_MIN: usize = 2;

/// Returns where a name stands in a text as a word of its own, in bytes, whatever its case.
///
/// Names are ASCII.
#[must_use]
pub fn mentions(text: &str, name: &str) -> Vec<usize> {
    let (text_lower, name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    if name.is_empty() {
        return Vec::new();
    }
    let is_apart = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    let found = text_lower.match_indices(&name).map(|(at, _)| at);
    found
        .filter(|at| {
            is_apart(text[..*at].chars().next_back()) && is_apart(text[at + name.len()..].chars().next())
        })
        .collect()
}

/// Returns whether a text refers to others by a phrase, such as "disagree with" or "as the first speaker argued".
#[must_use]
pub fn refers_by_phrase(text: &str) -> bool {
    let lower = text.to_lowercase();
    if PHRASES.iter().any(|phrase| lower.contains(phrase)) {
        return true;
    }
    let spoken: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    spoken.iter().enumerate().filter(|(_, word)| **word == "as").any(|(at, _)| {
        let reach = spoken.len().min(at + 2 + BETWEEN_MAX);
        spoken.get(at + 2..reach).is_some_and(|near| near.iter().any(|word| VERBS.contains(word)))
    })
}

/// Returns how long a debate went on answering: the longest run of rounds in which somebody refers to others.
#[must_use]
pub fn rebuttal_depth(refers_by_round: &[bool]) -> usize {
    refers_by_round.split(|refers| !refers).map(<[bool]>::len).max().unwrap_or_default()
}

/// Returns the questions of a text, of three words or more each, in order.
#[must_use]
pub fn questions(text: &str) -> Vec<&str> {
    let mut questions = Vec::new();
    let mut start = 0;
    for (at, mark) in text.match_indices(['.', '!', '?', '\n']) {
        let sentence = text[start..at].trim();
        if mark == "?" && sentence.split_whitespace().count() >= QUESTION_WORDS_MIN {
            questions.push(sentence);
        }
        start = at + mark.len();
    }
    questions
}

/// Returns whether a question is no more than the subject put again: two or more of its key terms are the subject's, and
/// not two are its own.
#[must_use]
pub fn restates(question: &str, subject: &str) -> bool {
    let known = words(subject, 1);
    let (of_subject, own): (Vec<String>, Vec<String>) =
        key_terms(question).partition(|term| known.contains(term));
    of_subject.len() >= TERMS_MIN && own.len() < TERMS_MIN
}

/// Returns whether a text takes a question up: it has at least half of the key terms that the subject lacks, two at least.
///
/// The subject's own terms stand in what anybody says of it and show nothing.
#[must_use]
pub fn takes_up(text: &str, question: &str, subject: &str) -> bool {
    let (said, known) = (words(text, 1), words(subject, 1));
    let terms: Vec<String> = key_terms(question).filter(|term| !known.contains(term)).collect();
    let shared = terms.iter().filter(|term| said.contains(*term)).count();
    shared >= TERMS_MIN && shared * 2 >= terms.len()
}

fn key_terms(question: &str) -> impl Iterator<Item = String> + use<> {
    words(question, 1).into_iter().filter(|word| is_key_term(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t11_a_name_is_found_as_a_word_of_its_own() {
        assert_eq!(mentions("Claude and claude's, not Claudette", "claude"), [0, 11]);
        assert_eq!(mentions("Participant 1, Participant 12", "Participant 1"), [0]);
        assert_eq!(mentions("ÄClaude é", "claude"), Vec::<usize>::new());
        assert_eq!(mentions("anything", ""), Vec::<usize>::new());
    }

    #[test]
    fn t11_phrases_refer_without_a_name() {
        for text in ["I disagree with that.", "As the first speaker argued, no.", "Building on this,"] {
            assert!(refers_by_phrase(text), "{text}");
        }
        for text in ["It is as cheap as it gets.", "No one argued.", "As", ""] {
            assert!(!refers_by_phrase(text), "{text}");
        }
    }

    #[test]
    fn t11_a_question_is_taken_up_by_its_words() {
        let text = "It costs much. What does the migration cost per year? Why?\nWho owns the pager then?";
        assert_eq!(questions(text), ["What does the migration cost per year", "Who owns the pager then"]);
        assert!(takes_up("The migration will cost a million a year.", questions(text)[0], ""));
        assert!(!takes_up("The harbour is nice.", questions(text)[0], ""));
    }

    #[test]
    fn t11_the_subjects_own_terms_make_no_question_and_no_answer() {
        let subject = "Should the library replace its fines by reminders?";
        for again in ["Should the library replace fines by reminders", "So, reminders instead of fines"] {
            assert!(restates(again, subject), "{again}");
        }
        for new in
            ["Do reminders cost the library more than fines bring", "Who pays the librarians", "Why is that"]
        {
            assert!(!restates(new, subject), "{new}");
            assert!(!restates(new, ""), "{new}");
        }
        let question = "Do reminders cost the library more than fines bring";
        assert!(takes_up("They cost little and bring readers back.", question, subject));
        assert!(!takes_up("The library should replace fines by reminders.", question, subject));
    }
}
