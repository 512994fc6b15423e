//! Counts the tokens of prompts line by line and remembers lines: a debate shows the same brief and the same
//! arguments again and again. The sum is exact, because the tokenizer never joins these lines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use foldhash::fast::RandomState;

use crate::escape;
use crate::tokens;

/// Bytes of lines remembered at most; beyond it the memory starts anew.
const MEMORY_BYTES_MAX: usize = 4 << 20;

/// Longest line remembered, in bytes.
const LINE_BYTES_MAX: usize = 32 << 10;

/// Bytes a token has at most in a text that [`cut`] expects; others are cut the slow way.
const TOKEN_BYTES: usize = 6;

#[derive(Default)]
struct Memory {
    lines: HashMap<Box<str>, u32, RandomState>,
    bytes: usize,
}

static MEMORY: LazyLock<RwLock<Memory>> = LazyLock::new(RwLock::default);

/// Returns how many tokens `text` is, exactly as [`tokens::count`] does.
pub(super) fn count(text: &str) -> u32 {
    let mut total = 0;
    let mut unknown = Vec::new();
    {
        let memory = MEMORY.read().unwrap_or_else(PoisonError::into_inner);
        for line in lines(text) {
            match memory.lines.get(line) {
                Some(tokens) => total += tokens,
                None => unknown.push(line),
            }
        }
    }
    total + unknown.into_iter().map(count_unknown).sum::<u32>()
}

/// Returns at most `tokens_max` tokens of `text`, as [`tokens::cut`] does, without reading all of a long text.
pub(super) fn cut(text: &str, tokens_max: u32) -> String {
    let enough = text.floor_char_boundary((tokens_max as usize + 8).saturating_mul(TOKEN_BYTES));
    let kept = match tokens::cut(&text[..enough], tokens_max) {
        // All of the beginning fits, so more of the text may.
        Cow::Borrowed(all) if all.len() == enough => tokens::cut(text, tokens_max).into_owned(),
        kept => kept.into_owned(),
    };
    escape::whole_entities(kept)
}

fn count_unknown(line: &str) -> u32 {
    let tokens = tokens::count(line);
    if line.len() <= LINE_BYTES_MAX {
        let mut memory = MEMORY.write().unwrap_or_else(PoisonError::into_inner);
        if memory.bytes + line.len() > MEMORY_BYTES_MAX {
            *memory = Memory::default();
        }
        memory.bytes += line.len();
        memory.lines.insert(line.into(), tokens);
    }
    tokens
}

/// Splits a text after line feeds, where the tokenizer splits it whatever follows.
///
/// It joins a line feed with blank lines and slashes behind it; such lines stay together.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(at) = rest[from..].find('\n') {
            from += at + 1;
            if begins_plainly(&rest[from..]) {
                break;
            }
        }
        let end = if from > 0 && begins_plainly(&rest[from..]) { from } else { rest.len() };
        let (line, after) = rest.split_at(end);
        rest = after;
        Some(line)
    })
}

fn begins_plainly(line: &str) -> bool {
    line.chars().next().is_some_and(|first| !first.is_whitespace() && first != '/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn p15_lines_are_counted_as_the_tokenizer_counts_the_whole() {
        for text in ["", "a\n", "a\nb", "a.\n/b\n", "a\n\n\nb\n", "\n\na", "a \n b\n\tc\n", "</x>\n<y>\n"] {
            assert_eq!(count(text), tokens::count(text), "{text:?}");
            assert_eq!(count(text), tokens::count(text), "again: {text:?}");
        }
    }

    #[test]
    fn k13_a_cut_leaves_no_half_entity() {
        let text = "&amp;".repeat(50);
        for tokens_max in 0..60 {
            let kept = cut(&text, tokens_max);
            assert_eq!(kept.replace("&amp;", "").trim_end_matches('…'), "", "{kept}");
        }
    }

    proptest! {
        #[test]
        fn p15_any_lines_are_counted_as_the_tokenizer_counts_the_whole(
            text in "([ -~é中\u{2003}]{0,12}[\\n\\r]{0,3}[ /]{0,2}){0,8}",
        ) {
            prop_assert_eq!(lines(&text).collect::<String>(), text.clone());
            prop_assert_eq!(count(&text), tokens::count(&text));
        }

        #[test]
        fn p15_a_cut_is_within_its_tokens(text in "([a-zé中]{1,9} |[.!?] |[0-9]{4}|~{20}){0,90}", max in 0_u32..60) {
            prop_assert!(tokens::count(&cut(&text, max)) <= max);
        }
    }
}
