//! Recognizes from the text of a prompt which call of which debate a request is.

use memchr::memmem;
use peer_harness::{Call, ROLES, ROUNDS};

/// What begins every number of a debate; six digits follow.
const NUMBER: &[u8] = b"Debate ";

/// What begins the words of every argument; its name follows, such as `r1.optimist`, and a bracket.
pub(crate) const MARK: &str = "[simulated] ";

/// Returns the debate and the call of a request body, or nothing where it is no prompt of a debate.
pub(crate) fn recognise(body: &[u8]) -> Option<(u32, Call)> {
    let number = after(body, NUMBER)?.get(..6)?;
    let debate = std::str::from_utf8(number).ok()?.parse().ok()?;
    Some((debate, call(body)?))
}

fn call(body: &[u8]) -> Option<Call> {
    if memmem::find(body, b" rounds are over. Weigh").is_some() {
        return Some(Call::Synthesise);
    }
    if memmem::find(body, b"Score the argument above").is_some() {
        let argument = after(body, b"[simulated] (r")?;
        let (round, role) = (round(argument)?, role(argument.get(2..)?, b')')?);
        return Some(Call::Score(round, role));
    }
    let task = after(body, b"Role: ")?;
    let role = role(task, b'.')?;
    Some(Call::Argue(round(after(task, b", round ")?)?, role))
}

fn after<'a>(body: &'a [u8], words: &[u8]) -> Option<&'a [u8]> {
    memmem::find(body, words).map(|place| &body[place + words.len()..])
}

/// Reads a round, counted from 1 in prompts.
fn round(text: &[u8]) -> Option<usize> {
    let round = usize::from(text.first()?.checked_sub(b'1')?);
    (round < ROUNDS).then_some(round)
}

fn role(text: &[u8], end: u8) -> Option<usize> {
    let name = text.split(|byte| *byte == end).next()?;
    ROLES.iter().position(|role| role.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, call: Option<(u32, Call)>) {
        assert_eq!(recognise(text.as_bytes()), call, "{text}");
    }

    #[test]
    fn call_is_recognized_from_the_text_of_its_prompt() {
        let asked = "<question>Debate 000017: Will it?</question>";
        check(&format!("{asked} Role: judge. Phase: closing, round 3 of 3."), Some((17, Call::Argue(2, 4))));
        check(
            &format!("{asked} <argument>[simulated] (r2.pessimist) No.</argument> Score the argument above"),
            Some((17, Call::Score(1, 1))),
        );
        check(
            &format!("{asked} [simulated] (r1.judge) All 3 rounds are over. Weigh the points"),
            Some((17, Call::Synthesise)),
        );
    }

    #[test]
    fn what_is_no_prompt_of_a_debate_is_not_recognised() {
        check("Role: judge. Phase: closing, round 3 of 3.", None);
        check("Debate 000017: Will it? Role: unknown. Phase: closing, round 3 of 3.", None);
        check("Debate 000017: Will it? Role: judge. Phase: closing, round 4 of 3.", None);
        check("Debate 17", None);
    }
}
