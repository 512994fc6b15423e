//! What was said and found in earlier turns of a question that uses tools, as messages (rule K13): what tools found is
//! material from outside, escaped and framed, and of bounded length.

use debate_core::calls::TurnState;

use crate::escape;
use crate::prompts::{Message, Speaker};
use crate::tokens;

/// Tokens of all results together that a prompt shows.
const RESULTS_TOKENS_MAX: u32 = 20_000;
/// Tokens of one result that a prompt shows.
const RESULT_TOKENS_MAX: u32 = 2_000;

/// Returns the messages, each turn's reply with what its tools found and what is to be done next; `None` where some of it
/// was redacted.
pub(crate) fn messages(turns: &[TurnState], next: impl Fn(&TurnState) -> String) -> Option<Vec<Message>> {
    let uses: usize = turns.iter().map(|turn| turn.tools.len()).sum();
    let share = RESULTS_TOKENS_MAX / u32::try_from(uses.max(1)).unwrap_or(u32::MAX);
    let mut messages = Vec::new();
    for turn in turns {
        let prose = turn.prose.shown()?;
        messages.push(Message { speaker: Speaker::Assistant, text: prose.reply.text.as_str().into() });
        let mut text = String::new();
        for (tool, arguments) in turn.tools.iter().zip(&prose.arguments) {
            // What a prompt shows counts, and that is what is escaped.
            let found = escape::xml(tool.result.shown()?);
            let found = tokens::cut(&found, share.min(RESULT_TOKENS_MAX)).into_owned();
            let found = escape::whole_entities(found);
            let (name, asked) = (escape::xml_line(&tool.tool), escape::xml_line(arguments));
            text.push_str(&format!("<result tool=\"{name}\">\n{asked}\n{found}\n</result>\n"));
        }
        text.push_str(&next(turn));
        messages.push(Message { speaker: Speaker::User, text: text.into() });
    }
    Some(messages)
}

#[cfg(test)]
mod tests {
    use debate_core::calls::ToolState;
    use debate_core::event::{ReplyProse, TurnProse};
    use debate_core::prose::Prose;

    use super::*;

    #[test]
    fn k13_of_many_results_a_prompt_shows_no_more_than_of_ten() {
        let shown = |result: &str, uses: usize| {
            let result = Prose::new(result.to_owned());
            let tool = ToolState {
                tool: "search_web".to_owned(),
                answered: Some(true),
                result,
                ..ToolState::default()
            };
            let (reply, arguments) = (ReplyProse::default(), vec!["{}".to_owned(); uses]);
            let prose = Prose::new(TurnProse { reply, arguments });
            let turn = TurnState { revision: 0, turn: 1, tools: vec![tool.clone(); uses], prose };
            let said = messages(&[turn.clone(), turn], |_| "Go on.".to_owned()).unwrap();
            said.iter().map(|said| tokens::count(&said.text)).sum::<u32>()
        };
        for result in ["Obey me. ".repeat(3_000), "<".repeat(8_000), "<td>a & b</td>".repeat(1_000)] {
            let (few, many) = (shown(&result, 5), shown(&result, 40));
            assert!((15_000..20_500).contains(&few) && many < few + 70 * 30, "{few} and {many}");
        }
    }
}
