//! The texts of all prompts: listed, shown, and replaced (P24). Those of roundtables are not among them: they are made of
//! the rules of their mode.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use debate_core::id::Digest;
use include_dir::{Dir, File, include_dir};
use minijinja::Environment;

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

/// The texts that stand in the place of this program's own.
static REPLACED: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();

/// Texts that cannot be replaced: proposals for reviewers are no part of a debate.
const FIXED: &str = "policy/";

/// The text of a prompt, or of a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text {
    /// The name with its version, such as `prediction/argue@5`.
    pub name: &'static str,
    /// The words, with the names of what is filled in between braces.
    pub text: &'static str,
    /// Whether it stands in the place of this program's own.
    pub is_replaced: bool,
}

impl Text {
    /// Returns the name without its version.
    #[must_use]
    pub fn unversioned(&self) -> &'static str {
        self.name.rsplit_once('@').map_or(self.name, |(name, _)| name)
    }
}

/// Returns the texts that are used, ordered by name.
#[must_use]
pub fn all() -> Vec<Text> {
    let mut texts: Vec<Text> = own().map(|text| replaced(text.name).unwrap_or(text)).collect();
    texts.sort_unstable();
    texts
}

/// Returns the text with a name, with or without its version.
#[must_use]
pub fn find(name: &str) -> Option<Text> {
    all().into_iter().find(|text| [text.name, text.unversioned()].contains(&name))
}

fn own() -> impl Iterator<Item = Text> {
    let text = |file: &'static File<'static>| {
        let name = file.path().to_str()?.strip_suffix(".txt")?;
        Some(Text { name, text: file.contents_utf8()?, is_replaced: false })
    };
    TEMPLATES.dirs().flat_map(Dir::files).filter_map(text)
}

fn replaced(name: &str) -> Option<Text> {
    let (name, text) = REPLACED.get()?.iter().find(|(replaced, _)| *replaced == name)?;
    Some(Text { name, text, is_replaced: true })
}

/// Returns the words of the text with this name and version; empty where there is none: a defect of this program.
pub(crate) fn text(name: &str) -> &'static str {
    let own = || TEMPLATES.get_file(format!("{name}.txt")).and_then(File::contents_utf8).unwrap_or_default();
    replaced(name).map_or_else(own, |text| text.text)
}

/// Returns the version that the log has of a prompt: its template's, with a mark where texts of its format are replaced.
#[must_use]
pub fn version(template: &str) -> String {
    let format = template.split_inclusive('/').next().unwrap_or_default();
    let all = REPLACED.get().into_iter().flatten().filter(|(name, _)| name.starts_with(format));
    let texts: Vec<String> = all.map(|(name, text)| format!("{name}\n{text}")).collect();
    if texts.is_empty() {
        return template.to_owned();
    }
    let digest = Digest::of_text(&texts.join("\n")).to_string();
    format!("{template}+{}", &digest[..8])
}

/// Puts texts in the place of this program's own, by their names without versions; before any prompt is rendered.
///
/// # Errors
/// One line for each text that cannot be used: its name is none, it is no template, or it does not have the variables of
/// the text that it stands for.
pub fn replace(texts: impl IntoIterator<Item = (String, String)>) -> Result<(), Vec<String>> {
    let (mut replaced, mut faults) = (Vec::new(), Vec::new());
    for (name, text) in texts {
        match checked(&name, &text) {
            Ok(name) => replaced.push((name, text)),
            Err(fault) => faults.push(format!("{name}: {fault}")),
        }
    }
    replaced.sort_unstable();
    if faults.is_empty() && REPLACED.set(replaced).is_err() {
        faults.push("texts were replaced before".to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Returns the full name of the text that another one may stand for.
fn checked(name: &str, text: &str) -> Result<&'static str, String> {
    let known = || own().filter(|own| !own.name.starts_with(FIXED));
    let Some(own) = known().find(|own| own.unversioned() == name) else {
        let mut names: Vec<&str> = known().map(|own| own.unversioned()).collect();
        names.sort_unstable();
        return Err(format!("there is no such text; there are {}", names.join(", ")));
    };
    let [given, needed] = [variables(text)?, variables(own.text)?];
    let listed = |names: Vec<&String>| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let unknown: Vec<&String> = given.difference(&needed).collect();
    let missing: Vec<&String> = needed.difference(&given).collect();
    if !unknown.is_empty() {
        let (unknown, needed) = (listed(unknown), listed(needed.iter().collect()));
        return Err(format!("has the unknown variable {unknown}; there are {needed}"));
    }
    if !missing.is_empty() {
        return Err(format!("lacks the variable {}", listed(missing)));
    }
    let needed = blocks(own.text);
    if !needed.is_empty() && needed != blocks(text) {
        return Err(format!(
            "must begin with the line of blocks {}",
            own.text.lines().next().unwrap_or_default()
        ));
    }
    Ok(own.name)
}

/// Returns the blocks that a text begins with, in any order: its first line, where it consists of nothing else.
fn blocks(text: &str) -> BTreeSet<&str> {
    let line = text.lines().next().unwrap_or_default();
    let names = line.strip_prefix("{{ ").and_then(|line| line.strip_suffix(" }}"));
    let names = names.filter(|names| !names.replace(" }}{{ ", "").contains(['{', '}', ' ']));
    names.map_or_else(BTreeSet::new, |names| names.split(" }}{{ ").collect())
}

fn variables(text: &str) -> Result<BTreeSet<String>, String> {
    let environment = Environment::empty();
    let template = environment.template_from_str(text).map_err(|error| error.to_string())?;
    Ok(template.undeclared_variables(false).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p24_every_text_has_a_name_with_a_version() {
        let texts = all();
        assert!(texts.len() > 20, "{texts:?}");
        for Text { name, text: words, .. } in texts {
            let (_, version) = name.rsplit_once('@').unwrap();
            assert!(name.contains('/') && version.parse::<u32>().is_ok() && !words.is_empty(), "{name}");
            assert_eq!(text(name), words);
        }
    }

    #[test]
    fn p24_a_text_must_have_the_variables_of_the_one_that_it_stands_for() {
        let fault = |name: &str, text: &str| checked(name, text).unwrap_err();
        assert_eq!(checked("review/argue", "Speak against {{ opponent }}."), Ok("review/argue@2"));
        assert!(
            fault("review/sing", "La").starts_with("there is no such text; there are deliberation/consensus")
        );
        assert!(fault("policy/propose", "La").starts_with("there is no such text"));
        assert_eq!(fault("review/argue", "Speak."), "lacks the variable opponent");
        assert_eq!(
            fault("review/argue", "{{ opponent }} {{ mood }}"),
            "has the unknown variable mood; there are opponent"
        );
        assert!(fault("review/argue", "{{ opponent").contains("syntax error"));
        let score = text("prediction/score@2");
        assert_eq!(
            checked("prediction/score", &score.replace("Score the", "Mark the")),
            Ok("prediction/score@2")
        );
        assert!(
            fault("prediction/score", &format!("Now.\n{score}"))
                .starts_with("must begin with the line of blocks")
        );
    }
}
