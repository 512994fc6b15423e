//! A request for a deliberation, made valid once: JSON to rules, subject and limits, or all violations (rule K12).
//!
//! Fields have the names of the legacy configuration (`maxRounds`, `toolPhases`, `useNativeWebSearch`, `timeout`), or
//! the same in snake case; limits beyond these stand in `options.limits`. Skills are named here and loaded by the
//! edge, which then calls [`super::skills::admit`].

use serde_json::Value;

use super::config::{
    Brief, Concurrency, Config, MAX_ROUNDS_DEFAULT, Mode, PARTICIPANTS_MIN, Phase, Speaker,
    TIMEOUT_MS_DEFAULT,
};
use super::skills;
use crate::id::Role;
use crate::limits::Limits;
use crate::models::ModelPlan;
use crate::request::limits::AskedLimits;
use crate::request::sizes::{DEADLINE_MS, PARTICIPANTS_MAX, ROUNDS, SKILLS_MAX, TOPIC_CHARS_MAX};
use crate::request::{Complaints, Field, Fields, Violations, models};

/// The fields of a request.
const KNOWN: [&str; 15] = [
    "format",
    "topic",
    "mode",
    "participants",
    "orchestrator",
    "skills",
    "concurrency",
    "timeout",
    "options",
    "max_rounds",
    "maxRounds",
    "tool_phases",
    "toolPhases",
    "native_web_search",
    "useNativeWebSearch",
];

/// Makes rules, subject and limits of a request.
///
/// No skill is loaded yet: all that are asked for are listed as missing.
///
/// # Errors
/// Everything that is wrong with the request.
pub(in crate::formats) fn accept(
    request: &Value,
    complaints: Complaints,
) -> Result<(Config, Brief, Limits), Violations> {
    let fields = Fields::of_request(request, &KNOWN, &complaints);
    let topic = fields.required("topic").words(TOPIC_CHARS_MAX).unwrap_or_default().to_owned();
    let mode = fields.field("mode").choice(&Mode::ALL, Mode::as_str);
    let asked_skills = AskedSkills::read(&fields.field("skills"));
    let participants = participants(&fields.required("participants"), &asked_skills);
    let closing = fields.field("orchestrator");
    let orchestrator = orchestrator(&closing, &asked_skills);
    asked_skills.check_names(participants.iter().chain(&orchestrator));
    let rounds = fields.either("max_rounds", "maxRounds").whole(ROUNDS);
    let mut config = Config {
        mode: mode.unwrap_or_default(),
        max_rounds: rounds.map_or(MAX_ROUNDS_DEFAULT, |rounds| u32::try_from(rounds).unwrap_or(u32::MAX)),
        participants,
        orchestrator,
        tool_phases: tool_phases(&fields.either("tool_phases", "toolPhases")),
        native_web_search: fields
            .either("native_web_search", "useNativeWebSearch")
            .truth()
            .unwrap_or_default(),
        concurrency: fields
            .field("concurrency")
            .choice(&Concurrency::ALL, Concurrency::as_str)
            .unwrap_or_default(),
        skills_missing: Vec::new(),
        models: ModelPlan::default(),
    };
    let mut brief = Brief { topic, skills: Vec::new() };
    skills::admit(&mut config, &mut brief, Vec::new());
    let options =
        fields.field("options").object(&["limits", "models", "effort", "output_tokens", "language", "as_of"]);
    config.models = models(&options, config.participants.iter().chain(&config.orchestrator));
    if config.orchestrator.is_none() && closing.value().is_some() {
        // Whatever the name will be that was refused, somebody sums up, and that is kept back for.
        config.orchestrator = Some(Speaker { name: Role::from("orchestrator"), skills: Vec::new() });
    }
    let limits = limits(&fields.field("timeout"), &options.field("limits"), &config);
    complaints.finish((config, brief, limits))
}

/// Reads who speaks (rule D2).
fn participants(list: &Field<'_>, skills: &AskedSkills<'_>) -> Vec<Speaker> {
    let items = list.items(PARTICIPANTS_MAX);
    if matches!(list.value(), Some(Value::Array(given)) if given.len() < PARTICIPANTS_MIN) {
        list.refuse(format_args!("must name at least {PARTICIPANTS_MIN} participants"));
    }
    let mut participants: Vec<Speaker> = Vec::with_capacity(items.len());
    for item in &items {
        let Some((field, speaker)) = speaker(item, skills) else { continue };
        let name = speaker.name.as_str();
        if participants.iter().any(|known| known.name.as_str().eq_ignore_ascii_case(name)) {
            field.refuse(format_args!("{name:?} is given more than once"));
        } else {
            participants.push(speaker);
        }
    }
    participants
}

/// Reads who sums up, who may be a participant as well (rule D2).
fn orchestrator(field: &Field<'_>, skills: &AskedSkills<'_>) -> Option<Speaker> {
    field.value()?;
    speaker(field, skills).map(|(_, speaker)| speaker)
}

/// Reads a speaker, written as a name or as an object; returns it with the field that holds the name.
fn speaker<'a>(field: &Field<'a>, skills: &AskedSkills<'_>) -> Option<(Field<'a>, Speaker)> {
    let (named, own) = if matches!(field.value(), Some(Value::String(_))) {
        (field.clone(), Vec::new())
    } else {
        let speaker = field.object(&["name", "skills"]);
        (speaker.required("name"), skill_names(&speaker.field("skills")))
    };
    let name = named.name()?;
    let names = skills.of(name, &own).to_vec();
    Some((named, Speaker { name: name.into(), skills: names }))
}

fn skill_names(list: &Field<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for item in list.items(SKILLS_MAX) {
        let Some(name) = item.name() else { continue };
        if names.iter().any(|known| known == name) {
            item.refuse(format_args!("{name:?} is given more than once"));
        } else {
            names.push(name.to_owned());
        }
    }
    names
}

/// The skills that a request names for everybody and for single speakers (rule D8).
struct AskedSkills<'a> {
    global: Vec<String>,
    by_name: Vec<(&'a str, Field<'a>, Vec<String>)>,
}

impl<'a> AskedSkills<'a> {
    /// Reads a list for everybody, or an object with `global` and `participants`.
    fn read(field: &Field<'a>) -> Self {
        if matches!(field.value(), Some(Value::Array(_))) {
            return Self { global: skill_names(field), by_name: Vec::new() };
        }
        let skills = field.object(&["global", "participants"]);
        let entries = skills.field("participants").entries(PARTICIPANTS_MAX + 1).into_iter();
        let by_name = entries.map(|(name, entry)| {
            let names = skill_names(&entry);
            (name, entry, names)
        });
        Self { global: skill_names(&skills.field("global")), by_name: by_name.collect() }
    }

    /// Returns the skills of a speaker.
    fn of<'s>(&'s self, speaker: &str, own: &'s [String]) -> &'s [String] {
        let by_name = self.by_name.iter().find(|(name, ..)| *name == speaker);
        skills::resolve(own, by_name.map_or(&[], |(_, _, names)| names), &self.global)
    }

    /// Notes skills of speakers that are not in the debate.
    fn check_names<'s>(&self, speakers: impl Iterator<Item = &'s Speaker>) {
        let speakers: Vec<&Role> = speakers.map(|speaker| &speaker.name).collect();
        for (name, entry, _) in &self.by_name {
            if !speakers.iter().any(|speaker| speaker.as_str() == *name) {
                entry.refuse("is neither a participant nor the orchestrator");
            }
        }
    }
}

/// Reads the phases in which tools are on (rules D1, D9).
fn tool_phases(list: &Field<'_>) -> Vec<Phase> {
    if list.value().is_none() {
        return vec![Phase::Rebuttal];
    }
    let mut phases = Vec::new();
    for item in list.items(Phase::ALL.len()) {
        match item.choice(&Phase::ALL, Phase::as_str) {
            Some(phase) if phases.contains(&phase) => {
                item.refuse(format_args!("{:?} is given more than once", phase.as_str()));
            }
            Some(phase) => phases.push(phase),
            None => {}
        }
    }
    phases
}

/// Reads which models are asked, by phase and by speaker.
fn models<'s>(options: &Fields<'_>, speakers: impl Iterator<Item = &'s Speaker>) -> ModelPlan {
    let names: Vec<&Role> = speakers.map(|speaker| &speaker.name).collect();
    let is_speaker = |name: &str| names.iter().any(|speaker| speaker.as_str() == name);
    let (phases, who) = (Phase::ALL.map(Phase::as_str), "participants, nor the orchestrator");
    let mut plan = models::read(&options.field("models"), &phases, is_speaker, who);
    models::read_asking(&mut plan, options, &phases, is_speaker, who);
    plan.as_of = options.field("as_of").moment();
    plan
}

/// Reads what the debate may spend (rules D1, K8).
fn limits(timeout: &Field<'_>, limits: &Field<'_>, config: &Config) -> Limits {
    let asked = AskedLimits::read(limits, config.limits(TIMEOUT_MS_DEFAULT).closing_tokens);
    let timeout_ms = timeout.whole(DEADLINE_MS);
    if timeout.value().is_some() && limits.has("deadline_ms") {
        timeout.refuse("is the same as options.limits.deadline_ms; give one of them");
    }
    asked.on_top_of(config.limits(timeout_ms.or(asked.deadline_ms()).unwrap_or(TIMEOUT_MS_DEFAULT)))
}

#[cfg(test)]
mod tests;
