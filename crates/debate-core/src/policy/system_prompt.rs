//! Reading the system prompt of a reviewer from its source file (rule V7): `SYSTEM_PROMPT = …` in back-ticks, single or
//! double quotes. The file is a program that is read and never run.

/// The name under which a reviewer's file has its prompt.
const NAME: &str = "SYSTEM_PROMPT";

/// Returns the prompt that a reviewer's file assigns to `SYSTEM_PROMPT`, the first there is; none where there is none.
///
/// Escapes are resolved; what a template fills in (`${…}`) is kept as it is written. Comments and other texts of the
/// file are skipped.
#[must_use]
pub fn read(source: &str) -> Option<String> {
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        if let Some(behind) = behind_comment(rest) {
            rest = behind;
        } else if is_quote(c) {
            rest = text(rest).map_or("", |(_, behind)| behind);
        } else if is_word(c) {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            if word == NAME
                && let Some(prompt) = assigned(behind)
            {
                return Some(prompt);
            }
            rest = behind;
        } else {
            rest = &rest[c.len_utf8()..];
        }
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

const fn is_quote(c: char) -> bool {
    matches!(c, '`' | '\'' | '"')
}

/// Returns what follows a comment, where one begins here.
fn behind_comment(rest: &str) -> Option<&str> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').map_or("", |end| &rest[end..]));
    }
    let inside = rest.strip_prefix("/*")?;
    Some(inside.find("*/").map_or("", |end| &inside[end + 2..]))
}

/// Returns the text that is assigned, given what follows the name.
fn assigned(behind: &str) -> Option<String> {
    let mut rest = skip_blanks(behind);
    if let Some(annotated) = rest.strip_prefix(':') {
        // A type such as `: string`, or the value itself where the name is a key.
        rest = skip_blanks(annotated);
        if rest.starts_with(is_quote) {
            return text(rest).map(|(prompt, _)| prompt);
        }
        rest = skip_blanks(rest.trim_start_matches(is_word));
    }
    let value = rest.strip_prefix('=').filter(|value| !value.starts_with(['=', '>']))?;
    let value = skip_blanks(value);
    let (value, is_raw) = value.strip_prefix("String.raw").map_or((value, false), |raw| (raw, true));
    let value = skip_blanks(value.trim_start_matches('('));
    if is_raw {
        template(value.strip_prefix('`')?, true).map(|(prompt, _)| prompt)
    } else {
        text(value).map(|(prompt, _)| prompt)
    }
}

fn skip_blanks(mut rest: &str) -> &str {
    loop {
        rest = rest.trim_start();
        match behind_comment(rest) {
            Some(behind) => rest = behind,
            None => return rest,
        }
    }
}

/// Returns a quoted text and what follows it; none where it is not closed.
fn text(rest: &str) -> Option<(String, &str)> {
    let quote = rest.chars().next().filter(|c| is_quote(*c))?;
    let inside = &rest[1..];
    if quote == '`' {
        return template(inside, false);
    }
    let mut text = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((text, &inside[at + 1..])),
            '\\' => escape(&mut chars, &mut text)?,
            '\n' => return None,
            c => text.push(c),
        }
    }
    None
}

/// Returns the text of a template and what follows it, given what follows its back-tick.
fn template(inside: &str, is_raw: bool) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '`' => return Some((text, &inside[at + 1..])),
            '\\' if !is_raw => escape(&mut chars, &mut text)?,
            '\\' => {
                text.push(c);
                text.push(chars.next()?.1);
            }
            '$' if inside[at + 1..].starts_with('{') => {
                let length = filled_in(&inside[at + 2..])?;
                let end = at + 2 + length;
                text.push_str(&inside[at..end]);
                while chars.clone().next().is_some_and(|(place, _)| place < end) {
                    chars.next();
                }
            }
            c => text.push(c),
        }
    }
    None
}

/// Returns the length of what a template fills in, its closing brace included, given what follows the opening one.
fn filled_in(inside: &str) -> Option<usize> {
    let mut depth = 1_u32;
    let mut rest = inside;
    loop {
        let c = rest.chars().next()?;
        if is_quote(c) {
            rest = text(rest)?.1;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(inside.len() - rest.len());
        }
    }
}

/// Resolves an escape, given what follows its backslash.
fn escape(chars: &mut std::str::CharIndices<'_>, text: &mut String) -> Option<()> {
    let (_, c) = chars.next()?;
    match c {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        '0' => text.push('\0'),
        '\n' => {}
        'x' | 'u' => {
            let digits = match (c, chars.clone().next()?.1) {
                ('u', '{') => {
                    chars.next();
                    let digits: String = chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
                    digits
                }
                (c, _) => chars.by_ref().take(if c == 'x' { 2 } else { 4 }).map(|(_, c)| c).collect(),
            };
            let code = u32::from_str_radix(&digits, 16).ok();
            text.push(code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        other => text.push(other),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v7_a_prompt_is_read_in_each_kind_of_quotes() {
        for (source, prompt) in [
            ("const SYSTEM_PROMPT = `You look.\nTwice.`;", "You look.\nTwice."),
            ("SYSTEM_PROMPT='It\\'s \\x41\\u0042\\u{1F600}\\n'", "It's AB😀\n"),
            ("module.exports.SYSTEM_PROMPT =\n  \"Say \\\"no\\\".\"", "Say \"no\"."),
            ("const SYSTEM_PROMPT: string = 'a'", "a"),
            ("module.exports = { SYSTEM_PROMPT: `a` }", "a"),
            ("const SYSTEM_PROMPT = /* why */ String.raw`a\\nb \\` c`", "a\\nb \\` c"),
            ("const SYSTEM_PROMPT = ('a')", "a"),
            ("SYSTEM_PROMPT = 'first'; SYSTEM_PROMPT = 'second'", "first"),
        ] {
            assert_eq!(read(source).as_deref(), Some(prompt), "{source}");
        }
    }

    #[test]
    fn v7_what_a_template_fills_in_is_kept_as_written() {
        let source =
            "const SYSTEM_PROMPT = `Look for ${ kinds.map(k => `<${k}>`).join('`}') } in \\`${x}\\` for $5.`";
        let prompt = "Look for ${ kinds.map(k => `<${k}>`).join('`}') } in `${x}` for $5.";
        assert_eq!(read(source).as_deref(), Some(prompt));
    }

    #[test]
    fn v7_comments_texts_and_comparisons_are_no_prompts() {
        let source = "// SYSTEM_PROMPT = 'old'\n/* SYSTEM_PROMPT = 'older' */\nconst help = \"SYSTEM_PROMPT = 'no'\";\n\
            if (SYSTEM_PROMPT == 'x' || MY_SYSTEM_PROMPT) {}\nconst SYSTEM_PROMPT = 'this';";
        assert_eq!(read(source).as_deref(), Some("this"));
    }

    #[test]
    fn v7_a_file_without_a_whole_prompt_has_none() {
        for source in [
            "",
            "const PROMPT = 'a'",
            "const SYSTEM_PROMPT = load('x')",
            "const SYSTEM_PROMPT = `never closed",
            "const SYSTEM_PROMPT = 'broken\nline'",
            "const SYSTEM_PROMPT = `${ never",
            "SYSTEM_PROMPT",
            "SYSTEM_PROMPT = '\\",
        ] {
            assert_eq!(read(source), None, "{source}");
        }
    }

    proptest::proptest! {
        #[test]
        fn v7_any_text_that_is_quoted_is_read_back(prompt in "[^\\x00]{0,60}") {
            let escaped = prompt.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n").replace('\r', "\\r");
            let source = format!("const SYSTEM_PROMPT = '{escaped}';");
            proptest::prop_assert_eq!(read(&source), Some(prompt));
        }

        #[test]
        fn v7_no_file_is_too_odd_to_be_read(source in proptest::prelude::any::<String>()) {
            let odd = format!("SYSTEM_PROMPT = {source}");
            let _read = read(&odd);
        }
    }
}
