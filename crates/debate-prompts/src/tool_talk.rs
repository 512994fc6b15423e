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
            let found = tokens::cut(tool.result.shown()?, share.min(RESULT_TOKENS_MAX));
            let (name, found) = (escape::xml_line(&tool.tool), escape::xml(&found).into_owned());
            let asked = escape::xml_line(arguments);
            text.push_str(&format!("<result tool=\"{name}\">\n{asked}\n{found}\n</result>\n"));
        }
        text.push_str(&next(turn));
        messages.push(Message { speaker: Speaker::User, text: text.into() });
    }
    Some(messages)
}
