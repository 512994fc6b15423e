//! Extracts the public text of a reply while it streams in (K10).
//!
//! Emits the decoded text of one field of a JSON reply, or a plain reply without its thinking;
//! never raw JSON, never private thinking. What was emitted depends on the text alone, not on how it
//! was split into chunks. It is a preview: the reply as a whole is read by [`crate::reader`].

mod field;
mod thinking;
mod unescape;

use field::FieldText;
use thinking::ThinkingFilter;

/// Turns chunks of a streaming reply into the text that may be shown (K10).
///
/// If a chat template opens the thinking itself, the reply contains only the closing tag. Such
/// thinking cannot be distinguished from an answer before that tag arrives; adapters keep it apart.
#[derive(Debug)]
pub struct PublicText {
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    Field(Box<FieldText>),
    Plain(ThinkingFilter),
}

impl PublicText {
    /// Shows the text of the top-level field `name` of the first JSON object that has it.
    ///
    /// Fields of the same name deeper inside are not shown, nor are fields that hold no text.
    pub fn field(name: &str) -> Self {
        Self { mode: Mode::Field(Box::new(FieldText::new(name))) }
    }

    /// Shows the whole reply except private thinking (`<think>…</think>` and the like).
    pub fn plain() -> Self {
        Self { mode: Mode::Plain(ThinkingFilter::default()) }
    }

    /// Takes the next chunk and returns the text that it makes public; often nothing.
    pub fn push(&mut self, chunk: &str) -> String {
        let mut public = String::new();
        for c in chunk.chars() {
            match &mut self.mode {
                Mode::Field(field) => field.push(c, &mut public),
                Mode::Plain(thinking) => thinking.push(c, &mut |c| public.push(c)),
            }
        }
        public
    }

    /// Returns what was held back; to be called once, when the reply has ended.
    pub fn finish(&mut self) -> String {
        let mut public = String::new();
        match &mut self.mode {
            Mode::Field(field) => field.finish(&mut public),
            Mode::Plain(thinking) => thinking.finish(&mut |c| public.push(c)),
        }
        public
    }
}
