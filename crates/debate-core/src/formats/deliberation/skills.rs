//! Which skills a speaker is given, and what becomes of those that cannot be loaded (rule D8). Loading itself is
//! the edge's.

use super::config::{Brief, Config, LoadedSkill};

/// Returns the skills of a speaker: those named with it, else those configured for its name, else everybody's
/// (rule D8). A list without names counts as none.
#[must_use]
pub fn resolve<'a>(own: &'a [String], by_name: &'a [String], global: &'a [String]) -> &'a [String] {
    [own, by_name].into_iter().find(|names| !names.is_empty()).unwrap_or(global)
}

/// Puts the skills that could be loaded into the brief, and the names of the others into the configuration, so that
/// the log says what was left out (rule D8).
pub fn admit(config: &mut Config, brief: &mut Brief, loaded: Vec<LoadedSkill>) {
    let wanted: Vec<String> = config.skills_wanted().into_iter().map(str::to_owned).collect();
    let mut loaded = loaded;
    brief.skills.clear();
    config.skills_missing.clear();
    for name in wanted {
        match loaded.iter().position(|skill| skill.name == name) {
            Some(place) => brief.skills.push(loaded.swap_remove(place)),
            None => config.skills_missing.push(name),
        }
    }
}
