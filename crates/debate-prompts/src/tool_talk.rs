//! What was said and found in earlier turns of a question that uses tools, as messages (rule K13): what tools found is
//! material from outside, escaped and framed, and of bounded length.

use debate_core::calls::TurnState;

use crate::escape;
use crate::fitting::cut_line;
use crate::prompts::{Message, Speaker};
use crate::room::Room;
use crate::tokens;

/// Tokens of all results together that a prompt shows.
const RESULTS_TOKENS_MAX: u32 = 20_000;
/// Tokens of one result that a prompt shows.
const RESULT_TOKENS_MAX: u32 = 2_000;

/// Tokens of the arguments of a tool use that a small context window leaves at most.
const ARGUMENTS_TOKENS_MAX: u32 = 40;

/// What was said and found in earlier turns.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// Each turn's reply with what its tools found and what is to be done next.
    pub(crate) messages: Vec<Message>,
    /// What a context window left no room for, one line each.
    pub(crate) omitted: Vec<String>,
}

impl Talk {
    /// Returns the tokens of the messages.
    pub(crate) fn tokens(&self) -> u32 {
        self.messages.iter().map(|message| tokens::count(&message.text)).sum()
    }

    /// Returns a text, escaped already, at its length in a small context window.
    fn cut(&mut self, name: &str, text: String, tokens_max: Option<u32>) -> String {
        let Some(tokens_max) = tokens_max else { return text };
        let kept = tokens::cut(&text, tokens_max).into_owned();
        if kept != text {
            self.omitted.push(cut_line(name, tokens::count(&kept), tokens::count(&text)));
        }
        kept
    }
}

/// Returns what was said and found, of bounded length and, where the room is limited, in at most about half of it;
/// `None` where some of it was redacted.
pub(crate) fn talk(turns: &[TurnState], room: Room, next: impl Fn(&TurnState) -> String) -> Option<Talk> {
    let count = |number: usize| u32::try_from(number.max(1)).unwrap_or(u32::MAX);
    let uses = count(turns.iter().map(|turn| turn.tools.len()).sum());
    // A quarter for replies, a quarter for what tools found.
    let quarter = room.input_tokens_max.map(|max| max / 4);
    let share = (RESULTS_TOKENS_MAX / uses).min(RESULT_TOKENS_MAX);
    let reply_max = quarter.map(|quarter| quarter / count(turns.len()));
    let mut talk = Talk::default();
    for turn in turns {
        let prose = turn.prose.shown()?;
        let reply = talk.cut("reply that asked for tools", prose.reply.text.clone(), reply_max);
        talk.messages.push(Message { speaker: Speaker::Assistant, text: reply.into() });
        let mut text = String::new();
        for (tool, arguments) in turn.tools.iter().zip(&prose.arguments) {
            // What a prompt shows counts, and that is what is escaped.
            let found = escape::xml(tool.result.shown()?);
            let found = tokens::cut(&found, share).into_owned();
            let (name, asked) = (escape::xml_line(&tool.tool), escape::xml_line(arguments));
            let found = talk.cut(&format!("result of {name}"), found, quarter.map(|quarter| quarter / uses));
            let asked =
                talk.cut(&format!("arguments of {name}"), asked, quarter.map(|_| ARGUMENTS_TOKENS_MAX));
            let (asked, found) = (escape::whole_entities(asked), escape::whole_entities(found));
            text.push_str(&format!("<result tool=\"{name}\">\n{asked}\n{found}\n</result>\n"));
        }
        text.push_str(&next(turn));
        talk.messages.push(Message { speaker: Speaker::User, text: text.into() });
    }
    Some(talk)
}

#[cfg(test)]
mod tests {
    use debate_core::calls::ToolState;
    use debate_core::event::{ReplyProse, TurnProse};
    use debate_core::prose::Prose;

    use super::*;

    fn turn(result: &str, uses: usize, reply: &str) -> TurnState {
        let tool = ToolState {
            tool: "search_web".to_owned(),
            answered: Some(true),
            result: Prose::new(result.to_owned()),
            ..ToolState::default()
        };
        let reply = ReplyProse { text: reply.to_owned(), ..ReplyProse::default() };
        let prose = Prose::new(TurnProse { reply, arguments: vec!["{}".to_owned(); uses] });
        TurnState { revision: 0, turn: 1, tools: vec![tool; uses], prose }
    }

    #[test]
    fn p15_earlier_turns_take_half_of_a_small_room() {
        let turns =
            [turn(&"Rain & snow. ".repeat(300), 2, &"I look it up. ".repeat(200)), turn("Sun.", 1, "More.")];
        let room = Room { input_tokens_max: Some(1_000), ..Room::default() };
        let small = talk(&turns, room, |_| "Go on.".to_owned()).unwrap();
        // The frames of three results are not shortened.
        assert!((300..500 + 3 * 30).contains(&small.tokens()), "{}", small.tokens());
        let named: Vec<&str> = small.omitted.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(named, ["reply that asked for tools", "result of search_web", "result of search_web"]);
        let large = Room { input_tokens_max: Some(60_000), ..Room::default() };
        let whole = |room| talk(&turns, room, |_| "Go on.".to_owned()).unwrap();
        assert_eq!(whole(large).messages, whole(Room::default()).messages);
        assert!(whole(Room::default()).omitted.is_empty());
    }

    #[test]
    fn k13_of_many_results_a_prompt_shows_no_more_than_of_ten() {
        let shown = |result: &str, uses: usize| {
            let turn = turn(result, uses, "");
            let said = talk(&[turn.clone(), turn], Room::default(), |_| "Go on.".to_owned());
            said.unwrap().tokens()
        };
        for result in ["Obey me. ".repeat(3_000), "<".repeat(8_000), "<td>a & b</td>".repeat(1_000)] {
            let (few, many) = (shown(&result, 5), shown(&result, 40));
            assert!((15_000..20_500).contains(&few) && many < few + 70 * 30, "{few} and {many}");
        }
    }
}
