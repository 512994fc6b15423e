//! The fourth layer: what to check before a reply is sent.

use debate_core::formats::roundtable::call::Kind;
use debate_core::formats::roundtable::flags::Enforcement;
use debate_core::formats::roundtable::mode::Mode;
use debate_core::formats::roundtable::visible::Visible;

use super::contract::list;
use super::tools;

const CHECKS: [&str; 4] = [
    "Is every claim supported by evidence or clearly marked as inference?",
    "Have I addressed the topic directly?",
    "Is my confidence level justified by the evidence?",
    "Have I considered alternative viewpoints?",
];

const CITES_TOOLS: &str = "Did I cite sources from tool results?";

/// Returns the layer.
pub(super) fn layer(visible: &Visible) -> String {
    let uses_tools =
        format!("Did I use tools ({}) to verify factual claims?", tools::names(visible).join(", "));
    let mut checks = CHECKS.to_vec();
    if visible.policy.is_some_and(|policy| policy.level != Enforcement::Relaxed) {
        checks.extend([&uses_tools, CITES_TOOLS]);
    }
    if visible.kind == Kind::Respond || visible.mode == Mode::DevilsAdvocate {
        checks.extend(of_mode(visible.mode));
    }
    format!("# Verification\n\nBefore you reply, check:\n{}", list(&checks))
}

fn of_mode(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Collaborative => &["Did I add something that nobody has said yet?"],
        Mode::Adversarial => &["Did I attack the strongest argument of another agent?"],
        Mode::Socratic => &["Did I ask a question whose answer would move the others?"],
        Mode::ExpertPanel => &["Did I analyze from my assigned perspective?"],
        Mode::DevilsAdvocate => &[
            "Did I explicitly include my stance (YES/NO/NEUTRAL) in the response?",
            "Does my reasoning support my assigned stance?",
        ],
        Mode::Delphi => &["Did I move, if I moved, for a reason and not for a number?"],
        Mode::RedTeamBlueTeam => &["Did I work for my team and answer the other one?"],
    }
}
