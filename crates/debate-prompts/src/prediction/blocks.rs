//! The blocks of a prompt: tagged, escaped pieces of material that can be shortened or left out (K13, P15).

use super::measure;
use crate::escape;

/// Which place of a template a block stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Question,
    Descriptions,
    Background,
    Findings,
    Variables,
    Data,
    Points,
    Argument,
    Evidence,
    Rejection,
}

/// A tagged piece of material.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The name under which its omission is recorded.
    pub(super) name: String,
    /// Where it stands.
    pub(super) slot: Slot,
    open: String,
    close: String,
    body: String,
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
        let body = escape::xml_line(text);
        (!body.is_empty())
            .then(|| Self::new(tag, slot, format!("<{tag}>"), body, format!("</{tag}>\n"), share))
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
            let text = escape::xml_line(text);
            if text.is_empty() {
                continue;
            }
            if !body.is_empty() {
                body.push('\n');
            }
            body.push_str(prefix);
            body.push_str(&text);
        }
        (!body.is_empty())
            .then(|| Self::new(tag, slot, format!("<{tag}>\n"), body, format!("\n</{tag}>\n"), share))
    }

    /// Makes a block with an opening tag that has attributes; they must be free of quotes and angle brackets.
    pub(super) fn tagged(
        name: &str,
        slot: Slot,
        tag: &str,
        attributes: &str,
        text: &str,
        share: Share,
    ) -> Self {
        let open = format!("<{tag}{attributes}>");
        Self::new(name, slot, open, escape::xml_line(text), format!("</{tag}>\n"), share)
    }

    fn new(name: &str, slot: Slot, open: String, body: String, close: String, share: Share) -> Self {
        let frame_tokens = measure::count(&open) + measure::count(&close);
        let body_tokens = measure::count(&body);
        Self { name: name.to_owned(), slot, open, close, body, frame_tokens, body_tokens, share }
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
            out.extend([self.open.as_str(), &self.body, &self.close]);
            return None;
        }
        let body = if tokens_max == 0 { String::new() } else { measure::cut(&self.body, tokens_max) };
        if body.is_empty() && !self.share.bare && !self.share.required {
            return Some(format!("{}: left out, {all} tokens", self.name));
        }
        out.extend([self.open.as_str(), &body, &self.close]);
        let kept = measure::count(&body);
        Some(format!("{}: cut to {kept} of {all} tokens", self.name))
    }
}
