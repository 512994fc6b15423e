//! How events are stored: every kind both ways, versions, the hash chain (rules K1, K15).

use std::sync::Arc;

use debate_core::call::{Cause, InputRef, Reserved, Tokens, Usage};
use debate_core::chain::{ChainBreak, ChainCheck};
use debate_core::codec::{Author, DecodeError, Head, decode, seal};
use debate_core::debate::{Debate, ReplayError};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::{
    AbandonReason, AnswerRejected, AttemptAbandoned, AttemptFailed, AttemptRef, CallAnswered, CallStarted,
    CallVoided, Cancelled, Concluded, Continued, Event, FailureKind, FailureProse, Forked, KernelEvent,
    Paused, PhaseClosed, PhaseOpened, PromptRef, Redacted, ReplyFacts, ReplyProse, Resolved, Resumed,
    StopRuleFired, ToolAnswered, ToolRef, ToolStarted, ToolUse, TurnAnswered, TurnProse, WebSource,
};
use debate_core::format::Format;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use debate_core::limits::Limits;
use debate_core::prose::{Prose, Texts};
use debate_core::record::{Record, RecordError};
use debate_core::spend::{Cost, Spend};
use debate_core::stop::{Budget, Completeness, StopRule};
use uuid::Uuid;

use crate::scenario::{Stage, check};

pub(crate) const PREDICTION: &str = "given    started roles=optimist,pessimist
     when     answer argue/1/optimist
     when     answer score/1/optimist: score=0.1
     when     answer argue/1/optimist
     when     answer score/1/optimist
     when     fail argue/1/pessimist
     when     answer argue/1/pessimist
     when     answer score/1/pessimist
     when     answer synthesise/1/judge
     when     resolve yes";

const DELIBERATION: &str = "given    started participants=ada,bo orchestrator=mo mode=weak
     when     answer initial/1/ada
     when     answer initial/1/bo
     when     answer consensus/2/mo: Unresolved / - When";

fn attempt() -> AttemptRef {
    AttemptRef { call: "argue/2/optimist/3".parse().unwrap(), revision: 1, attempt: 2, turn: 3 }
}

fn facts() -> ReplyFacts {
    ReplyFacts {
        usage: Usage { input: Some(10), output: None, cached: Some(0), reasoning: None },
        cost_micros: Some(12),
        latency_ms: 12,
        wire_retries: 1,
        provider_tool_runs: 2,
        web_sources: 1,
        request_id: Some("req-1".to_owned()),
        digest: Digest::of_text("reply"),
        ended: Some(debate_core::call::Ended::Complete),
        stop_reason: Some("stop".to_owned()),
        repairs: vec!["fence".to_owned()],
        begun: true,
    }
}

fn page() -> WebSource {
    WebSource {
        url: "https://a.example/ice".to_owned(),
        title: Some("Ice".to_owned()),
        cited_text: Some("It melts.".to_owned()),
    }
}

/// Returns the events of asking and answering, each with every field filled.
pub(crate) fn asking() -> Vec<KernelEvent> {
    let AttemptRef { call, revision, turn, .. } = attempt();
    let words = ReplyProse {
        text: "He said \"no\".\n".to_owned(),
        reasoning: Some("hm".to_owned()),
        web_sources: vec![page()],
    };
    let failure = FailureProse { message: "cut".to_owned(), text: Some("{\"a\"".to_owned()) };
    let sees = vec![InputRef { call: call.clone(), revision }];
    vec![
        CallStarted {
            call: call.clone(),
            revision,
            attempt: 2,
            turn,
            cause: Cause::Hedge,
            model: "openai:x".to_owned(),
            sees: sees.clone(),
            prompt: PromptRef {
                version: "prediction/argue@1".to_owned(),
                digest: Digest::of_text("prompt"),
                tokens: 599,
                omitted: vec!["data: left out".to_owned()],
                ..PromptRef::default()
            },
            reserved: Reserved { input: 600, output: 500, cost_micros: Some(1_150) },
            thinking: debate_core::call::Thinking::default(),
        }
        .into(),
        TurnAnswered {
            attempt: attempt(),
            tools: vec![ToolUse { tool: "search".to_owned(), id: "t1".to_owned() }],
            reply: facts(),
            prose: Prose::new(TurnProse { reply: words.clone(), arguments: vec!["{}".to_owned()] }),
        }
        .into(),
        ToolStarted { call: call.clone(), revision, turn, index: 0, attempt: 1, cause: Cause::Lost }.into(),
        ToolAnswered {
            call: call.clone(),
            revision,
            turn,
            index: 0,
            ok: true,
            latency_ms: 3,
            reused: Some(ToolRef { call: call.clone(), revision, turn, index: 1 }),
            prose: Prose::new("found".to_owned()),
        }
        .into(),
        CallAnswered { attempt: attempt(), reply: facts(), prose: Prose::new(words) }.into(),
        AttemptFailed {
            attempt: attempt(),
            failure: FailureKind::Truncated,
            last: true,
            reply: facts(),
            prose: Prose::new(failure),
        }
        .into(),
        AttemptAbandoned { attempt: attempt(), reason: AbandonReason::Outrun }.into(),
        AnswerRejected {
            call: call.clone(),
            revision,
            rules: vec!["P10".to_owned()],
            prose: Prose::new("Rebut somebody.".to_owned()),
        }
        .into(),
        CallVoided { call, revision, sees }.into(),
    ]
}

/// Returns the events of a debate's course, each with every field filled.
pub(crate) fn course() -> Vec<KernelEvent> {
    let completeness =
        Completeness::Partial { missing: vec!["historian".to_owned()], why: vec!["silent".to_owned()] };
    vec![
        PhaseOpened { phase: "opening".to_owned(), round: 1 }.into(),
        PhaseClosed { phase: "opening".to_owned(), round: 1 }.into(),
        StopRuleFired {
            rule: StopRule::Convergence,
            budget: Some(Budget::CostMicros),
            statistic: 0.1 + 0.2,
            threshold: 1e-9,
            shadow: true,
            closing: false,
        }
        .into(),
        Paused { remaining_ms: 5 }.into(),
        Resumed { deadline_at: Timestamp(99) }.into(),
        Cancelled { prose: Prose::new("enough".to_owned()) }.into(),
        Concluded {
            revision: 2,
            rule: StopRule::Budget,
            completeness,
            outcome_digest: Digest::of_text("outcome"),
            spend: Some(Spend {
                calls: 3,
                known: Tokens { input: 20, output: 10 },
                bound: Tokens { input: 30, output: 15 },
                complete: false,
                thinking: 0,
                cost: Some(Cost { cost_micros: 12, cost_micros_bound: 20, complete: false }),
                unpriced_calls: 1,
            }),
        }
        .into(),
        Continued {
            rounds: 2,
            deadline_at: Timestamp(100),
            focused: true,
            prose: Prose::new("What would it cost?".to_owned()),
        }
        .into(),
        Forked {
            parent: DebateId(Uuid::from_u128(9)),
            at: Seq(4),
            parent_hash: Digest::of_text("parent"),
            change: "model=x".to_owned(),
            debate: Some(DebateId(Uuid::from_u128(7))),
            format: "prediction".to_owned(),
            limits: Some(Limits::for_calls(1, Tokens::default(), Tokens::default(), 1)),
            models: None,
        }
        .into(),
        Resolved { happened_at: Some(Timestamp(90)), ..Resolved::new("yes".into()) }.into(),
        Redacted { seq: Seq(3) }.into(),
    ]
}

fn sealed<F: Format>(events: &[Event<F>]) -> Vec<Envelope> {
    let author =
        Author { tenant: "t".to_owned(), actor: "engine".to_owned(), trace: Some("00-a".to_owned()) };
    let stream = StreamId::from(DebateId(Uuid::from_u128(7)));
    let sealed = seal(stream, Head::NONE, &author, Timestamp(5), events, || [9; 16]);
    sealed.into_envelopes().into_iter().map(Arc::unwrap_or_clone).collect()
}

fn check_both_ways<F: Format>(events: &[Event<F>]) {
    for event in events {
        let envelope = sealed(std::slice::from_ref(event)).remove(0);
        let read = decode::<F>(&envelope).unwrap();
        assert_eq!((&read.event, read.seq, read.at), (event, Seq(1), Timestamp(5)));
        assert_eq!(read.event.body(), envelope.body, "{} is written as it was read", event.kind());
        assert_eq!(read.event.prose(), envelope.prose.as_ref().map(|prose| prose.text.clone()));
    }
}

#[test]
fn k1_every_kind_of_event_is_read_as_it_was_written() {
    let kernel: Vec<KernelEvent> = asking().into_iter().chain(course()).collect();
    let mut kinds: Vec<&str> = kernel.iter().map(Record::kind).collect();
    let events: Vec<Event<Prediction>> = kernel.into_iter().map(Event::Kernel).collect();
    check_both_ways(&events);
    let prediction: Stage<Prediction> = check(PREDICTION);
    let deliberation: Stage<Deliberation> = check(DELIBERATION);
    let collected = |events: &mut dyn Iterator<Item = &'static str>| events.collect::<Vec<_>>();
    kinds.extend(collected(&mut prediction.log.iter().map(|recorded| recorded.event.kind())));
    kinds.extend(collected(&mut deliberation.log.iter().map(|recorded| recorded.event.kind())));
    check_both_ways(&prediction.log.iter().map(|recorded| recorded.event.clone()).collect::<Vec<_>>());
    check_both_ways(&deliberation.log.iter().map(|recorded| recorded.event.clone()).collect::<Vec<_>>());
    kinds.sort_unstable();
    kinds.dedup();
    let all = "answer_rejected argument_made argument_scored attempt_abandoned attempt_failed call_answered \
               call_started call_voided cancelled concluded consensus_reached continued contribution_made forked \
               judgement_rendered opened paused phase_closed phase_opened redacted resolved resumed \
               round_summarised stop_rule_fired tool_answered tool_started turn_answered";
    assert_eq!(kinds.join(" "), all);
}

#[test]
fn k15_prose_is_kept_out_of_bodies() {
    let stage: Stage<Deliberation> = check(DELIBERATION);
    for envelope in stage.envelopes() {
        for words in ["Should we move?", "What initial", "Unresolved"] {
            assert!(!envelope.body.contains(words), "{}: {}", envelope.kind, envelope.body);
        }
    }
}

#[test]
fn k15_whichever_text_of_an_event_is_long_counts() {
    let stage: Stage<Prediction> = check(PREDICTION);
    let text = "é".repeat(5);
    let texts: [fn(&mut Envelope, String); 6] = [
        |event, text| event.body += &text,
        |event, text| event.prose.as_mut().unwrap().text += &text,
        |event, text| event.kind += &text,
        |event, text| event.tenant += &text,
        |event, text| event.actor += &text,
        |event, text| *event.trace.get_or_insert_default() += &text,
    ];
    let event = stage.envelopes().into_iter().find(|event| event.prose.is_some()).unwrap();
    for (number, lengthen) in texts.into_iter().enumerate() {
        let mut longer = event.clone();
        lengthen(&mut longer, text.clone());
        assert_eq!(longer.text_bytes(), event.text_bytes() + 10, "text {number}");
    }
    let short = Envelope { trace: None, prose: None, body: "{}".to_owned(), ..event.clone() };
    assert_eq!(
        short.text_bytes(),
        2 + [&short.kind, &short.tenant, &short.actor].map(String::len).iter().sum::<usize>()
    );
}

fn check_redaction<F: Format>(stage: &Stage<F>, envelopes: &[Envelope]) {
    let before = stage.debate.outcome_digest();
    let mut whole = ChainCheck::new(envelopes[0].stream);
    let mut read = Vec::new();
    for envelope in envelopes {
        let envelope = Envelope { prose: None, ..envelope.clone() };
        assert_eq!(envelope.is_redacted(), envelope.prose_digest.is_some());
        whole.push(&envelope).unwrap();
        read.push(decode::<F>(&envelope).unwrap());
    }
    let redacted = Debate::replay(&read).unwrap();
    assert_eq!(redacted.outcome_digest(), before);
    let shown = serde_json::to_string(&F::outcome(&redacted, Texts::Shown)).unwrap();
    let withheld = serde_json::to_string(&F::outcome(&stage.debate, Texts::Withheld)).unwrap();
    assert_eq!(shown, withheld, "nothing but facts is left");
}

#[test]
fn k15_without_its_prose_a_log_verifies_folds_and_concludes_the_same() {
    let stage: Stage<Prediction> = check(PREDICTION);
    check_redaction(&stage, &stage.envelopes());
    let stage: Stage<Deliberation> = check(DELIBERATION);
    check_redaction(&stage, &stage.envelopes());
}

#[test]
fn an_unknown_kind_version_or_shape_is_refused_with_its_place() {
    let stage: Stage<Deliberation> = check(DELIBERATION);
    let envelope = stage.envelopes().remove(3);
    let read = |change: fn(&mut Envelope)| {
        let mut changed = envelope.clone();
        change(&mut changed);
        decode::<Deliberation>(&changed).unwrap_err()
    };
    let error = read(|envelope| envelope.kind = "contribution_unmade".to_owned());
    assert_eq!(error.to_string(), "event 4: kind contribution_unmade is not known here");
    let error = read(|envelope| envelope.version = 2);
    let DecodeError::Record { seq: Seq(4), source: RecordError::Version { kind, version: 2 } } = error else {
        panic!("{error}");
    };
    assert_eq!(kind, envelope.kind);
    for error in [
        read(|envelope| envelope.body = "{}".to_owned()),
        read(|envelope| envelope.body.push('}')),
        read(|envelope| envelope.prose.as_mut().unwrap().text = "7".to_owned()),
    ] {
        let DecodeError::Record { seq: Seq(4), source: RecordError::Shape { .. } } = error else {
            panic!("{error}");
        };
    }
    let error = decode::<Prediction>(&stage.envelopes()[4]).unwrap_err();
    assert_eq!(error.to_string(), "event 5: kind contribution_made is not known here");
}

#[test]
fn k15_what_begins_a_debate_stands_at_the_beginning_of_its_own_stream_alone() {
    let mut opened = check::<Deliberation>(DELIBERATION).envelopes().remove(0);
    assert!(decode::<Deliberation>(&opened).is_ok());
    opened.seq = Seq(2);
    let error = decode::<Deliberation>(&opened).unwrap_err();
    assert_eq!(error.to_string(), "event 2: opened stands within a debate");
    opened.seq = Seq(1);
    opened.stream.id = Uuid::from_u128(8);
    let error = decode::<Deliberation>(&opened).unwrap_err();
    assert_eq!(error.to_string(), "event 1: opened begins another debate");
}

/// Returns the first bad place of a stream.
fn first_break(envelopes: &[Envelope]) -> Result<(), ChainBreak> {
    let mut check = ChainCheck::new(StreamId::from(DebateId(Uuid::from_u128(7))));
    envelopes.iter().try_for_each(|envelope| check.push(envelope))
}

#[test]
fn k15_whatever_is_changed_is_found_at_its_sequence_number() {
    let stage: Stage<Deliberation> = check(DELIBERATION);
    let whole = stage.envelopes();
    assert_eq!(first_break(&whole), Ok(()));
    let changes: [fn(&mut Envelope); 9] = [
        |envelope| envelope.body = envelope.body.replacen('{', "{ ", 1),
        |envelope| envelope.kind.push('x'),
        |envelope| envelope.version += 1,
        |envelope| envelope.at.0 += 1,
        |envelope| envelope.tenant.push('x'),
        |envelope| envelope.actor.push('x'),
        |envelope| envelope.trace = Some("x".to_owned()),
        |envelope| envelope.prose_digest = Some(Digest::of_text("x")),
        |envelope| envelope.hash = Digest::of_text("x"),
    ];
    for place in 0..whole.len() {
        for change in changes {
            let mut changed = whole.clone();
            change(&mut changed[place]);
            assert_eq!(first_break(&changed).unwrap_err().seq(), Seq(place as u64 + 1));
        }
    }
}

#[test]
fn k15_words_that_were_changed_are_found() {
    let stage: Stage<Deliberation> = check(DELIBERATION);
    let mut envelopes = stage.envelopes();
    let place = envelopes.iter().rposition(|envelope| envelope.prose.is_some()).unwrap();
    let prose = envelopes[place].prose.as_mut().unwrap();
    prose.text = prose.text.replacen("When", "Then", 1);
    let broken = first_break(&envelopes).unwrap_err();
    let stream = envelopes[0].stream;
    assert_eq!(broken, ChainBreak::Prose { stream, seq: Seq(place as u64 + 1) });
}

#[test]
fn k15_removed_repeated_swapped_and_inserted_events_are_found() {
    let stage: Stage<Deliberation> = check(DELIBERATION);
    let whole = stage.envelopes();
    let change = |change: fn(&mut Vec<Envelope>)| {
        let mut changed = whole.clone();
        change(&mut changed);
        first_break(&changed).unwrap_err().seq().0
    };
    assert_eq!(change(|log| drop(log.remove(5))), 6);
    assert_eq!(change(|log| log.insert(5, log[4].clone())), 6);
    assert_eq!(change(|log| log.swap(5, 6)), 6);
    let renumbered = change(|log| {
        log.remove(5);
        for (place, envelope) in log.iter_mut().enumerate() {
            envelope.seq = Seq(place as u64 + 1);
        }
    });
    assert_eq!(renumbered, 6);
    let foreign = change(|log| log[5].stream = StreamId::from(DebateId(Uuid::from_u128(8))));
    assert_eq!(foreign, 6);
}

#[test]
fn a_log_that_cannot_have_happened_is_corrupt() {
    let stage: Stage<Prediction> = check(PREDICTION);
    let log = &stage.log;
    assert_eq!(Debate::<Prediction>::replay([]).unwrap_err(), ReplayError::Empty);
    assert_eq!(Debate::replay(&log[1..]).unwrap_err(), ReplayError::NotOpened("phase_opened"));
    let without = |kind: &str| {
        let place = log.iter().position(|recorded| recorded.event.kind() == kind).unwrap();
        let rest = log.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, recorded)| recorded);
        Debate::replay(rest).unwrap_err().to_string()
    };
    assert_eq!(
        without("call_started"),
        "event 3 (call_answered) cannot have happened here: call argue/1/optimist was never begun"
    );
    assert_eq!(
        without("call_answered"),
        "event 8 (answer_rejected) cannot have happened here: revision 0 has no answer to reject"
    );
    let twice = log.iter().take(1).chain(log.iter());
    assert_eq!(
        Debate::replay(twice).unwrap_err().to_string(),
        "event 2 (opened) cannot have happened here: the debate is open already"
    );
}
