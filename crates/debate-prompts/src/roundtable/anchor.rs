//! The first layer: who speaks, at what kind of table, in which part.

use debate_core::formats::roundtable::agent::{Part, Perspective};
use debate_core::formats::roundtable::mode::Mode;
use debate_core::formats::roundtable::visible::Visible;

/// Returns the layer.
pub(super) fn layer(visible: &Visible) -> String {
    let mut text = format!("# Role\n\nYou are {}. {}", visible.context.name, table(visible.mode));
    match visible.part {
        Some(Part::Expert(perspective)) => text.push_str(&perspective_prompt(perspective)),
        Some(
            part @ (Part::Primary | Part::Opposition | Part::Evaluator | Part::RedTeam | Part::BlueTeam),
        ) => {
            text.push_str("\n\n");
            text.push_str(part_prompt(part));
        }
        None => {}
    }
    text
}

const fn table(mode: Mode) -> &'static str {
    match mode {
        Mode::Collaborative => {
            "You sit at a collaborative roundtable: the agents look for the best answer that they can find together."
        }
        Mode::Adversarial => {
            "You sit at an adversarial roundtable: the agents attack each other's arguments, so that only what \
             withstands attack is left."
        }
        Mode::Socratic => {
            "You sit at a Socratic roundtable: the agents find out by questions what they assume and whether it holds."
        }
        Mode::ExpertPanel => {
            "You sit on a panel of experts: each agent judges the topic from a perspective of its own, so that none is \
             forgotten."
        }
        Mode::DevilsAdvocate => {
            "You sit at a roundtable with a devil's advocate: one agent argues for, one against, and the others weigh \
             what both have said."
        }
        Mode::Delphi => {
            "You take part in a Delphi study: experts answer in rounds, without names, and see what all said and how \
             they are spread before they answer again."
        }
        Mode::RedTeamBlueTeam => {
            "You take part in an exercise of two teams: the red team attacks what the topic proposes, the blue team \
             defends it."
        }
    }
}

const fn part_prompt(part: Part) -> &'static str {
    match part {
        Part::Primary => {
            "## Your Assigned Role: PRIMARY\n\nYou argue for what the topic asks or proposes. Your assigned stance: YES."
        }
        Part::Opposition => {
            "## Your Assigned Role: OPPOSITION\n\nYou are the devil's advocate: you argue against what the topic asks or \
             proposes, whatever you think of it. Your assigned stance: NO."
        }
        Part::Evaluator => {
            "## Your Assigned Role: EVALUATOR\n\nYou take no side. You weigh the case for and the case against, say \
             where each is strong and where it fails, and what would settle it. Your assigned stance: NEUTRAL."
        }
        Part::RedTeam => {
            "## Your Assigned Team: RED\n\nYou attack. Find how the proposal fails, how it can be abused, and what it \
             will cost when it does. The agents of the red team are on your side."
        }
        Part::BlueTeam => {
            "## Your Assigned Team: BLUE\n\nYou defend. Show why the proposal holds, close the gaps that the red team \
             finds, and say which of them stay open. The agents of the blue team are on your side."
        }
        Part::Expert(_) => "",
    }
}

/// Returns the prompt of an expert's perspective, word for word as specified.
fn perspective_prompt(perspective: Perspective) -> String {
    let description = match perspective {
        Perspective::Technical => {
            "Focus on technical feasibility, implementation complexity, and engineering trade-offs."
        }
        Perspective::Economic => {
            "Focus on costs, return on investment, market dynamics, and financial implications."
        }
        Perspective::Ethical => {
            "Focus on moral implications, fairness, potential biases, and ethical considerations."
        }
        Perspective::Social => "Focus on user impact, accessibility, societal effects, and human factors.",
    };
    let (name, upper) = (perspective.as_str(), perspective.as_str().to_uppercase());
    format!(
        "

## Your Assigned Perspective: {upper}

{description}

While you may acknowledge other perspectives, your primary analysis MUST be through the {name} lens."
    )
}
