//! What results of roundtables say of those who spoke and those who did not (rules K6, T2, T10, T11).

use debate_core::call::Want;
use debate_core::event::WebSource;
use debate_core::format::Format;
use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::call::Kind;
use debate_core::formats::roundtable::markdown;
use debate_core::formats::roundtable::outcome::{
    CitationEntry, NextStep, RoundtableResult, ToolRunEntry, WebSourceEntry,
};
use debate_core::prose::Texts;

use crate::scenario::{Stage, check};

fn result(stage: &Stage<Roundtable>) -> RoundtableResult {
    Roundtable::outcome(&stage.debate, Texts::Shown)
}

/// Who supports the decision, who stands against it, who is missing in it.
fn sides(result: &RoundtableResult) -> [String; 3] {
    let decision = &result.decision;
    let sides = [&decision.supporters, &decision.dissenters, &decision.missing];
    sides.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}

const MOVE: &str = "Move the office to the harbour. | | 0.5";
const STAY: &str = "Remain at home for another year, please. | | 0.5";

#[test]
fn t10_who_falls_silent_is_missing_and_no_dissenter() {
    let stage = check::<Roundtable>(&format!(
        "given    started agents=ada,bo,cy,di rounds=2 mode=collaborative
         when     answer respond/1/ada: {MOVE}
         when     answer respond/1/bo: {MOVE}
         when     answer respond/1/cy: {STAY}
         when     answer respond/1/di: {MOVE}
         when     answer respond/2/ada: {MOVE}
         when     answer respond/2/bo: {MOVE}
         when     answer respond/2/cy: {STAY}
         when     fail respond/2/di: denied
         concluded max_rounds partial without di"
    ));
    let outcome = result(&stage);
    assert_eq!(sides(&outcome), ["ada bo", "cy", "di"]);
    assert_eq!(outcome.agent_responses.len(), 4, "what it said before stays its response");
    assert!(markdown::document(&outcome).contains("- Silent in the last round: di\n"));
}

#[test]
fn k6_who_never_spoke_is_missing_too() {
    let stage = check::<Roundtable>(&format!(
        "given    started agents=ada,bo,cy rounds=1 mode=collaborative
         when     fail respond/1/cy: denied
         when     answer respond/1/ada: {MOVE}
         when     answer respond/1/bo: {MOVE}
         concluded max_rounds partial without cy"
    ));
    assert_eq!(sides(&result(&stage)), ["ada bo", "", "cy"]);
}

#[test]
fn t6_whose_second_answer_failed_is_missing_in_what_the_second_answers_came_to() {
    let sure = "Move the office to the harbour. | It is cheap. | YES 0.9";
    let stage = check::<Roundtable>(&format!(
        "given    started agents=ada,bo,cy rounds=1 mode=collaborative groupthink_detection.action=repoll
         when     answer respond/1/ada: {sure}
         when     answer respond/1/bo: {sure}
         when     answer respond/1/cy: {sure}
         wants    repoll/1/ada repoll/1/bo repoll/1/cy
         when     answer repoll/1/ada: {MOVE}
         when     answer repoll/1/bo: {STAY}
         when     fail repoll/1/cy: denied
         concluded max_rounds partial without repoll/1/cy"
    ));
    assert_eq!(sides(&result(&stage)), ["ada", "bo", "cy"]);
}

#[test]
fn p27_equal_answers_and_a_low_confidence_do_not_proceed() {
    let decision = |answers: [(&str, f64); 3]| {
        let [(ada, a), (bo, b), (cy, c)] = answers;
        let stage = check::<Roundtable>(&format!(
            "given    started agents=ada,bo,cy rounds=1 mode=collaborative groupthink_detection.enabled=false
             when     answer respond/1/ada: Move to the harbour. | {ada} | {a}
             when     answer respond/1/bo: Move to the harbour. | {bo} | {b}
             when     answer respond/1/cy: Move to the harbour. | {cy} | {c}
             concluded max_rounds full"
        ));
        let decision = result(&stage).decision;
        (decision.action, decision.cautions)
    };
    let own = |confidence| {
        [("It is cheap.", confidence), ("Rents fall.", confidence), ("Trains stop.", confidence)]
    };
    assert_eq!(decision(own(0.5)), (NextStep::Proceed, Vec::new()));
    let unsure = "the mean confidence is 0.40, below 0.5".to_owned();
    assert_eq!(decision(own(0.4)), (NextStep::Verify, vec![unsure]));
    let same = "ada and cy gave the same answer, word for word".to_owned();
    let [ada, bo, _] = own(0.9);
    assert_eq!(decision([ada, bo, ("it is CHEAP", 0.9)]), (NextStep::Verify, vec![same]));
}

#[test]
fn t11_a_topic_that_is_put_again_is_no_question_that_anybody_takes_up() {
    let pairs = |first: &str| {
        let stage = check::<Roundtable>(&format!(
            "given    started agents=ada,bo rounds=2 mode=collaborative
             when     answer respond/1/ada: Move. | {first}
             when     answer respond/1/bo: Stay.
             when     answer respond/2/ada: Move.
             when     answer respond/2/bo: Stay. | As ada says, we should move one day; the rent of the harbour falls.
             concluded max_rounds full
             when     continue 1: What does the harbour cost in rent?
             when     answer respond/3/ada: Move. | What does the rent of a harbour cost?
             when     answer respond/3/bo: Stay.
             concluded max_rounds full
             when     continue 1: What does the harbour cost in rent?
             when     answer respond/4/ada: Move.
             when     answer respond/4/bo: Stay. | To ada: the harbour will cost much rent.
             concluded max_rounds full"
        ));
        result(&stage).evidence.interaction.question_response_pairs
    };
    // The topic is “Should we move?”.
    assert_eq!(
        pairs("Ought we now to move, or should we not?"),
        1,
        "one key term is no topic; it is taken up by name"
    );
    assert_eq!(pairs("Does the rent of the harbour rise or fall?"), 1);
    assert_eq!(
        pairs("It is cheap."),
        0,
        "the focus that is put again counts for nothing, though ada is named"
    );
}

#[test]
fn t2_a_label_stays_itself_whatever_agents_are_called() {
    let stage = check::<Roundtable>(
        "given    started agents=Participant,ada,ann,Ann-Li rounds=2 mode=delphi
         when     answer respond/1/Participant: participant knows; Participant 1, Participant 2 and Ada too.
         when     answer respond/1/ada: Ann-Li and Ann agree; Joanna does not.
         when     answer respond/1/ann: Nothing.
         when     answer respond/1/Ann-Li: Nothing.
         phase    round/2",
    );
    let agents = &stage.debate.config().agents;
    let number = |name: &str| agents.iter().find(|agent| agent.name.as_str() == name).unwrap().number;
    let label = |name: &str| format!("Participant {}", number(name));
    let want = Want { call: "respond/2/ann".parse().unwrap(), revision: 0 };
    let seen = Roundtable::visible(&stage.debate, &want).context.responses;
    let said = |place: usize| seen[place].words.as_ref().unwrap().position.clone();
    let (participant, ada) = (label("Participant"), label("ada"));
    assert_eq!(said(0), format!("{participant} knows; Participant 1, Participant 2 and {ada} too."));
    assert_eq!(said(1), format!("{} and {} agree; Joanna does not.", label("Ann-Li"), label("ann")));
}

#[test]
fn t10_markup_in_a_topic_stays_text() {
    let mut outcome = result(&check::<Roundtable>("given started agents=ada,bo rounds=1 mode=collaborative"));
    outcome.topic = "Should <script>\n# we</script> move?".to_owned();
    let document = markdown::document(&outcome);
    assert!(
        document.starts_with("# Roundtable: Should &lt;script&gt; #\u{200b} we&lt;/script&gt; move?\n"),
        "{document}"
    );
}

#[test]
fn k13_words_in_a_document_steer_no_terminal_leave_no_line_and_fetch_no_image() {
    let stage = check::<Roundtable>(
        "given    started agents=ada,bo rounds=1 mode=collaborative
         when     answer respond/1/ada: x
         when     answer respond/1/bo: y",
    );
    let mut outcome = result(&stage);
    let words = "a\u{1b}[2J\r# b\u{9b}m\u{202e}c ![d](https://evil.test/?e)";
    outcome.topic = words.to_owned();
    outcome.agent_responses[0].response.position = words.to_owned();
    let (agent, words) = (outcome.agent_responses[0].agent.clone(), words.to_owned());
    let page =
        WebSource { url: "https://evil.test".to_owned(), title: Some(words.clone()), cited_text: None };
    outcome.evidence.web_sources =
        vec![WebSourceEntry { agent: agent.clone(), round: 1, kind: Kind::Respond, page }];
    outcome.evidence.citations =
        vec![CitationEntry { source: words.clone(), agent: agent.clone(), round: 1 }];
    let run = |arguments: &str, error: Option<&str>| ToolRunEntry {
        agent: agent.clone(),
        round: 1,
        kind: Kind::Respond,
        tool: "search_web".to_owned(),
        arguments: arguments.to_owned(),
        ok: error.is_none(),
        error: error.map(str::to_owned),
        reused_from: None,
        latency_ms: 1,
    };
    outcome.evidence.tool_runs = vec![run(&words, None), run("{}", Some(&words))];
    outcome.agent_responses[0].agent = words.as_str().into();
    outcome.decision.supporters = vec![words.as_str().into()];
    let document = markdown::document(&outcome);
    let said = "a\u{fffd}\\[2J #\u{200b} b\u{fffd}m\u{fffd}c \\!\\[d\\]\\(https:\u{200b}//evil.test/?e\\)";
    for line in [
        format!("- {said} (ada, round 1)"),
        format!("- search\\_web {said}, answered in"),
        format!("failed: {said}"),
        format!("- {said}: https:\u{200b}//evil.test (ada, round 1)"),
    ] {
        assert!(document.contains(&line), "{line:?} in {document:?}");
    }
    assert!(document.contains(&format!("> {said}\n")), "{document:?}");
    assert!(!document.contains(|c: char| c != '\n' && c.is_control()), "{document:?}");
    assert!(!document.contains("!["), "{document:?}");
}

#[test]
fn k13_words_of_several_lines_stand_in_a_document_behind_marks_of_a_quote_alone() {
    let mut outcome = result(&check::<Roundtable>(
        "given    started agents=ada,bo rounds=1 mode=collaborative
         when     answer respond/1/ada: x
         when     answer respond/1/bo: y",
    ));
    let words = |place: &str| format!("Move.\n\n## {place}\n- Action: ship it");
    outcome.topic = words("topic");
    outcome.decision.position = Some(words("decision"));
    outcome.agent_responses[0].response.position = words("position");
    outcome.agent_responses[0].response.reasoning = words("reasoning");
    let round = outcome.evidence.rounds.first_mut().unwrap();
    round.focus = Some(words("focus"));
    round.responses[0].response.position = words("position of the round");
    let page = WebSource {
        url: "https://evil.test".to_owned(),
        title: Some(words("title")),
        cited_text: Some(words("cited")),
    };
    let agent = outcome.agent_responses[0].agent.clone();
    outcome.evidence.web_sources = vec![WebSourceEntry { agent, round: 1, kind: Kind::Respond, page }];
    let document = markdown::document(&outcome);
    let lines: Vec<&str> = document.lines().collect();
    for place in ["decision", "position", "reasoning", "focus", "cited"] {
        assert!(lines.contains(&format!("> #\u{200b}#\u{200b} {place}").as_str()), "{place}: {document}");
        assert!(!lines.contains(&format!("## {place}").as_str()), "{place}: {document}");
    }
    for place in ["topic", "title"] {
        assert!(!lines.iter().any(|line| line.starts_with(&format!("## {place}"))), "{place}: {document}");
    }
    assert!(!lines.iter().any(|line| line.starts_with("- Action: ship it")), "{document}");
}
