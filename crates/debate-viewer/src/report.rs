//! A debate as one file for mail and archives: what its page shows, without a server.

mod markdown;

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use debate_core::id::{Digest, Timestamp};
use debate_core::steering::steers;
use debate_engine::Verification;
use serde::Serialize;

use crate::assets::{SCRIPT, STYLE};
use crate::debate_page::DebatePage;
use crate::proof::VerificationShown;

/// What a report says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The debate as its page shows it.
    page: DebatePage,
    /// Whether its log held together when the report was made.
    verification: VerificationShown,
    made_at: String,
}

impl Report {
    /// Puts a report together.
    #[must_use]
    pub fn new(page: DebatePage, verification: Verification, made_at: Timestamp) -> Self {
        Self { page, verification: verification.into(), made_at: made_at.to_string() }
    }

    /// Returns it as JSON.
    ///
    /// # Panics
    /// Never: a page has string keys and finite numbers.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a page has string keys and finite numbers")
    }

    /// Returns it as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::report(self)
    }

    /// Returns it as one page of HTML with the charts of the viewer, which loads nothing and runs nothing but its own
    /// script. Where scripts do not run it shows the Markdown.
    #[must_use]
    pub fn html(&self) -> String {
        let title = escaped(self.page.title.as_deref().unwrap_or(debate_core::prose::REDACTED));
        let text = escaped(&self.markdown());
        // A reader of JSON takes the one for the other; a reader of HTML finds no markup, a terminal nothing to obey.
        let data = self.json().chars().fold(String::new(), |mut data, c| {
            if c == '<' || is_unfit(c) {
                // Writing to a string does not fail. All of them have four digits.
                let _ = write!(data, "\\u{:04x}", u32::from(c));
            } else {
                data.push(c);
            }
            data
        });
        let (script, style) = (source(SCRIPT), source(STYLE));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; script-src '{script}'; style-src '{style}'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<noscript><pre>{text}</pre></noscript>\n\
             <div id=\"page\"></div>\n<script type=\"application/json\" id=\"report\">{data}</script>\n\
             <script>{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

/// Returns how a policy names a script or a style sheet that stands in the page.
fn source(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Digest::of_text(text).0))
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    text.replace(is_unfit, "\u{fffd}")
}

/// Returns whether a character may not stand in a document of several lines (rule K13).
fn is_unfit(c: char) -> bool {
    c != '\n' && steers(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_and_style_can_stand_inside_of_a_page() {
        assert!(!SCRIPT.to_lowercase().contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
    }

    #[test]
    fn text_is_never_markup() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
        assert_eq!(escaped("a\u{1b}b\u{202e}\nc"), "a\u{fffd}b\u{fffd}\nc");
    }
}
