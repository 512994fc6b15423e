//! Markdown and HTML of question bodies as plain text. Markup and addresses take tokens that criteria need (K19).

use std::borrow::Cow;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// HTML elements that are removed; a tag of another name is text, such as `<often>`.
const ELEMENTS: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "center",
    "code",
    "del",
    "details",
    "div",
    "em",
    "figure",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "iframe",
    "img",
    "ins",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "small",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];

/// Elements that begin a line.
const BREAKS: &[&str] = &["br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "tr"];

/// Returns a text without Markdown and HTML markup. Links keep their text and the host of their address. A text without
/// markup is returned as it is.
pub(crate) fn plain_text(text: &str) -> Cow<'_, str> {
    if !has_markup(text) {
        return Cow::Borrowed(text);
    }
    let mut plain = Plain::default();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    Parser::new_ext(&without_tags(text), options).for_each(|event| plain.take(event));
    Cow::Owned(plain.text.trim().to_owned())
}

fn has_markup(text: &str) -> bool {
    let has_entity = || {
        text.split('&').skip(1).any(|rest| {
            let name = rest.split_once(';').map_or("", |(name, _)| name);
            (2..=8).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#')
        })
    };
    text.contains("](") || text.contains("**") || tags(text).next().is_some() || has_entity()
}

/// Returns the tags of known elements: where each begins and ends, and its element.
fn tags(text: &str) -> impl Iterator<Item = (usize, usize, &'static str)> {
    text.match_indices('<').filter_map(|(start, _)| {
        let inner = &text[start + 1..start + text[start..].find('>')?];
        let tag = inner.trim_start_matches('/').trim_end_matches('/').trim_end();
        let (name, attributes) = tag.split_once([' ', '\t', '\n']).unwrap_or((tag, "="));
        let element = ELEMENTS.iter().find(|element| element.eq_ignore_ascii_case(name))?;
        attributes.contains('=').then_some((start, start + inner.len() + 2, *element))
    })
}

/// Removes the tags of known elements, and guards every other `<`, which Markdown would read as HTML.
fn without_tags(text: &str) -> String {
    let (mut without, mut at) = (String::with_capacity(text.len()), 0);
    let mut push = |piece: &str, then: &str| {
        without.push_str(&piece.replace('<', "&lt;"));
        without.push_str(then);
    };
    for (start, end, element) in tags(text).filter(|(start, ..)| !text[..*start].ends_with('\\')) {
        if start >= at {
            push(&text[at..start], if BREAKS.contains(&element) { "\n\n" } else { "" });
            at = end;
        }
    }
    push(&text[at..], "");
    without
}

#[derive(Default)]
struct Plain {
    text: String,
    /// The number of the next item of each open list.
    lists: Vec<Option<u64>>,
    /// The address of each open link, and where its text begins.
    links: Vec<(String, usize)>,
}

impl Plain {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.text.push_str(&text);
            }
            Event::Start(Tag::List(first)) => {
                self.end_line();
                self.lists.push(first);
            }
            Event::Start(Tag::Item) => self.begin_item(),
            Event::Start(Tag::Link { dest_url, .. }) => {
                self.links.push((dest_url.into_string(), self.text.len()));
            }
            Event::End(TagEnd::Link) => self.end_link(),
            Event::End(TagEnd::List(_)) => drop(self.lists.pop()),
            Event::End(TagEnd::TableCell) => self.text.push_str(" | "),
            Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::CodeBlock
                | TagEnd::TableRow
                | TagEnd::TableHead,
            ) => self.end_line(),
            _ => {}
        }
    }

    fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches([' ', '\n']).len());
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn begin_item(&mut self) {
        self.end_line();
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.text.push_str(&format!("{number}. "));
                *number += 1;
            }
            Some(None) | None => self.text.push_str("- "),
        }
    }

    fn end_link(&mut self) {
        let Some((address, start)) = self.links.pop() else { return };
        let host = address.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
        let host = host.unwrap_or_default().trim_start_matches("www.");
        if !host.is_empty() && !self.text[start..].contains(host) {
            self.text.push_str(&format!(" ({host})"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_markup_stays_as_it_is() {
        for text in [
            "More than 5 * 3 * 2 < 40 & x > 1",
            "- a\n    b\n1. c_d_e",
            "It <often> rains; a <b and c> d; AT&T; 2 &; R&D is high;",
            "",
        ] {
            assert!(matches!(plain_text(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn markup_of_platforms_becomes_text() {
        for (markup, plain) in [
            ("resolves as **Yes** if, *before* April 1", "resolves as Yes if, before April 1"),
            (
                "[<u>credible sources</u>](https://www.metaculus.com/faq/#definitions)&#x20;say so",
                "credible sources (metaculus.com) say so",
            ),
            ("see [fred.org](https://fred.org/x) &amp; more", "see fred.org & more"),
            ("**a**\r\n\r\n***\r\n\r\n#### **Prize \\$2,500**\r\n\r\ntext", "a\nPrize $2,500\ntext"),
            ("<p>One</p><p>Two &lt;/question&gt; it</p>", "One\nTwo </question> it"),
            ("**Steps**\n\n1. one\n2. two\n   - deep\n\n- x", "Steps\n1. one\n2. two\n- deep\n- x"),
            ("**t**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "t\na | b |\n1 | 2 |"),
            ("**is** x <often> less", "is x <often> less"),
            ("a<br/>b <a href=\"https://x.org\">c</a>", "a\nb c"),
        ] {
            assert_eq!(plain_text(markup), plain, "{markup}");
        }
    }
}
