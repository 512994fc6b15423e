//! Replies that copy their own prompt, which cannot be used (rule P27).

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::prompts::{Message, ParseError, Prompt};
use crate::{again, escape};

/// What earlier prompts showed in place of values. Recorded replies copy these words, so they stay known.
const EARLIER: &str = include_str!("../templates/earlier.txt");

/// Words that are compared together.
const GRAM_WORDS: usize = 5;

/// Returns an error where a text copies the prompt's instructions: where at least 80 % of its runs of five words occur
/// in them or in earlier ones, or all of a shorter text. A single word is a copy only if it is one of the reply's `keys`.
///
/// `instructions` are what the prompt says of its own accord, its rejection included: no material, no other answers. The
/// words with which a model is asked again are known here.
///
/// # Errors
/// The text is a copy; the reason is for the one who is asked again.
pub(crate) fn check_instructions(
    text: &str,
    instructions: &[&str],
    keys: &[&str],
    what: &str,
) -> Result<(), ParseError> {
    let instructions = [&instructions.join("\n"), EARLIER, &again::text("")].join("\n").to_lowercase();
    let text = text.to_lowercase();
    let text = words(&text);
    let is_copy = match text[..] {
        [] => false,
        [word] => keys.contains(&word),
        _ => {
            let size = text.len().min(GRAM_WORDS);
            let instructions = words(&instructions);
            let known: HashSet<&[&str], RandomState> = instructions.windows(size).collect();
            let copied = text.windows(size).filter(|gram| known.contains(gram)).count();
            let all = text.len() + 1 - size;
            copied * 5 >= all * 4
        }
    };
    if is_copy {
        let why = format!("the {what} repeats the instructions (P27); write your own {what}");
        return Err(ParseError { why });
    }
    Ok(())
}

/// Returns an error where a text repeats, word for word, an answer of another that its prompt shows. Who has given the
/// same answer before may keep to it. `answers` are those that the prompt may show, each with whether it is its own;
/// `prompt` is what it does show, made only where it matters.
///
/// # Errors
/// The text is a copy; the reason is for the one who is asked again.
pub(crate) fn check_shown<'a>(
    text: &str,
    answers: impl Iterator<Item = (bool, &'a str)>,
    prompt: impl FnOnce() -> Option<Prompt>,
    what: &str,
) -> Result<(), ParseError> {
    let plain = text.to_lowercase();
    let plain = words(&plain);
    let same = answers.filter(|(_, answer)| words(&answer.to_lowercase()) == plain);
    let same: Vec<(bool, &str)> = same.collect();
    if plain.is_empty() || same.is_empty() || same.iter().any(|(is_own, _)| *is_own) {
        return Ok(());
    }
    let is_in =
        |message: &Message, answer: &str| message.text.contains(&format!(">{}</", escape::xml_line(answer)));
    let is_shown = |prompt: &Prompt| {
        prompt.messages.iter().any(|message| same.iter().any(|(_, answer)| is_in(message, answer)))
    };
    if prompt().is_some_and(|prompt| !is_shown(&prompt)) {
        return Ok(());
    }
    Err(ParseError {
        why: format!("the {what} repeats another answer word for word (P27); write your own {what}"),
    })
}

fn words(lowercase: &str) -> Vec<&str> {
    lowercase.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TASK: &str = "Reply with one JSON object, in this order:\nthinking: private notes, at most 30 words\n\
                        argument: your public case, at most 220 words\nsupports: one letter";

    fn is_copy(text: &str) -> bool {
        check_instructions(text, &[TASK], &["thinking", "argument"], "argument").is_err()
    }

    #[test]
    fn p27_text_is_a_copy_at_80_percent_of_its_grams() {
        for copy in ["Your public case, at most 220 words.", "your PUBLIC case", "Thinking", "“One letter”"]
        {
            assert!(is_copy(copy), "{copy}");
        }
        // Six of the seven runs, then six of the eight.
        assert!(is_copy("argument: your public case, at most 220 words, supports: one… two"));
        assert!(!is_copy("argument: your public case, at most 220 words, supports: one… two three four"));
        for own in ["", ")", "Yes.", "Rates fall", "The case is public: at most 220 words were said of it."] {
            assert!(!is_copy(own), "{own}");
        }
    }

    #[test]
    fn p27_answer_of_another_is_a_copy_unless_it_is_ones_own() {
        let check = |text: &str, shown: &[(bool, &str)]| {
            check_shown(text, shown.iter().copied(), || None, "argument")
        };
        let error = check("it RAINS, always", &[(false, "It rains. Always!")]).unwrap_err();
        assert_eq!(
            error.why,
            "the argument repeats another answer word for word (P27); write your own argument"
        );
        check("It rains always here", &[(false, "It rains always")]).unwrap();
        check("It rains", &[(false, "It rains"), (true, "It rains")]).unwrap();
        check("…", &[(false, "!")]).unwrap();
    }

    proptest! {
        #[test]
        fn p27_every_part_of_the_instructions_is_a_copy(start in 0..20_usize, len in 2..20_usize) {
            let words: Vec<&str> = TASK.split_whitespace().skip(start).take(len).collect();
            prop_assume!(words.len() > 1);
            prop_assert!(is_copy(&words.join(" ")));
        }
    }
}
