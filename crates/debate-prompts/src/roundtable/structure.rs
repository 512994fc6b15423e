//! The third layer: what a reply looks like. Where a stance is assigned, it is a required field (T3).

use debate_core::formats::roundtable::mode::Mode;
use debate_core::formats::roundtable::visible::Visible;

use super::tools;

const WITH_STANCE: &str = "
Your response MUST be valid JSON with these REQUIRED fields:

{
  \"stance\": \"YES\" | \"NO\" | \"NEUTRAL\",  // ⚠️ REQUIRED - Your assigned position
  \"position\": \"Your position statement\",
  \"reasoning\": \"Your detailed reasoning\",
  \"confidence\": 0.0-1.0
}

⚠️ CRITICAL: Responses without explicit \"stance\" field will be REJECTED.
";

const OF_ALL_MODES: &str = "
Reply with one JSON object with these fields in this order. Give your reasons in reasoning. State what you hold in \
position, in one or two sentences that stand on their own. Write YES, NO or NEUTRAL in stance, or null where the topic \
cannot be answered so. Say in confidence how sure you are, from 0.0 to 1.0. List in citations the sources that you rely \
on; leave it empty where there are none.
";

/// What the fixed text does not say: which of its words are to be replaced, and the field that it lacks.
const IN_WORDS: &str = "
What stands in quotes above describes a field: write your own words on the topic in its place, the reasoning first and \
the position in one or two sentences that stand on their own. Add citations: the sources that you rely on.
";

/// What is demanded of a stance where one is assigned.
const STANCE: &str = "Here the stance is required: it is the one assigned to you.\n";

/// Returns the layer.
pub(super) fn layer(visible: &Visible) -> String {
    let format = match visible.mode {
        Mode::DevilsAdvocate => format!("{WITH_STANCE}{IN_WORDS}"),
        Mode::Collaborative
        | Mode::Adversarial
        | Mode::Socratic
        | Mode::ExpertPanel
        | Mode::Delphi
        | Mode::RedTeamBlueTeam => OF_ALL_MODES.to_owned(),
    };
    let tools = tools::request(visible).map(|asking| format!("\n\n{asking}")).unwrap_or_default();
    format!("# Output format\n{}{tools}", format.trim_end())
}

/// Returns a task with words in place of the sample that is fixed for one mode; `None` where it has none.
pub(crate) fn without_sample(task: &str) -> Option<String> {
    let sample = format!("{WITH_STANCE}{IN_WORDS}");
    let at = task.rfind(sample.trim_end())?;
    let rest = &task[at + sample.trim_end().len()..];
    Some(format!("{}{}{}{rest}", &task[..at], OF_ALL_MODES, STANCE.trim_end()))
}
