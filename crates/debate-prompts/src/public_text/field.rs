//! Follows a JSON object character by character and emits the text of one field.

use super::thinking::ThinkingFilter;
use super::unescape::Unescape;

/// Longest key that is compared, in bytes; longer ones are not the field.
const KEY_BYTES_MAX: usize = 256;

/// Emits the text of one top-level field.
#[derive(Debug)]
pub(super) struct FieldText {
    name: String,
    place: Place,
    thinking: ThinkingFilter,
    /// Open brackets; 1 inside the object alone.
    depth: usize,
    /// What comes next at depth 1.
    next: Next,
    /// The key last read at depth 1.
    key: String,
}

#[derive(Debug)]
enum Place {
    /// Before the object.
    Outside,
    /// Between texts of the object.
    Structure,
    /// Inside a text.
    Text(Text),
    /// The field was there; nothing else is shown.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Key,
    Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Key,
    Shown,
    Other,
}

#[derive(Debug)]
struct Text {
    role: Role,
    quote: char,
    unescape: Unescape,
    /// A quote that may end the text, and what followed it.
    ending: Option<String>,
}

/// What a quote inside a text turned out to be.
enum Verdict {
    End,
    Content,
    Open,
}

impl FieldText {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            place: Place::Outside,
            thinking: ThinkingFilter::default(),
            depth: 0,
            next: Next::Key,
            key: String::new(),
        }
    }

    pub(super) fn push(&mut self, c: char, public: &mut String) {
        match std::mem::replace(&mut self.place, Place::Done) {
            Place::Done => {}
            Place::Outside => {
                let mut opened = false;
                self.thinking.push(c, &mut |c| opened |= c == '{');
                self.place = if opened { self.open_object() } else { Place::Outside };
            }
            Place::Structure => self.place = self.structure(c),
            Place::Text(text) => self.text(text, c, public),
        }
    }

    pub(super) fn finish(&mut self, public: &mut String) {
        if let Place::Text(mut text) = std::mem::replace(&mut self.place, Place::Done)
            && text.role == Role::Shown
            && text.ending.is_none()
        {
            text.unescape.finish(&mut |c| public.push(c));
        }
    }

    fn open_object(&mut self) -> Place {
        self.depth = 1;
        self.next = Next::Key;
        self.key.clear();
        Place::Structure
    }

    fn structure(&mut self, c: char) -> Place {
        match c {
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    return Place::Outside;
                }
            }
            '"' | '\'' | '“' => return self.open_text(c),
            ':' if self.depth == 1 => self.next = Next::Value,
            ',' if self.depth == 1 => {
                self.next = Next::Key;
                self.key.clear();
            }
            // A key without quotes.
            c if self.depth == 1
                && self.next == Next::Key
                && (c.is_alphanumeric() || matches!(c, '_' | '-')) =>
            {
                push_key(&mut self.key, c);
            }
            _ => {}
        }
        Place::Structure
    }

    fn open_text(&mut self, c: char) -> Place {
        let role = match (self.depth, self.next) {
            (1, Next::Key) => {
                self.key.clear();
                Role::Key
            }
            (1, Next::Value) if self.key == self.name => Role::Shown,
            (_, Next::Key | Next::Value) => Role::Other,
        };
        let quote = if c == '“' { '”' } else { c };
        Place::Text(Text { role, quote, unescape: Unescape::default(), ending: None })
    }

    fn text(&mut self, mut text: Text, c: char, public: &mut String) {
        let Some(mut ending) = text.ending.take() else {
            if c == text.quote && !text.unescape.is_open() {
                text.ending = Some(String::new());
            } else {
                self.content(&mut text, c, public);
            }
            self.place = Place::Text(text);
            return;
        };
        ending.push(c);
        match verdict(&ending, text.role) {
            Verdict::Open => {
                text.ending = Some(ending);
                self.place = Place::Text(text);
            }
            Verdict::End => {
                let mut sink = |c| emit(text.role, c, &mut self.key, public);
                text.unescape.finish(&mut sink);
                self.place = if text.role == Role::Shown { Place::Done } else { Place::Structure };
                ending.chars().for_each(|c| self.push(c, public));
            }
            Verdict::Content => {
                let quote = text.quote;
                self.content(&mut text, quote, public);
                self.place = Place::Text(text);
                ending.chars().for_each(|c| self.push(c, public));
            }
        }
    }

    fn content(&mut self, text: &mut Text, c: char, public: &mut String) {
        let role = text.role;
        text.unescape.push(c, &mut |c| emit(role, c, &mut self.key, public));
    }
}

fn emit(role: Role, c: char, key: &mut String, public: &mut String) {
    match role {
        Role::Key => push_key(key, c),
        Role::Shown => public.push(c),
        Role::Other => {}
    }
}

fn push_key(key: &mut String, c: char) {
    if key.len() <= KEY_BYTES_MAX {
        key.push(c);
    }
}

/// Decides by what follows a quote whether it ends its text: models forget to escape quotes.
fn verdict(after: &str, role: Role) -> Verdict {
    let rest = after.trim_start();
    let mut following = rest.chars();
    match (following.next(), role) {
        (None, _) => Verdict::Open,
        (Some(','), Role::Shown) => match following.as_str().trim_start().chars().next() {
            None => Verdict::Open,
            Some('"' | '\'' | '“' | '}' | ']') => Verdict::End,
            Some(_) => Verdict::Content,
        },
        (Some('}' | ']'), Role::Shown)
        | (Some(_), Role::Key)
        | (Some(':' | '}' | ']' | ','), Role::Other) => Verdict::End,
        (Some(_), Role::Shown | Role::Other) => Verdict::Content,
    }
}

#[cfg(test)]
mod tests {
    use crate::public_text::PublicText;

    fn check(reply: &str, expected: &str) {
        let mut whole = PublicText::field("argument");
        let text = whole.push(reply) + &whole.finish();
        assert_eq!(text, expected, "{reply}");
        let mut split = PublicText::field("argument");
        let mut text = String::new();
        for c in reply.chars() {
            text += &split.push(c.encode_utf8(&mut [0; 4]));
        }
        assert_eq!(text + &split.finish(), expected, "by character: {reply}");
    }

    #[test]
    fn k10_only_the_public_field_is_shown() {
        check(r#"{"thinking": "secret", "argument": "Said.", "confidence": 0.7}"#, "Said.");
        check(
            r#"{"thinking": {"argument": "secret"}, "list": [{"argument": "no"}], "argument": "Said."}"#,
            "Said.",
        );
        check(r#"{"note": "\"argument\": \"secret\"", "argument" : "Said."}"#, "Said.");
        check(r#"{"arguments": "secret", "argument": "Said.", "argument": "again"}"#, "Said.");
        check(r#"{"argument": {"text": "not a text"}, "argument2": "secret"}"#, "");
        check("no object at all", "");
    }

    #[test]
    fn k10_thinking_prose_and_fences_before_the_object_are_not_shown() {
        check(
            "<think>{\"argument\": \"secret\"}</think>Here:\n```json\n{\"argument\": \"Said.\"}\n```",
            "Said.",
        );
        check("a {set} and <b> {\"argument\": \"Said.\"} {\"argument\": \"More.\"}", "Said.");
        check("<thinking>{\"argument\": \"secret\"}", "");
    }

    #[test]
    fn k10_escapes_are_decoded() {
        check(
            r#"{"argument": "a\"b\\c\n\u00e9\uD83D\uDE00 <think>x</think>"}"#,
            "a\"b\\c\né😀 <think>x</think>",
        );
        check(
            r#"{"argument": "lone \uD83D and \uDE00 and \uD83D\u0041"}"#,
            "lone \u{fffd} and \u{fffd} and \u{fffd}A",
        );
        check(r#"{"argument": "path \d \uZZ"}"#, r"path \d \uZZ");
        check(r#"{"argument": "\u0041rgument", "\u0061": 1}"#, "Argument");
    }

    #[test]
    fn k10_quotes_that_were_not_escaped_stay_in_the_text() {
        check(r#"{"argument": "He said "no", and "yes" too", "b": 1}"#, "He said \"no\", and \"yes\" too");
        check(r#"{'argument': 'it's so', 'b': 1}"#, "it's so");
        check(r#"{argument: "Said."}"#, "Said.");
    }

    #[test]
    fn k10_a_reply_that_is_cut_off_shows_what_there_is() {
        check(r#"{"argument": "Said so fa"#, "Said so fa");
        check(r#"{"argument": "Said \u00"#, "Said ");
        check(r#"{"argument": "Said.""#, "Said.");
    }
}
