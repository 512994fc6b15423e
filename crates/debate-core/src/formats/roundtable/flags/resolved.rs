//! What flags come to in a mode: defaults that are the mode's own, and whether the flags can hold together (rules T4, T9).

use super::{CallCount, Flags, Setting, Source};
use crate::formats::roundtable::mode::{Mode, Parallelization, Pattern};
use crate::request::Violation;

impl Flags {
    /// Returns how much of a mode's rounds runs side by side: all of it in parallel modes, and as flags and mode say in
    /// those modes that flags concern (rule T4).
    #[must_use]
    pub fn parallelization(&self, mode: Mode) -> Parallelization {
        let strategy = mode.strategy();
        let own = match strategy.pattern {
            Pattern::Parallel => Parallelization::Full,
            Pattern::Sequential => Parallelization::None,
        };
        let modes = &self.parallel_modes.value.0;
        let is_meant = match strategy.pattern {
            Pattern::Parallel => modes.contains(&mode),
            Pattern::Sequential => modes.is_empty() || modes.contains(&mode),
        };
        if !self.parallel_enabled.value || !is_meant {
            return own;
        }
        match self.parallel_level.source {
            Source::Default => strategy.parallelization,
            Source::Environment | Source::Session => self.parallel_level.value,
        }
    }

    /// Returns whether agents of a round can hear each other, as a mode's rounds are really run.
    #[must_use]
    pub fn pattern(&self, mode: Mode) -> Pattern {
        match self.parallelization(mode) {
            Parallelization::Full => Pattern::Parallel,
            Parallelization::None | Parallelization::LastOnly => Pattern::Sequential,
        }
    }

    /// Returns the most tool calls of a response; the pattern's own unless somebody says so.
    #[must_use]
    pub fn tool_calls_max(&self, mode: Mode) -> u32 {
        said(&self.tools_max_calls).unwrap_or_else(|| self.pattern(mode).tool_calls_max())
    }

    /// Returns the fewest tool calls that a response is asked for: one, if any may be made and no source says
    /// otherwise.
    #[must_use]
    pub fn tool_calls_min(&self, mode: Mode) -> u32 {
        said(&self.tools_min_calls).unwrap_or(self.tools_min_calls.value.0).min(self.tool_calls_max(mode))
    }

    /// Returns these flags for a mode under those of the environment, with the mode's own in the place of defaults.
    ///
    /// # Errors
    /// More tool calls are asked for than the mode's flags allow.
    pub fn admitted(&self, environment: &Self, mode: Mode) -> Result<Self, Violation> {
        let flags = self.under(environment);
        flags.check_calls(mode)?;
        Ok(flags.resolved(mode))
    }

    /// Checks what a request says, as far as no environment can mend it.
    ///
    /// # Errors
    /// It asks for more tool calls than it allows.
    pub(in crate::formats::roundtable) fn check_session(&self, mode: Mode) -> Result<(), Violation> {
        let is_of_session = |setting: &Setting<CallCount>| setting.source == Source::Session;
        let are_both = is_of_session(&self.tools_min_calls) && is_of_session(&self.tools_max_calls);
        if are_both { self.check_calls(mode) } else { Ok(()) }
    }

    /// Returns these flags with the mode's own in the place of defaults that follow from it.
    pub(in crate::formats::roundtable) fn resolved(&self, mode: Mode) -> Self {
        let mut flags = self.clone();
        let is_default = |source: Source| source == Source::Default;
        if is_default(flags.parallel_level.source) {
            flags.parallel_level.value = self.parallelization(mode);
        }
        if is_default(flags.tools_max_calls.source) {
            flags.tools_max_calls.value = CallCount(self.tool_calls_max(mode));
        }
        if is_default(flags.tools_min_calls.source) {
            flags.tools_min_calls.value = CallCount(self.tool_calls_min(mode));
        }
        flags
    }

    fn check_calls(&self, mode: Mode) -> Result<(), Violation> {
        let most = self.tool_calls_max(mode);
        let Some(least) = said(&self.tools_min_calls).filter(|least| *least > most) else { return Ok(()) };
        let (from, to) = (self.tools_min_calls.source.as_str(), self.tools_max_calls.source.as_str());
        Err(Violation {
            field: "flags.tool_enforcement.min_calls".to_owned(),
            reason: format!(
                "is {least} ({from}), above max_calls, which is {most} ({to}) in {}",
                mode.as_str()
            ),
        })
    }
}

/// Returns the number that somebody gave.
fn said(setting: &Setting<CallCount>) -> Option<u32> {
    match setting.source {
        Source::Default => None,
        Source::Environment | Source::Session => Some(setting.value.0),
    }
}
