//! Messages that follow one another from the same speaker, as one: templates of local servers refuse user after user.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{Message, Role};

/// Splits a conversation where the speaker changes; what asks for a tool or answers one stands alone.
pub(super) fn turns(messages: &[Message]) -> impl Iterator<Item = Joined<'_>> {
    messages.chunk_by(|one, next| one.role == next.role && is_plain(one) && is_plain(next)).map(Joined)
}

fn is_plain(message: &Message) -> bool {
    message.role != Role::Tool && message.tool_calls.is_empty() && message.answers.is_none()
}

/// The messages of one turn, never none; written as their texts, a blank line between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joined<'a>(&'a [Message]);

impl<'a> Joined<'a> {
    /// Returns the first message, which is the only one where tools are asked for or answered.
    pub(super) fn first(self) -> &'a Message {
        &self.0[0]
    }

    /// Returns whether nothing is said.
    pub(super) fn is_empty(self) -> bool {
        self.0.iter().all(|message| message.content.is_empty())
    }
}

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&str> = None;
        for message in self.0 {
            match before {
                Some(text) if text.ends_with('\n') => f.write_str("\n")?,
                Some(_) => f.write_str("\n\n")?,
                None => {}
            }
            f.write_str(&message.content)?;
            before = Some(&message.content);
        }
        Ok(())
    }
}

impl Serialize for Joined<'_> {
    /// Writes the texts one after another into the body, without a copy of them all.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [only] => serializer.serialize_str(&only.content),
            _ => serializer.collect_str(self),
        }
    }
}
