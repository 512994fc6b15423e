//! Free text that was cut and had to be used makes the result partial.

use debate_core::call::{Reserved, Thinking, Work};
use debate_core::command::{BeginCall, Command};
use debate_core::debate::Debate;
use debate_core::event::{AttemptRef, PromptRef, ReplyFacts, ReplyProse};
use debate_core::format::Format;
use debate_core::id::Digest;
use debate_core::stop::Completeness;
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prompts::{Prompts, Reading, Received};
use debate_prompts::review::ReviewPrompts;

use super::debates;
use super::debates::NOW;

fn decide<F: Format>(debate: &mut Debate<F>, command: Command<F>) {
    for event in debate.decide(NOW, command).unwrap() {
        debate.apply(NOW, &event).unwrap();
    }
}

/// Answers what is wanted, in turn, as long as there is a reply for it; the reply to the last attempt is read.
fn answer<P: Prompts>(
    prompts: &P,
    debate: &mut Debate<P::Format>,
    reply: impl Fn(&str) -> Option<Received<'static>>,
) {
    loop {
        let wanted = debate.wanted_work().into_iter();
        let mut next = wanted.filter_map(|work| Some((reply(&work.want().call.to_string())?, work)));
        let Some((received, Work::Turn { want, turn })) = next.next() else { return };
        let visible = P::Format::visible(debate, &want);
        let read = prompts.parse(&visible, &want, received.last()).unwrap();
        let Reading::Answer { answer, repairs } = read else { panic!("it asks for tools") };
        let version = String::new();
        let prompt = PromptRef {
            version,
            digest: Digest::default(),
            tokens: 0,
            omitted: Vec::new(),
            ..PromptRef::default()
        };
        let begin = BeginCall {
            work: Work::Turn { want: want.clone(), turn },
            hedge: None,
            model: "canned:1".to_owned(),
            prompt,
            reserved: Reserved::default(),
            thinking: Thinking::default(),
        };
        decide(debate, Command::BeginCall(begin));
        let attempt = debate.call(&want.call).unwrap().attempt;
        let attempt = AttemptRef { call: want.call.clone(), revision: want.revision, attempt, turn };
        let prose = ReplyProse { text: received.text.to_owned(), ..ReplyProse::default() };
        let facts = ReplyFacts { repairs, ..ReplyFacts::default() };
        decide(debate, Command::FinishCall { attempt, reply: facts, prose, answer });
    }
}

/// Returns what no other call says: an answer that repeats another is none (rule P27).
fn own_words(call: &str) -> &'static str {
    format!("We should move, as {call} shows.").leak()
}

fn missing(completeness: &Completeness) -> (Vec<String>, Vec<String>) {
    match completeness {
        Completeness::Partial { missing, why } => (missing.clone(), why.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn k18_deliberation_with_cut_text_is_partial() {
    let mut whole = debates::deliberation();
    answer(&DeliberationPrompts, &mut whole, |call| Some(Received::whole(own_words(call))));
    assert_eq!(whole.completeness(), Completeness::Full);
    let mut debate = debates::deliberation();
    answer(&DeliberationPrompts, &mut debate, |call| match call {
        "revised/3/bo" => Some(Received::cut("We should move, unless the")),
        _ => Some(Received::whole(own_words(call))),
    });
    let (missing, why) = missing(&debate.completeness());
    assert_eq!(missing, ["end of revised/3/bo"]);
    assert_eq!(why, ["revised/3/bo was cut"]);
}

#[test]
fn k18_review_with_cut_speech_is_partial() {
    let mut debate = debates::review();
    answer(&ReviewPrompts, &mut debate, |call| match call {
        "argue/1/security" => Some(Received::cut("It leaks keys. It is")),
        _ if call.starts_with("judge") => Some(Received::whole(
            r#"{"summary": "Keys.", "feedback": [{"role": "role_a", "argument_quality_score": 7.5},
                {"role": "role_b", "argument_quality_score": 6.5}], "winner": "role_a"}"#,
        )),
        _ => Some(Received::whole(own_words(call))),
    });
    let (missing, why) = missing(&debate.completeness());
    assert_eq!(missing, ["end of argue/1/security"]);
    assert_eq!(why, ["argue/1/security was cut"]);
}

#[test]
fn k18_investigation_with_cut_report_is_partial() {
    let report = "[EVIDENCE REPORT]\nStatus: SUPPORTED\nConfidence: 7/10\nSupporting Evidence:\n- [data] rss 1 GB | | grows\n- [te";
    let mut debate = debates::investigation();
    answer(&InvestigationPrompts, &mut debate, |call| {
        call.starts_with("report/1").then(|| Received::cut(report))
    });
    let (missing, why) = missing(&debate.completeness());
    for investigator in ["ann", "bob", "cyd"] {
        assert!(missing.contains(&format!("end of report/1/{investigator}")), "{missing:?}");
        assert!(why.contains(&format!("report/1/{investigator} was cut")), "{why:?}");
    }
}
