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
Your response MUST be valid JSON with these fields:

{
  \"stance\": \"YES\" | \"NO\" | \"NEUTRAL\" | null,  // null where the topic cannot be answered so
  \"position\": \"Your position statement\",
  \"reasoning\": \"Your detailed reasoning\",
  \"confidence\": 0.0-1.0
}
";

/// Returns the layer.
pub(super) fn layer(visible: &Visible) -> String {
    let format = match visible.mode {
        Mode::DevilsAdvocate => WITH_STANCE,
        Mode::Collaborative
        | Mode::Adversarial
        | Mode::Socratic
        | Mode::ExpertPanel
        | Mode::Delphi
        | Mode::RedTeamBlueTeam => OF_ALL_MODES,
    };
    let tools = tools::request(visible).map(|asking| format!("\n\n{asking}")).unwrap_or_default();
    format!(
        "# Output format\n{format}\n\"position\" is one or two sentences that stand on their own. Add \"citations\": a \
         list of the sources that you rely on, empty where there are none.{tools}"
    )
}
