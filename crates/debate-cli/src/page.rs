//! A page of text: headings, paragraphs, lists, tables, bars, laid out for its terminal.

use console::{measure_text_width, pad_str, truncate_str};
pub(crate) use debate_viewer::wording::thousands;

use crate::plain::{one_line, plain};
use crate::terminal::{Style, Terminal};

/// The narrowest paragraph, however deep it is indented.
const TEXT_WIDTH_MIN: usize = 20;

/// Which way a column of a table is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Text being laid out.
#[derive(Debug)]
pub(crate) struct Page {
    terminal: Terminal,
    text: String,
}

impl Page {
    /// Begins an empty page.
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self { terminal, text: String::new() }
    }

    /// Returns the terminal.
    pub(crate) fn terminal(&self) -> Terminal {
        self.terminal
    }

    /// Returns what was laid out.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Leaves a line empty, unless the page begins here.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Writes a line. Names in it may come from a log that another party sent, and are not checked.
    pub(crate) fn line(&mut self, line: &str) {
        self.drawn(&plain(line));
    }

    /// Writes a line that stands out.
    pub(crate) fn inked(&mut self, ink: Style, line: &str) {
        self.drawn(&self.terminal.ink(ink, &plain(line)));
    }

    fn drawn(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Writes a heading after a gap.
    pub(crate) fn heading(&mut self, text: &str) {
        self.gap();
        self.inked(Style::Bold, text);
    }

    /// Writes something to be noticed, over as many lines as it takes.
    pub(crate) fn warning(&mut self, text: &str) {
        for line in wrap(&plain(text), self.terminal.width) {
            self.inked(Style::Warning, &line);
        }
    }

    /// Writes text of people or models in paragraphs, indented.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        self.hanging(indent, "", text);
    }

    /// Writes text behind a mark, such as `- `, the lines after the first indented as deep as the first one's text.
    pub(crate) fn hanging(&mut self, indent: usize, mark: &str, text: &str) {
        self.laid(indent, mark, &plain(text), usize::MAX);
    }

    /// Writes at most so many lines of a text and says when there is more.
    pub(crate) fn excerpt(&mut self, indent: usize, text: &str, lines_max: usize) {
        self.laid(indent, "", &plain(text), lines_max);
    }

    fn laid(&mut self, indent: usize, mark: &str, text: &str, lines_max: usize) {
        let deep = indent + measure_text_width(mark);
        let width = self.terminal.width.saturating_sub(deep).max(TEXT_WIDTH_MIN);
        let lines = wrap(text.trim(), width);
        let left = lines.len().saturating_sub(lines_max);
        for (place, line) in lines.iter().take(lines_max).enumerate() {
            let start = if place == 0 { mark } else { "" };
            let more = if left > 0 && place + 1 == lines_max { self.terminal.or(" …", " ...") } else { "" };
            let start = pad_str(start, deep - indent, console::Alignment::Left, None);
            self.line(&format!("{:indent$}{start}{line}{more}", ""));
        }
    }

    /// Writes a table with a head; the last column may be as wide as the terminal allows, and no wider.
    pub(crate) fn table(&mut self, indent: usize, head: &[(&str, Column)], rows: &[Vec<String>]) {
        let widths: Vec<usize> = (0..head.len())
            .map(|column| {
                let cells =
                    rows.iter().filter_map(|row| row.get(column)).map(|cell| measure_text_width(cell));
                cells.max().unwrap_or(0).max(measure_text_width(head[column].0))
            })
            .collect();
        let names: Vec<String> = head.iter().map(|(name, _)| (*name).to_owned()).collect();
        let line = self.row(indent, head, &widths, &names);
        self.inked(Style::Dim, line.trim_end());
        for row in rows {
            let line = self.row(indent, head, &widths, row);
            self.line(&line);
        }
    }

    fn row(&self, indent: usize, head: &[(&str, Column)], widths: &[usize], cells: &[String]) -> String {
        let mut line = " ".repeat(indent);
        for (place, ((_, column), width)) in head.iter().zip(widths).enumerate() {
            let cell = cells.get(place).map_or("", String::as_str);
            let alignment = match column {
                Column::Left => console::Alignment::Left,
                Column::Right => console::Alignment::Right,
            };
            if place > 0 {
                line.push_str("  ");
            }
            line.push_str(&pad_str(cell, *width, alignment, None));
        }
        truncate_str(line.trim_end(), self.terminal.width, self.terminal.or("…", "...")).into_owned()
    }

    /// Writes one probability of a list as a bar; `label_width` is that of the widest label.
    pub(crate) fn bar(&mut self, label: &str, label_width: usize, share: f64) {
        let label = truncate_str(label, label_width, self.terminal.or("…", "..."));
        let label = pad_str(&label, label_width, console::Alignment::Left, None);
        let start = format!("  {label}  {:>7}  ", percent(share));
        let cells = self.terminal.width.saturating_sub(measure_text_width(&start)).max(1);
        let bar = self.terminal.ink(Style::Bar, &self.terminal.bar(share, cells));
        self.drawn(&format!("{}{bar}", plain(&start)));
    }

    /// Returns the width for labels next to bars: that of the widest, or two fifths of the terminal.
    pub(crate) fn label_width<'a>(&self, labels: impl IntoIterator<Item = &'a String>) -> usize {
        let widest = labels.into_iter().map(|label| measure_text_width(label)).max().unwrap_or(0);
        widest.min(self.terminal.width * 2 / 5)
    }
}

/// Returns a share of 1 in percent, with one digit behind the point; what is there never reads as nothing.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        share if share > 0.0 && share < 0.05 => "<0.1 %".to_owned(),
        share if (99.95..100.0).contains(&share) => ">99.9 %".to_owned(),
        share => format!("{share:.1} %"),
    }
}

/// Returns a number in [0, 1] with two digits, or a dash where there is none.
pub(crate) fn score(score: Option<f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}"))
}

/// Returns a span of time for people.
pub(crate) fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1_000.0),
        _ => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
    }
}

/// Returns a text of people as one line of at most so many columns.
pub(crate) fn clipped(text: &str, columns: usize) -> String {
    truncate_str(&one_line(text), columns, "…").into_owned()
}

/// Breaks a text into lines of at most `width` columns; longer words are broken too, its own line breaks stay.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let mut word = word.to_owned();
            if !line.is_empty() && measure_text_width(&line) + 1 + measure_text_width(&word) > width {
                lines.push(std::mem::take(&mut line));
            }
            while measure_text_width(&word) > width {
                let head = truncate_str(&word, width, "").into_owned();
                // A character wider than the line would never fit.
                let cut =
                    if head.is_empty() { word.chars().next().map_or(1, char::len_utf8) } else { head.len() };
                let rest = word.split_off(cut);
                lines.push(std::mem::replace(&mut word, rest));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Terminal = Terminal { width: 40, unicode: true, colour: false };

    #[test]
    fn k13_nothing_on_a_page_steers_the_terminal_but_its_own_colours() {
        let name = "ada\x1b]0;mine\x07\u{202e}";
        let columns = [(name, Column::Left), (name, Column::Right)];
        let mut page = Page::new(Terminal { colour: true, ..PAPER });
        page.line(name);
        page.inked(Style::Dim, name);
        page.heading(name);
        page.warning(name);
        page.paragraph(2, name);
        page.hanging(2, name, name);
        page.excerpt(2, name, 1);
        page.table(0, &columns, &[vec![name.to_owned(), name.to_owned()]]);
        page.bar(name, 30, 0.5);
        let text = page.into_text();
        assert!(text.matches("ada\u{fffd}]0;mine").count() >= 12, "{text:?}");
        let colours = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[36m"];
        let text = colours.iter().fold(text, |text, colour| text.replace(colour, ""));
        assert_eq!(plain(&text), text);
    }

    #[test]
    fn text_is_broken_between_words_and_long_words_are_broken_too() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a\n\nb", 7), ["a", "", "b"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        for width in 1..30 {
            let lines = wrap("Ein längerer Satz — mit 日本語 dazwischen, und Verschränkungswörtern.", width);
            assert!(lines.iter().all(|line| measure_text_width(line) <= width.max(2)), "{width}");
        }
    }

    #[test]
    fn a_mark_hangs_before_its_text() {
        let mut page = Page::new(PAPER);
        page.hanging(2, "- ", "a text that is longer than one line of this terminal");
        assert_eq!(page.into_text(), "  - a text that is longer than one line\n    of this terminal\n");
    }

    #[test]
    fn an_excerpt_says_when_there_is_more() {
        let mut page = Page::new(PAPER);
        page.excerpt(0, "a\nb\nc", 2);
        page.excerpt(0, "d", 2);
        assert_eq!(page.into_text(), "a\nb …\nd\n");
    }

    #[test]
    fn tables_line_up_and_end_at_the_edge() {
        let mut page = Page::new(PAPER);
        let head = [("role", Column::Left), ("p", Column::Right), ("why", Column::Left)];
        let row = |role: &str, p: &str, why: &str| vec![role.to_owned(), p.to_owned(), why.to_owned()];
        let long = "so long that it does not fit the terminal at all";
        page.table(2, &head, &[row("optimist", "5.0 %", "x"), row("né", "35.0 %", long)]);
        let text = page.into_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  role           p  why");
        assert_eq!(lines[1], "  optimist   5.0 %  x");
        assert_eq!(lines[2], "  né        35.0 %  so long that it doe…");
    }

    #[test]
    fn bars_use_the_width_that_labels_leave() {
        let mut page = Page::new(PAPER);
        page.bar("Yes", 4, 1.0);
        page.bar("No", 4, 0.0);
        let text = page.into_text();
        assert_eq!(text, format!("  Yes   100.0 %  {}\n  No      0.0 %\n", "█".repeat(23)));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0.0, 0.0001, 0.214, 0.9999, 1.0].map(percent),
            ["0.0 %", "<0.1 %", "21.4 %", ">99.9 %", "100.0 %"]
        );
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([5, 1_500, 59_999, 61_000].map(span), ["5 ms", "1.5 s", "60.0 s", "1 min 01 s"]);
        assert_eq!((score(Some(0.711)).as_str(), score(None).as_str()), ("0.71", "-"));
    }
}
