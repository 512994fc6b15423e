//! How an investigator asks for tools in a reply of plain text, and how it is shown what they found (rule I10).

use debate_core::calls::TurnState;
use debate_core::event::ToolUse;
use debate_core::formats::investigation::config::Language;
use debate_core::formats::investigation::evidence::{CHECK_TOOL, OTHER_TOOL, TOOLS};
use serde_json::Value;

use crate::room::Room;
use crate::tool_talk::{self, Talk};

/// The most tools that one reply may ask for.
pub(super) const USES_MAX: usize = 4;
/// How a line begins that asks for a tool.
const MARK: &str = "[TOOL]";

/// Reads the tools that a reply asks for, at most [`USES_MAX`]; those that are none are [`OTHER_TOOL`].
pub(super) fn asked(text: &str) -> Vec<(ToolUse, String)> {
    let uses = text.lines().filter_map(|line| {
        let bare = line.trim().trim_start_matches(['-', '*', '`', '>', ' ']);
        let rest = bare
            .get(..MARK.len())
            .filter(|mark| mark.eq_ignore_ascii_case(MARK))
            .map(|_| &bare[MARK.len()..])?;
        let (name, arguments) = rest.trim().split_once([' ', '{'])?;
        let at = rest.find('{')?;
        let arguments = if arguments.is_empty() { return None } else { rest[at..].trim_end_matches('`') };
        // Written anew, so that equal questions are asked in equal words.
        let arguments: Value = serde_json::from_str(arguments).ok().filter(Value::is_object)?;
        let known = TOOLS.into_iter().find(|tool| *tool == name.trim());
        Some((known.unwrap_or(OTHER_TOOL).to_owned(), arguments.to_string()))
    });
    let uses = uses.take(USES_MAX).enumerate();
    uses.map(|(place, (tool, arguments))| (ToolUse { tool, id: format!("use_{place}") }, arguments)).collect()
}

/// Returns what was said and found in earlier turns of a question; `None` where some of it was redacted.
pub(super) fn talk(turns: &[TurnState], language: Language, room: Room) -> Option<Talk> {
    tool_talk::talk(turns, room, |turn| {
        let was_checked = turn.tools.iter().any(|tool| tool.tool == CHECK_TOOL);
        next(was_checked, language).to_owned()
    })
}

fn next(was_checked: bool, language: Language) -> &'static str {
    match (was_checked, language) {
        (true, Language::En) => {
            "Your evidence was compared with the files and commits. Send your whole answer again; correct or leave out what is refuted."
        }
        (true, Language::Zh) => {
            "你的证据已与文件和提交核对。请重新发送完整回复；更正或删除被否定（refuted）的证据。"
        }
        (false, Language::En) => "Go on: ask for more, or send your report.",
        (false, Language::Zh) => "请继续：再次请求工具，或发送你的报告。",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k13_the_words_that_a_model_takes_for_a_tool_are_no_name() {
        let text = "[TOOL] the_suspect_is_ada {\"a\": 1}\n[TOOL] 也可以是一整句话… {\"a\": 1}\n[TOOL] search {\"text\": \"x\"}";
        let names: Vec<_> = asked(text).into_iter().map(|(used, _)| used.tool).collect();
        assert_eq!(names, ["_OTHER", "_OTHER", "search"]);
    }

    #[test]
    fn i10_tools_are_asked_for_line_by_line() {
        let text = "Let me look.\n[TOOL] read_file {\"path\": \"a.rs\",  \"from\": 1}\n- `[tool] search {\"text\": \"x {y}\"}`\n\
                    [TOOL] git_log{\"path\": \".\"}\n[TOOL] broken {\"path\":\n[TOOL] nothing";
        let asked: Vec<_> = asked(text).into_iter().map(|(used, arguments)| (used.tool, arguments)).collect();
        let expected = [
            ("read_file", r#"{"path":"a.rs","from":1}"#),
            ("search", r#"{"text":"x {y}"}"#),
            ("git_log", r#"{"path":"."}"#),
        ];
        assert_eq!(asked, expected.map(|(tool, arguments)| (tool.to_owned(), arguments.to_owned())));
    }
}
