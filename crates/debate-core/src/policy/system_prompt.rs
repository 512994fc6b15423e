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
    // What stands before, which tells a regular expression from a division.
    let mut before = '\n';
    while let Some(c) = rest.chars().next() {
        if let Some(behind) = behind_part(rest, before) {
            (rest, before) = (behind, if is_quote(c) { c } else { before });
        } else if is_word(c) {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            if word == NAME
                && let Some(prompt) = assigned(behind)
            {
                return Some(prompt);
            }
            (rest, before) = (behind, if word == "return" { '\n' } else { c });
        } else {
            rest = &rest[c.len_utf8()..];
            before = if c.is_whitespace() { before } else { c };
        }
    }
    None
}

/// Returns what follows a comment, a whole text or a regular expression, where one begins here.
fn behind_part(rest: &str, before: char) -> Option<&str> {
    behind_comment(rest).or_else(|| text(rest).map(|(_, behind)| behind)).or_else(|| {
        behind_expression(rest)
            .filter(|_| !is_word(before) && !is_quote(before) && !matches!(before, ')' | ']'))
    })
}

/// Returns what follows a regular expression, which ends on its line.
fn behind_expression(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix('/')?;
    let (mut is_class, mut is_escaped) = (false, false);
    for (at, c) in inside.char_indices() {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return Some(&inside[at + 1..]),
            _ => {}
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
    let (mut depth, mut before) = (1_u32, '{');
    let mut rest = inside;
    loop {
        let c = rest.chars().next()?;
        if let Some(behind) = behind_part(rest, before) {
            (rest, before) = (behind, if is_quote(c) { c } else { before });
            continue;
        }
        rest = &rest[c.len_utf8()..];
        before = if c.is_whitespace() { before } else { c };
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

/// Resolves an escape as JavaScript does, given what follows its backslash.
fn escape(chars: &mut std::str::CharIndices<'_>, text: &mut String) -> Option<()> {
    let (_, c) = chars.next()?;
    match c {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'b' => text.push('\u{8}'),
        'v' => text.push('\u{b}'),
        'f' => text.push('\u{c}'),
        '0' => text.push('\0'),
        // A line that goes on.
        '\r' if chars.as_str().starts_with('\n') => drop(chars.next()),
        '\n' | '\r' | '\u{2028}' | '\u{2029}' => {}
        'x' => text.push(character(digits(chars, 2))),
        'u' if chars.as_str().starts_with('{') => {
            chars.next();
            let digits: String = chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
            text.push(character(hexadecimal(&digits)));
        }
        'u' => {
            let first = digits(chars, 4);
            let mut behind = chars.clone();
            let second = first.filter(|unit| (0xd800..0xdc00).contains(unit)).and_then(|high| {
                let is_escape = behind.next()?.1 == '\\' && behind.next()?.1 == 'u';
                let low =
                    digits(&mut behind, 4).filter(|unit| is_escape && (0xdc00..0xe000).contains(unit))?;
                // Two units of UTF-16 are one character.
                Some(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            });
            if second.is_some() {
                *chars = behind;
            }
            text.push(character(second.or(first)));
        }
        other => text.push(other),
    }
    Some(())
}

fn digits(chars: &mut std::str::CharIndices<'_>, count: usize) -> Option<u32> {
    let digits: String = chars.by_ref().take(count).map(|(_, c)| c).collect();
    (digits.len() == count).then(|| hexadecimal(&digits)).flatten()
}

fn hexadecimal(digits: &str) -> Option<u32> {
    let is_hexadecimal = digits.chars().all(|c| c.is_ascii_hexdigit());
    is_hexadecimal.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

fn character(code: Option<u32>) -> char {
    code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
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
    fn v7_escapes_are_resolved_as_javascript_does() {
        for (escaped, prompt) in [
            (r"\uD83D\uDE00!", "😀!"),
            (r"\uD83D", "\u{fffd}"),
            (r"\uD83D\u0041", "\u{fffd}A"),
            (r"\uDE00\uD83D", "\u{fffd}\u{fffd}"),
            (r"\uD83Dx", "\u{fffd}x"),
            (r"\b\v\f\0\q", "\u{8}\u{b}\u{c}\0q"),
            (r"\x+1", "\u{fffd}"),
            ("a\\\r\nb\\\nc\\\rd\\\u{2028}e", "abcde"),
        ] {
            for quote in ["'", "\"", "`"] {
                let source = format!("const SYSTEM_PROMPT = {quote}{escaped}{quote};");
                assert_eq!(read(&source).as_deref(), Some(prompt), "{source}");
            }
        }
    }

    #[test]
    fn v7_a_quote_that_is_not_closed_hides_no_prompt() {
        for before in [
            "const QUOTES = /[\"']/g;",
            "const TICK = /`/;",
            "const SLASH = /[/'`]\\/`/.test(x) ? 1 : 2;",
            "const half = total / 2; // it's half\nconst third = (a) / b / c;",
            "text.replace(/\"/g, '').split(/'/)",
            "return /`/",
            "// it's",
            "<p>don't</p>",
            "const FIRST = `it's ${x.replace(/}`/g, \"'\")}`;",
        ] {
            let source = format!("{before}\nconst SYSTEM_PROMPT = `this`;\nconst AFTER = '`';");
            assert_eq!(read(&source).as_deref(), Some("this"), "{source}");
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
