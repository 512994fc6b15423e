//! From a reply's lines to blocks of labelled values; knows headers and labels, not what they mean.

use debate_core::formats::investigation::answer::Act;

use super::labels::{Label, folded, headers, is_ordinary};

/// The lines of one message.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    pub(super) act: Act,
    /// Label, value on its line, list items below it.
    entries: Vec<(Label, String, Vec<String>)>,
}

impl Lines {
    /// Returns the values of a label, the first that is not empty.
    pub(super) fn value(&self, label: Label) -> &str {
        let mut of = self.entries.iter().filter(|(found, ..)| *found == label);
        of.find(|(_, value, _)| !value.is_empty()).map_or("", |(_, value, _)| value)
    }

    /// Returns everything under a label as one line.
    pub(super) fn text(&self, label: Label) -> String {
        let of = self.entries.iter().filter(|(found, ..)| *found == label);
        let parts = of.flat_map(|(_, value, items)| std::iter::once(value).chain(items));
        parts.filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" ")
    }

    /// Returns the list under a label: its items, or its value where it has none.
    pub(super) fn items(&self, label: Label) -> Vec<&str> {
        let of = self.entries.iter().filter(|(found, ..)| *found == label);
        let parts = of.flat_map(|(_, value, items)| std::iter::once(value).chain(items));
        parts.map(String::as_str).filter(|part| !part.is_empty() && !is_none(part)).collect()
    }

    /// Returns every entry in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Label, &str)> {
        self.entries.iter().map(|(label, value, _)| (*label, value.as_str()))
    }

    /// Returns whether a label is there at all.
    pub(super) fn has(&self, label: Label) -> bool {
        self.entries.iter().any(|(found, ..)| *found == label)
    }
}

/// Returns whether an item says that there is none.
fn is_none(item: &str) -> bool {
    matches!(folded(item).trim_end_matches(['.', '。']), "none" | "n/a" | "无" | "没有")
}

/// Splits a reply that was asked for `asked` into its messages, in order; what stands before the first header, or below a
/// heading that closes a message, is no part of any.
pub(super) fn split(text: &str, asked: Act) -> Vec<Lines> {
    let mut blocks: Vec<Lines> = Vec::new();
    let mut is_closed = false;
    for line in text.lines().map(|line| line.trim_start().trim_start_matches('>')) {
        if line.trim().is_empty() || is_fence(line) {
            continue;
        }
        let header = header(line);
        let mut line = line;
        if let Some(Header { act, rest, .. }) = header.filter(|header| header.is_sure || header.act == asked)
        {
            blocks.push(Lines { act, entries: Vec::new() });
            is_closed = false;
            if rest.is_empty() {
                continue;
            }
            line = rest;
        }
        let Some(block) = blocks.last_mut() else { continue };
        if let Some((label, value)) = labelled(line, Label::of(block.act)) {
            is_closed = false;
            block.entries.push((label, value, Vec::new()));
            continue;
        }
        is_closed |= header.is_some_and(|header| header.rest.is_empty());
        let Some((_, value, items)) = block.entries.last_mut().filter(|_| !is_closed) else { continue };
        match item(line) {
            Some(item) => items.push(item),
            None => {
                // A line that goes on belongs to what stands above it.
                let last = items.last_mut().unwrap_or(value);
                if !last.is_empty() {
                    last.push(' ');
                }
                last.push_str(&one_line(line));
            }
        }
    }
    blocks
}

fn is_fence(line: &str) -> bool {
    let line = line.trim();
    (line.starts_with("```") || line.starts_with("~~~")) && !line[3..].contains(['`', '~'])
}

/// What a line heads.
#[derive(Debug, Clone, Copy)]
struct Header<'a> {
    act: Act,
    /// What stands behind it on its line.
    rest: &'a str,
    /// Whether it stands in brackets, or is named as nothing else is.
    is_sure: bool,
}

/// Reads a header, with what stands behind it on its line.
fn header(line: &str) -> Option<Header<'_>> {
    let bare = line.trim().trim_start_matches(['#', '*', '>', '-', '•', ' ', '`']);
    let (inside, rest, is_bracketed) = match bare.strip_prefix(['[', '【', '［']) {
        Some(inside) => {
            let (inside, rest) = inside.split_once([']', '】', '］'])?;
            (inside, rest, true)
        }
        // Without brackets a header stands alone on a heading's line.
        None if line.trim_start().starts_with(['#', '*']) => (bare, "", false),
        None => return None,
    };
    let name = name_of(inside);
    let act = Act::ALL.into_iter().find(|act| {
        let (written, others) = headers(*act);
        name == folded(written.trim_matches(['[', ']'])) || others.contains(&name.as_str())
    })?;
    let rest = rest.trim_matches(['*', ':', '：', ' ', '`', '#']);
    Some(Header { act, rest, is_sure: is_bracketed || !is_ordinary(&name) })
}

/// Returns what a heading says, without its marks, folded.
fn name_of(heading: &str) -> String {
    folded(heading.trim_matches(['*', '#', ':', '：', '`', ' ']))
}

/// Reads a line that begins with one of some labels, or is a heading of nothing but one.
fn labelled(line: &str, labels: &[Label]) -> Option<(Label, String)> {
    let line = line.trim();
    let named = |name: &str| {
        labels.iter().copied().find(|label| {
            let (written, others) = label.names();
            name == folded(written) || others.contains(&name)
        })
    };
    if (line.starts_with('#') || line.starts_with("**"))
        && let Some(label) = named(&name_of(line))
    {
        return Some((label, String::new()));
    }
    let bare = line.trim_start_matches(['-', '*', '•', '>', '#', '·', '+', ' ']);
    let is_marked = line.trim_start_matches(['-', '•', '>', '·', '+', ' ']).starts_with("**");
    let (name, value) = bare.split_once([':', '：'])?;
    let label = named(&folded(name.trim_matches(['*', '_', '`', ' ', '"'])))?;
    let value = if is_marked { value.trim_start().trim_start_matches("**") } else { value };
    Some((label, one_line(value)))
}

/// Reads an item of a list: a bullet or a number before it.
fn item(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix(['-', '*', '•', '·', '+', '–']) {
        return rest.starts_with([' ', '\t', '[', '【']).then(|| one_line(rest));
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 || digits > 3 {
        return None;
    }
    let rest = line[digits..].strip_prefix(['.', ')', '、', '）'])?;
    rest.starts_with([' ', '\t', '[']).then(|| one_line(rest))
}

/// Returns a text as one line with one space between words.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the parts of an item, which bars divide; a backslash takes a bar's meaning.
pub(super) fn parts(item: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = item.chars();
    while let Some(letter) = letters.next() {
        let last = parts.last_mut().expect("there is one from the start");
        match letter {
            '\\' => match letters.next() {
                Some(next @ ('|' | '\\' | '"')) => last.extend(['\\', next]),
                Some(next) => last.extend(['\\', '\\', next]),
                None => last.extend(['\\', '\\']),
            },
            '|' | '｜' => parts.push(String::new()),
            _ => last.push(letter),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// Takes the backslashes of a part away.
pub(super) fn unescaped(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut letters = part.chars();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    text
}
