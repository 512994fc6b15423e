//! The texts of the prompts, compiled once. Whatever is put into them is escaped, unless it is already (K13).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use debate_core::formats::prediction::visible::Subject;
use debate_core::id::Timestamp;
use foldhash::fast::RandomState;
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};

use super::blocks::Slot;
use super::outcomes::Letters;
use crate::prompts::RenderError;
use crate::{catalog, escape, language};

/// The prompt of an argument.
pub(super) const ARGUE: &str = "prediction/argue@5";
/// The prompt of an argument in `standard` and `deep`.
pub(super) const ARGUE_STANDARD: &str = "prediction/argue.standard@2";
/// What all arguments keep to in `standard` and `deep`.
pub(super) const ARGUE_RULES: &str = "prediction/argue.rules@1";
/// The prompt of a score.
pub(super) const SCORE: &str = "prediction/score@2";
/// The prompt of a score in `standard` and `deep`.
pub(super) const SCORE_STANDARD: &str = "prediction/score.standard@1";
/// What every argument is scored by.
pub(super) const RUBRIC: &str = "prediction/rubric@2";
/// The prompt of the synthesis.
pub(super) const SYNTHESISE: &str = "prediction/synthesise@5";
/// The prompt of the synthesis in `standard` and `deep`.
pub(super) const SYNTHESISE_STANDARD: &str = "prediction/synthesise.standard@1";
/// The system message of a role.
pub(super) const SYSTEM: &str = "prediction/system@1";
/// The system message of the scorer.
pub(super) const SCORE_SYSTEM: &str = "prediction/score_system@1";
/// The system message of every call in `standard` and `deep`.
pub(super) const SYSTEM_STANDARD: &str = "prediction/system.standard@1";
/// Who a role is, in `standard` and `deep`.
pub(super) const PERSONA: &str = "prediction/persona@1";
/// Who the scorer is, in `standard` and `deep`.
pub(super) const SCORER: &str = "prediction/scorer@1";

/// The texts.
const SOURCES: [&str; 13] = [
    ARGUE,
    ARGUE_STANDARD,
    ARGUE_RULES,
    SCORE,
    SCORE_STANDARD,
    RUBRIC,
    SYNTHESISE,
    SYNTHESISE_STANDARD,
    SYSTEM,
    SCORE_SYSTEM,
    SYSTEM_STANDARD,
    PERSONA,
    SCORER,
];

/// Those whose first line names the blocks that they begin with; the task follows behind a blank line.
const WITH_BLOCKS: [&str; 6] =
    [ARGUE, ARGUE_STANDARD, SCORE, SCORE_STANDARD, SYNTHESISE, SYNTHESISE_STANDARD];

/// Tasks remembered at most; beyond it the memory starts anew.
const TASKS_MAX: usize = 256;

/// Values that a template takes in addition to blocks.
pub(super) type Values = BTreeMap<&'static str, Value>;

/// The task of a template with its values.
type Task = (&'static str, Values);

/// Returns the values that every task on a question takes.
pub(super) fn shared(subject: &Subject) -> Values {
    let letters = Letters::of_subject(subject);
    let until = |at: Option<Timestamp>| at.map_or_else(String::new, |at| until(subject.as_of, at));
    Values::from([
        ("today", Value::from(subject.as_of.day())),
        ("closes", Value::from(until(subject.dates.closes_at))),
        ("resolves", Value::from(until(subject.dates.resolves_at))),
        ("language", Value::from(language::named(subject.language.as_deref(), "the question's language"))),
        ("is_binary", Value::from(letters.as_slice().len() == 2)),
        ("first", Value::from(letters.get(0))),
        ("second", Value::from(letters.get(1))),
    ])
}

/// Writes a day and how far away it is: `on 2026-12-31, in 33 days`.
fn until(as_of: Timestamp, at: Timestamp) -> String {
    let distance = match as_of.days_until(at) {
        0 => "today".to_owned(),
        1 => "in 1 day".to_owned(),
        -1 => "1 day ago".to_owned(),
        days if days > 0 => format!("in {days} days"),
        days => format!("{} days ago", days.unsigned_abs()),
    };
    format!("on {}, {distance}", at.day())
}

/// Tasks as they were rendered: they say little, and so are the same in many debates.
static TASKS: LazyLock<RwLock<HashMap<Task, Arc<str>, RandomState>>> = LazyLock::new(RwLock::default);

struct Templates {
    texts: Environment<'static>,
    slots: HashMap<&'static str, Vec<Slot>>,
}

static TEMPLATES: LazyLock<Result<Templates, Error>> = LazyLock::new(compiled);

fn compiled() -> Result<Templates, Error> {
    let mut templates = Environment::empty();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    templates.set_formatter(|out, _state, value| {
        if value.is_undefined() || value.is_none() {
            return Err(Error::new(ErrorKind::UndefinedError, "a value is missing"));
        }
        match value.as_str() {
            Some(text) if value.is_safe() => out.write_str(text),
            Some(text) => out.write_str(&escape::xml(text)),
            None => write!(out, "{value}"),
        }
        .map_err(Error::from)
    });
    let mut slots = HashMap::new();
    for (name, source) in SOURCES.map(|name| (name, catalog::text(name))) {
        let lines = source.split_once('\n').filter(|_| WITH_BLOCKS.contains(&name));
        let beginning = lines.and_then(|(line, task)| Some((named_slots(line)?, task)));
        match beginning {
            Some((named, task)) => {
                slots.insert(name, named);
                templates.add_template(name, task)?;
            }
            None => templates.add_template(name, source)?,
        }
    }
    Ok(Templates { texts: templates, slots })
}

/// Reads a line such as `{{ question }}{{ outcomes }}`.
fn named_slots(line: &str) -> Option<Vec<Slot>> {
    let names = line.strip_prefix("{{ ")?.strip_suffix(" }}")?;
    names.split(" }}{{ ").map(Slot::named).collect()
}

/// Returns the blocks with which a user message begins, in order.
pub(super) fn slots(version: &'static str) -> &'static [Slot] {
    let templates = TEMPLATES.as_ref().ok();
    templates.and_then(|templates| templates.slots.get(version)).map_or(&[], Vec::as_slice)
}

/// Returns the task of a text that begins with blocks, as it was rendered the first time.
///
/// # Errors
/// As [`render`].
pub(super) fn task(version: &'static str, values: Values) -> Result<Arc<str>, RenderError> {
    let task = (version, values);
    if let Some(known) = TASKS.read().unwrap_or_else(PoisonError::into_inner).get(&task) {
        return Ok(Arc::clone(known));
    }
    let text: Arc<str> = render(version, task.1.clone().into())?.into();
    let mut tasks = TASKS.write().unwrap_or_else(PoisonError::into_inner);
    if tasks.len() >= TASKS_MAX {
        tasks.clear();
    }
    tasks.insert(task, Arc::clone(&text));
    Ok(text)
}

/// Renders a text, or the task of one that begins with blocks.
///
/// # Errors
/// The template is broken or a value is missing: a defect of this program.
pub(super) fn render(version: &'static str, values: Value) -> Result<String, RenderError> {
    let broken = |error: &Error| RenderError::Template { version, why: error.to_string() };
    let templates = TEMPLATES.as_ref().map_err(broken)?;
    templates
        .texts
        .get_template(version)
        .and_then(|template| template.render(values))
        .map_err(|error| broken(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use debate_core::id::Digest;
    use minijinja::context;

    #[test]
    fn k13_values_are_escaped_unless_they_are_already() {
        let values = context! { persona => "a <b> & \"c\"", leaning => Value::from_safe_string("&lt;".into()), evidence => "" };
        let text = render(SYSTEM, values).unwrap();
        assert!(text.starts_with("a &lt;b&gt; &amp; \"c\"\nLeaning: &lt;.\nText"), "{text}");
    }

    #[test]
    fn k19_a_day_has_its_distance() {
        let as_of: Timestamp = "2026-11-28T22:00:00Z".parse().unwrap();
        let written = |day: &str| until(as_of, day.parse().unwrap());
        assert_eq!(written("2026-12-31T23:59:00Z"), "on 2026-12-31, in 33 days");
        assert_eq!(written("2026-11-29"), "on 2026-11-29, in 1 day");
        assert_eq!(written("2026-11-28"), "on 2026-11-28, today");
        assert_eq!(written("2026-11-27"), "on 2026-11-27, 1 day ago");
        assert_eq!(written("2025-11-28"), "on 2025-11-28, 365 days ago");
    }

    #[test]
    fn a_missing_value_is_an_error() {
        let error = render(SYSTEM, context! { persona => "a" }).unwrap_err();
        assert!(matches!(error, RenderError::Template { version: SYSTEM, .. }), "{error}");
    }

    #[test]
    fn k3_a_changed_text_needs_a_new_version() {
        let digests = [
            (ARGUE, "c8d502c99bc7e6cb"),
            (ARGUE_STANDARD, "38eb49e35e62a040"),
            (ARGUE_RULES, "81e2962346a679e4"),
            (SCORE, "e073d262e4c63cbd"),
            (SCORE_STANDARD, "82cb280d5f662516"),
            (RUBRIC, "3079062bd5910b2c"),
            (SYNTHESISE, "7338039f762293f1"),
            (SYNTHESISE_STANDARD, "03a80dd1ed90a056"),
            (SYSTEM, "07a816dc422f9a82"),
            (SCORE_SYSTEM, "7ff3b1162819f06f"),
            (SYSTEM_STANDARD, "cc2a150b6d9d0dd5"),
            (PERSONA, "bdc9df5d5b883c32"),
            (SCORER, "c257403108e6fb39"),
        ];
        for (name, (pinned, digest)) in SOURCES.into_iter().zip(digests) {
            assert_eq!(name, pinned);
            let now = Digest::of_text(catalog::text(name)).to_string();
            assert_eq!(&now[..16], digest, "{name} is in logs: give the new text a new version");
        }
    }
}
