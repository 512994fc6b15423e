//! The flags of roundtables that the environment of this process gives (rule T9).

use debate_core::formats::roundtable::flags::Flags;
use debate_core::request::Violations;

/// Reads them.
///
/// # Errors
/// Every variable that is no flag, or whose value does not parse, by its name.
pub(crate) fn of_environment() -> Result<Flags, Violations> {
    // What is not Unicode cannot parse either, and is refused by its name.
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    Flags::of_environment(std::env::vars_os().map(|(name, value)| (text(name), text(value))))
}
