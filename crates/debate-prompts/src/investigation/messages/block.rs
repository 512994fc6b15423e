//! From a reply's lines to blocks of labelled values; knows headers and labels, not what they mean.

use debate_core::formats::investigation::answer::Act;

use super::labels::{self, Label, folded};

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

/// Splits a reply into its messages, in order; what stands before the first header is no message.
pub(super) fn split(text: &str) -> Vec<Lines> {
    let mut blocks: Vec<Lines> = Vec::new();
    for line in text.lines().map(|line| line.trim_start().trim_start_matches('>')) {
        if line.trim().is_empty() || is_fence(line) {
            continue;
        }
        if let Some((act, rest)) = header(line) {
            blocks.push(Lines { act, entries: Vec::new() });
            if rest.is_empty() {
                continue;
            }
        }
        let Some(block) = blocks.last_mut() else { continue };
        let line = header(line).map_or(line, |(_, rest)| rest);
        if let Some((label, value)) = labelled(line, Label::of(block.act)) {
            block.entries.push((label, value, Vec::new()));
        } else if let Some((_, value, items)) = block.entries.last_mut() {
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
    }
    blocks
}

fn is_fence(line: &str) -> bool {
    let line = line.trim();
    (line.starts_with("```") || line.starts_with("~~~")) && !line[3..].contains(['`', '~'])
}

/// Reads a header, with what stands behind it on its line.
fn header(line: &str) -> Option<(Act, &str)> {
    let bare = line.trim().trim_start_matches(['#', '*', '>', '-', '•', ' ', '`']);
    let (inside, rest) = match bare.strip_prefix(['[', '【', '［']) {
        Some(inside) => inside.split_once([']', '】', '］'])?,
        // Without brackets a header stands alone on a heading's line.
        None if line.trim_start().starts_with(['#', '*']) => (bare, ""),
        None => return None,
    };
    let name = folded(inside.trim_matches(['*', '#', ':', '：', '`', ' ']));
    let act = Act::ALL.into_iter().find(|act| labels::header(*act).is(&name))?;
    Some((act, rest.trim_matches(['*', ':', '：', ' ', '`', '#'])))
}

/// Reads a line that begins with one of some labels.
fn labelled(line: &str, labels: &[Label]) -> Option<(Label, String)> {
    let bare = line.trim_start().trim_start_matches(['-', '*', '•', '>', '#', '·', '+', ' ']);
    let is_marked = line.trim_start().trim_start_matches(['-', '•', '>', '·', '+', ' ']).starts_with("**");
    let (name, value) = bare.split_once([':', '：'])?;
    let name = folded(name.trim_matches(['*', '_', '`', ' ', '"']));
    let label = labels.iter().copied().find(|label| label.name().is(&name))?;
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
