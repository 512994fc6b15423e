//! The blocks of a prompt: tagged, escaped pieces of material that can be shortened or left out (K13, P15).

use std::sync::Arc;

use super::measure;
use crate::escape;

/// Which place of a template a block stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Question,
    Criteria,
    Outcomes,
    Descriptions,
    Background,
    Findings,
    Variables,
    Data,
    Rules,
    Points,
    Argument,
    Evidence,
    Persona,
    Rejection,
    /// No block: what stands before it is a message of its own.
    End,
}

impl Slot {
    /// How many there are.
    pub(super) const COUNT: usize = 15;

    /// Returns the slot that has a name in templates.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "question" => Self::Question,
            "criteria" => Self::Criteria,
            "outcomes" => Self::Outcomes,
            "descriptions" => Self::Descriptions,
            "background" => Self::Background,
            "findings" => Self::Findings,
            "variables" => Self::Variables,
            "data" => Self::Data,
            "rules" => Self::Rules,
            "points" => Self::Points,
            "argument" => Self::Argument,
            "evidence" => Self::Evidence,
            "persona" => Self::Persona,
            "rejection" => Self::Rejection,
            "end" => Self::End,
            _ => return None,
        })
    }
}

/// Returns a text on one line, escaped (K13); most texts hold nothing that has to be.
pub(super) fn line(text: &str) -> String {
    if is_plain(text) { text.trim().to_owned() } else { escape::xml_line(text) }
}

/// Tells whether a text surely holds no line break and nothing to escape; reads bytes, because that is quick.
fn is_plain(text: &str) -> bool {
    // The compiler reads all bytes of a piece at once; most pieces are done with that.
    const PIECE: usize = 32;
    let bytes = text.as_bytes();
    let odd = |byte: u8| !(0x20..0x7f).contains(&byte) | (byte == b'&') | (byte == b'<') | (byte == b'>');
    bytes.chunks(PIECE).enumerate().all(|(place, piece)| {
        let is_odd = piece.iter().fold(false, |found, byte| found | odd(*byte));
        !is_odd || (place * PIECE..).zip(piece).all(|(at, byte)| is_plain_byte(*byte, &bytes[at + 1..]))
    })
}

/// Tells whether a byte surely begins nothing that breaks a line or has to be escaped.
fn is_plain_byte(byte: u8, after: &[u8]) -> bool {
    match byte {
        b'&' | b'<' | b'>' | 0x00..=0x1f | 0x7f | 0xef => false,
        // U+0080 to U+009F are controls.
        0xc2 => after.first().is_some_and(|next| *next >= 0xa0),
        // U+2028 to U+202E and U+2066 to U+2069 break lines or turn the direction of writing.
        0xe2 => !matches!(after, [0x80, 0xa8..=0xae, ..] | [0x81, 0xa6..=0xa9, ..]),
        _ => true,
    }
}

/// Returns a text as the value of an attribute, without its quotes (K13).
pub(super) fn attribute(text: &str) -> String {
    line(text).replace('"', "&quot;")
}

/// A tagged piece of material.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The name under which its omission is recorded.
    pub(super) name: Arc<str>,
    /// Where it stands.
    pub(super) slot: Slot,
    open: Arc<str>,
    short: Option<Arc<str>>,
    close: Arc<str>,
    body: Arc<str>,
    frame_tokens: u32,
    body_tokens: u32,
    /// How much of it is shown.
    pub(super) share: Share,
}

/// How much of a block is shown when not everything fits; tokens are of its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// Floors are given in this order, the lowest first.
    pub(super) rank: u8,
    /// What is left is given in this order, the lowest first; equals share evenly.
    pub(super) fill: u8,
    /// It must be there, with at least `least` tokens.
    pub(super) required: bool,
    /// It may be there without any of its body.
    pub(super) bare: bool,
    /// Fewer tokens than these are not worth showing.
    pub(super) least: u32,
    /// Tokens that it has before anything of higher rank has any; 0 for none.
    pub(super) floor: u32,
    /// Tokens that it has at most.
    pub(super) most: u32,
}

impl Share {
    /// Shown when there is room left after everything of lower `fill`.
    pub(super) const fn spare(fill: u8, least: u32) -> Self {
        Self { rank: fill, fill, required: false, bare: false, least, floor: 0, most: u32::MAX }
    }

    /// Shown with `floor` tokens before anything of higher rank, then like [`Share::spare`].
    pub(super) const fn floored(fill: u8, floor: u32) -> Self {
        Self { floor, ..Self::spare(fill, floor) }
    }

    /// Never left out: at least `least` tokens of it are shown.
    pub(super) const fn required(fill: u8, least: u32, floor: u32) -> Self {
        Self { required: true, floor, ..Self::spare(fill, least) }
    }
}

impl Block {
    /// Makes a block of one text on one line, `<tag>text</tag>`; `None` of blank text.
    pub(super) fn inline(slot: Slot, tag: &str, text: &str, share: Share) -> Option<Self> {
        let body = line(text);
        (!body.is_empty())
            .then(|| Self::new(tag.to_owned(), slot, format!("<{tag}>"), body, format!("</{tag}>\n"), share))
    }

    /// Makes a block of the prompt's own words, which are always there.
    pub(super) fn words(slot: Slot, name: &str, words: &str) -> Self {
        let share = Share::required(0, 0, 0);
        Self::new(
            name.to_owned(),
            slot,
            format!("{}\n", words.trim_end()),
            String::new(),
            String::new(),
            share,
        )
    }

    /// Makes a block of one item a line, each behind `prefix`; `None` without items that say anything.
    pub(super) fn list<'t>(
        slot: Slot,
        tag: &str,
        items: impl IntoIterator<Item = (&'t str, &'t str)>,
        share: Share,
    ) -> Option<Self> {
        let mut body = String::new();
        for (prefix, text) in items {
            let text = line(text);
            if text.is_empty() {
                continue;
            }
            if !body.is_empty() {
                body.push('\n');
            }
            body.push_str(prefix);
            body.push_str(&text);
        }
        (!body.is_empty()).then(|| {
            Self::new(tag.to_owned(), slot, format!("<{tag}>\n"), body, format!("\n</{tag}>\n"), share)
        })
    }

    /// Makes a block of one text on one line whose opening tag has attributes: `spare` is left out where not even the
    /// least of everything fits with it.
    pub(super) fn tagged(
        name: String,
        slot: Slot,
        tag: &str,
        attributes: &str,
        spare: &str,
        text: &str,
        share: Share,
    ) -> Self {
        let open = format!("<{tag}{attributes}{spare}>");
        let mut block = Self::new(name, slot, open, line(text), format!("</{tag}>\n"), share);
        block.short = (!spare.is_empty()).then(|| format!("<{tag}{attributes}>").into());
        block
    }

    fn new(name: String, slot: Slot, open: String, body: String, close: String, share: Share) -> Self {
        let frame_tokens = measure::count(&open) + measure::count(&close);
        let body_tokens = measure::count(&body);
        let (name, open) = (name.into(), open.into());
        Self {
            name,
            slot,
            open,
            short: None,
            close: close.into(),
            body: body.into(),
            frame_tokens,
            body_tokens,
            share,
        }
    }

    /// Leaves out what is spare in the opening tag; says whether there was anything.
    pub(super) fn shorten(&mut self) -> bool {
        let Some(short) = self.short.take() else { return false };
        self.open = short;
        self.frame_tokens = measure::count(&self.open) + measure::count(&self.close);
        true
    }

    /// Returns the tokens of everything but the body.
    pub(super) fn frame_tokens(&self) -> u32 {
        self.frame_tokens
    }

    /// Returns the tokens of the body that may be shown.
    pub(super) fn body_tokens(&self) -> u32 {
        self.body_tokens.min(self.share.most)
    }

    /// Writes the block with at most so many tokens of its body; returns what was left out, if anything.
    pub(super) fn write(&self, tokens_max: Option<u32>, out: &mut String) -> Option<String> {
        let all = self.body_tokens;
        let Some(tokens_max) = tokens_max else {
            return Some(format!("{}: left out, {all} tokens", self.name));
        };
        if all <= tokens_max {
            out.extend([&*self.open, &*self.body, &*self.close]);
            return None;
        }
        let body = if tokens_max == 0 { String::new() } else { measure::cut(&self.body, tokens_max) };
        if body.is_empty() && !self.share.bare && !self.share.required {
            return Some(format!("{}: left out, {all} tokens", self.name));
        }
        out.extend([&*self.open, body.as_str(), &*self.close]);
        let kept = measure::count(&body);
        Some(format!("{}: cut to {kept} of {all} tokens", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn k13_every_character_is_escaped_as_everywhere() {
        for c in '\0'..='\u{ffff}' {
            let text = format!("a{c}b");
            assert_eq!(line(&text), escape::xml_line(&text), "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn k13_a_line_is_escaped_whatever_it_holds(text in any::<String>()) {
            prop_assert_eq!(line(&text), escape::xml_line(&text));
        }

        #[test]
        fn k13_odd_characters_are_escaped_as_everywhere(
            text in "[ab&<>\u{7f}-\u{a1}\u{2026}-\u{2030}\u{2064}-\u{206a}\u{fefe}-\u{ff01}\u{3000}\n]{0,12}",
        ) {
            prop_assert_eq!(line(&text), escape::xml_line(&text));
        }
    }
}
