//! Modules of a crate do not depend on each other in circles.
//!
//! A module here is a file or folder right below `src`, with all that is below it. It depends on another one if its code
//! names it as `crate::NAME`; its unit tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::sources::Source;

/// Crates with circles from before this rule, and how many modules are in them. These numbers only fall.
const BEFORE: [(&str, usize); 4] =
    [("debate-cli", 14), ("debate-core", 8), ("debate-engine", 18), ("debate-grpc", 12)];

/// The modules of each crate, with those that they depend on.
type Modules<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<&'a str>>>;

/// Returns one violation for each crate with a circle.
pub(crate) fn violations(sources: &[Source]) -> Vec<Violation> {
    let mut crates = Modules::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let Some((owner, module)) = place(&source.path) else { continue };
        crates.entry(owner).or_default().entry(module).or_default().extend(named(&source.text));
    }
    let circle = |(owner, modules): (&str, BTreeMap<&str, BTreeSet<&str>>)| {
        let inside: Vec<&str> =
            modules.keys().copied().filter(|module| is_in_circle(&modules, module)).collect();
        let before = BEFORE.iter().find(|(name, _)| *name == owner).map_or(0, |(_, count)| *count);
        let text = format!("modules depend on each other in a circle: {}", inside.join(", "));
        (inside.len() > before).then(|| Violation { path: owner.to_owned(), line: None, text })
    };
    crates.into_iter().filter_map(circle).collect()
}

/// Returns the crate and the module of a file; none for a file outside `src`, for tests and for the root of a crate.
fn place(path: &str) -> Option<(&str, &str)> {
    let (owner, file) = path.split_once("/src/")?;
    let module = file.split('/').next()?.trim_end_matches(".rs");
    let is_test = file.split('/').any(|part| part.trim_end_matches(".rs").ends_with("tests"));
    let owner = owner.rsplit('/').next()?;
    (!is_test && !matches!(module, "lib" | "main" | "bin")).then_some((owner, module))
}

/// Returns what follows `crate::` in the code, each name of a group included.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let is_code = move |at: &usize| {
        let line = code[..*at].rsplit('\n').next().unwrap_or_default();
        !line.trim_start().starts_with("//")
    };
    let places = code.match_indices("crate::").map(|(at, _)| at).filter(is_code);
    let names = places.map(move |at| &code[at + "crate::".len()..]);
    names.flat_map(|rest| {
        let group = rest.strip_prefix('{').map_or("", |group| group.split('}').next().unwrap_or(group));
        let first = if group.is_empty() { rest } else { "" };
        group.split(',').map(str::trim).chain([first]).map(ident)
    })
}

fn ident(text: &str) -> &str {
    let end = text.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(text.len());
    &text[..end]
}

/// Tells whether a module depends on itself through others.
fn is_in_circle(modules: &BTreeMap<&str, BTreeSet<&str>>, module: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut ahead: Vec<&str> = modules[module].iter().copied().filter(|next| *next != module).collect();
    while let Some(next) = ahead.pop() {
        if next == module {
            return true;
        }
        if seen.insert(next) {
            ahead.extend(modules.get(next).into_iter().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn circles_are_found_through_others_and_through_groups() {
        let sources = [
            source("crates/a/src/lib.rs", "use crate::one;"),
            source("crates/a/src/one.rs", "use crate::two::Two;\nuse crate::one::x;"),
            source("crates/a/src/two/deep.rs", "use crate::{\n    four,\n    three,\n};"),
            source("crates/a/src/three.rs", "fn f() { crate::one::g() }"),
            source("crates/a/src/four.rs", "// crate::one\n#[cfg(test)]\nmod tests { use crate::one; }"),
            source("crates/a/src/one/tests.rs", "use crate::four;"),
            source("crates/b/src/one.rs", "use crate::two;"),
        ];
        let found: Vec<String> = violations(&sources).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["a: modules depend on each other in a circle: one, three, two"]);
    }
}
