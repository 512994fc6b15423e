//! Drops private thinking from a stream of characters.

use crate::tags::{may_become_thinking_tag, thinking_tag};

/// Passes on what is outside thinking blocks; holds back what may be the start of a tag.
#[derive(Debug, Default)]
pub(super) struct ThinkingFilter {
    /// `<` and what followed it, while it may become a tag.
    held: String,
    /// The block that is open.
    inside: Option<&'static str>,
}

impl ThinkingFilter {
    pub(super) fn push(&mut self, c: char, emit: &mut impl FnMut(char)) {
        if c == '<' {
            self.release(emit);
            self.held.push(c);
        } else if self.held.is_empty() {
            self.pass(c, emit);
        } else {
            self.held.push(c);
            if let Some(tag) = thinking_tag(&self.held) {
                self.held.clear();
                match self.inside {
                    None if !tag.closing => self.inside = Some(tag.name),
                    Some(name) if tag.closing && tag.name == name => self.inside = None,
                    None | Some(_) => {}
                }
            } else if !may_become_thinking_tag(&self.held) {
                self.release(emit);
            }
        }
    }

    pub(super) fn finish(&mut self, emit: &mut impl FnMut(char)) {
        self.release(emit);
    }

    fn release(&mut self, emit: &mut impl FnMut(char)) {
        for c in std::mem::take(&mut self.held).chars() {
            self.pass(c, emit);
        }
    }

    fn pass(&self, c: char, emit: &mut impl FnMut(char)) {
        if self.inside.is_none() {
            emit(c);
        }
    }
}
