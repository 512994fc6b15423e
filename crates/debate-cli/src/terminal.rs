//! What output is drawn on: how wide it is, and what it can show.

use console::{Term, style};

/// The width where none is known.
const WIDTH_DEFAULT: usize = 100;
/// The narrowest and the widest that is drawn for.
const WIDTH_MIN: usize = 40;
const WIDTH_MAX: usize = 140;

/// Width and abilities of what is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Columns.
    pub(crate) width: usize,
    /// Whether anything beyond ASCII can be drawn.
    pub(crate) unicode: bool,
    /// Whether it knows colours.
    pub(crate) colour: bool,
}

/// How a piece of text stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A heading.
    Bold,
    /// Less important.
    Dim,
    /// A bar.
    Bar,
    /// To be noticed.
    Warning,
}

impl Terminal {
    /// Returns stdout as it is.
    pub(crate) fn stdout(ascii: bool) -> Self {
        Self::of(&Term::stdout(), console::colors_enabled(), ascii)
    }

    /// Returns stderr as it is.
    pub(crate) fn stderr(ascii: bool) -> Self {
        Self::of(&Term::stderr(), console::colors_enabled_stderr(), ascii)
    }

    fn of(term: &Term, colour: bool, ascii: bool) -> Self {
        let lookup = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let columns = term.size_checked().map(|(_, columns)| usize::from(columns));
        let columns = columns.or_else(|| lookup("COLUMNS")?.parse().ok()).unwrap_or(WIDTH_DEFAULT);
        Self {
            width: columns.clamp(WIDTH_MIN, WIDTH_MAX),
            unicode: !ascii && speaks_unicode(lookup),
            colour: colour && term.is_term(),
        }
    }

    /// Returns a text that stands out, as far as the terminal allows.
    pub(crate) fn ink(&self, ink: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let styled = style(text).force_styling(true);
        let styled = match ink {
            Style::Bold => styled.bold(),
            Style::Dim => styled.dim(),
            Style::Bar => styled.cyan(),
            Style::Warning => styled.yellow().bold(),
        };
        styled.to_string()
    }

    /// Returns the first text where it can be drawn, the second elsewhere.
    pub(crate) const fn or(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    /// Returns a bar of a share in [0, 1] of so many cells, without trailing blanks.
    pub(crate) fn bar(&self, share: f64, cells: usize) -> String {
        const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        if !self.unicode {
            return "#".repeat((share * cells as f64).round() as usize);
        }
        let eighths = (share * cells as f64 * 8.0).round() as usize;
        let mut bar = "█".repeat(eighths / 8);
        if let Some(part) = EIGHTHS.get(eighths % 8).filter(|_| !eighths.is_multiple_of(8)) {
            bar.push(*part);
        }
        bar
    }
}

/// Returns whether the terminal can show Unicode: it can unless the environment says otherwise.
fn speaks_unicode(lookup: impl Fn(&str) -> Option<String>) -> bool {
    if lookup("TERM").as_deref() == Some("dumb") {
        return false;
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(lookup);
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths_of_a_cell_and_an_ascii_form() {
        let terminal = Terminal { width: 80, unicode: true, colour: false };
        for (share, want) in
            [(0.0, ""), (1.0, "████"), (0.5, "██"), (0.53, "██▏"), (0.22, "▉"), (f64::NAN, ""), (2.0, "████")]
        {
            assert_eq!(terminal.bar(share, 4), want, "{share}");
        }
        let ascii = Terminal { unicode: false, ..terminal };
        assert_eq!((ascii.bar(0.5, 10).as_str(), ascii.bar(1.0, 3).as_str()), ("#####", "###"));
    }

    #[test]
    fn unicode_is_drawn_unless_the_surroundings_say_otherwise() {
        for (variables, want) in [
            (vec![], true),
            (vec![("LANG", "en_GB.UTF-8")], true),
            (vec![("LANG", "C.utf8")], true),
            (vec![("LANG", "C")], false),
            (vec![("LANG", "en_GB.UTF-8"), ("LC_ALL", "POSIX")], false),
            (vec![("TERM", "dumb"), ("LANG", "en_GB.UTF-8")], false),
        ] {
            let lookup = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(speaks_unicode(lookup), want, "{variables:?}");
        }
    }

    #[test]
    fn without_colours_nothing_but_the_text_is_written() {
        let terminal = Terminal { width: 80, unicode: true, colour: false };
        assert_eq!(terminal.ink(Style::Warning, "SIMULATED"), "SIMULATED");
        assert!(Terminal { colour: true, ..terminal }.ink(Style::Bold, "x").contains("\x1b["));
    }
}
