//! Forks of stored debates: driven, recovered, checked (rule K14).

use std::collections::BTreeSet;
use std::sync::Arc;

use debate_core::call::CallKey;
use debate_core::chain::{GENESIS, hash_of};
use debate_core::codec;
use debate_core::debate::{Debate, Lifecycle};
use debate_core::envelope::Envelope;
use debate_core::event::{Event, KernelEvent};
use debate_core::format::Format;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Seq};
use debate_core::stop::Completeness;
use debate_engine::{Engine, Fork, ForkError, LoadError, Redact, Start};
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{Append, EventStore};

use crate::bench_of_one::{PATIENCE, engine, log, memory, model, outcome, paused_clock, start};
use crate::moody_store::MoodyStore;

async fn concluded(engine: &Engine, debate: DebateId) {
    assert!(engine.concluded(debate, PATIENCE).await.unwrap(), "it ends in time");
}

async fn held(engine: &Engine) -> DebateId {
    let mut start = start(None);
    start.config.rounds = 2;
    let debate = engine.start(start).await.unwrap().debate;
    concluded(engine, debate).await;
    debate
}

fn wish(parent: DebateId, at: Option<u64>, change: &str) -> Fork {
    Fork { parent, at: at.map(Seq), change: change.parse().unwrap(), actor: "test".to_owned() }
}

/// Forks a debate and waits for the end of the fork.
async fn fork(engine: &Engine, parent: DebateId, at: Option<u64>, change: &str) -> (DebateId, Seq) {
    let forked = engine.fork(wish(parent, at, change)).await.unwrap();
    let debate = forked.debate.unwrap();
    concluded(engine, debate).await;
    (debate, forked.at)
}

type Asked = BTreeSet<(CallKey, u32)>;

/// Returns the questions that a log asks, and those that it answers.
fn questions(log: &[Envelope]) -> (Asked, Asked) {
    let (mut asked, mut answered) = (Asked::new(), Asked::new());
    for envelope in log {
        match codec::decode::<Prediction>(envelope).unwrap().event {
            Event::Kernel(KernelEvent::CallStarted(start)) => {
                asked.insert((start.call, start.revision));
            }
            Event::Kernel(KernelEvent::CallAnswered(answer)) => {
                answered.insert((answer.attempt.call, answer.attempt.revision));
            }
            Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => {}
        }
    }
    (asked, answered)
}

#[tokio::test(start_paused = true)]
async fn k14_a_stored_debate_is_forked_at_every_event_and_asks_for_nothing_that_it_has() {
    let engine = engine(memory(), model("seed=7,latency=100ms"));
    let parent = held(&engine).await;
    let parent_log = log(&engine, parent).await;
    let whole = outcome(&engine, parent).await;
    let changes = [
        "nothing",
        "without=pessimist",
        "judge_order=reversed",
        "pooling=trimmed",
        "nothing",
        "judge_order=99",
    ];
    for (seq, change) in (1..=parent_log.len() as u64).zip(changes.into_iter().cycle()) {
        let place = format!("{change} at {seq}");
        let (debate, at) = fork(&engine, parent, Some(seq), change).await;
        assert!(at >= Seq(seq), "{place}");
        let found = engine.verify(debate).await.unwrap();
        assert_eq!((found.fault, found.outcomes, found.inherited), (None, 1, at.0), "{place}");
        let own = log(&engine, debate).await;
        let (asked, _) = questions(&own);
        let (_, paid) = questions(&parent_log[..usize::try_from(at.0).unwrap()]);
        assert_eq!(asked.intersection(&paid).collect::<Vec<_>>(), Vec::<&_>::new(), "{place}: asked again");
        let state: Debate<Prediction> = engine.load(debate, None).await.unwrap();
        assert_eq!((state.id(), state.head()), (debate, Seq(own.len() as u64)), "{place}");
        if change == "nothing" {
            let found = outcome(&engine, debate).await;
            assert!(found == whole, "{place}: {found} is not {whole}");
        }
    }
    assert_eq!(engine.forks_of(parent).await.unwrap().len(), parent_log.len());
    assert_eq!(log(&engine, parent).await, parent_log, "the parent is as it was");
}

#[tokio::test(start_paused = true)]
async fn k14_forks_of_forks_are_folded_checked_and_followed() {
    let engine = engine(memory(), model("seed=7"));
    let eldest = held(&engine).await;
    let (middle, _) = fork(&engine, eldest, Some(60), "judge_order=5").await;
    let (youngest, at) = fork(&engine, middle, None, "without=contrarian").await;
    assert_eq!(at.0, log(&engine, middle).await.len() as u64);
    let state: Debate<Prediction> = engine.load(youngest, None).await.unwrap();
    assert_eq!((state.config().seed, state.config().roles.len()), (5, 4));
    let forked = state.forked().unwrap();
    assert_eq!((forked.parent, forked.change.as_str()), (middle, "without=contrarian"));
    let found = engine.verify(youngest).await.unwrap();
    assert_eq!((found.fault, found.inherited), (None, 60 + at.0));
    let history = engine.history(youngest, None).await.unwrap();
    assert_eq!(history.len() as u64, found.inherited + found.events);
    let forks = engine.forks_of(eldest).await.unwrap();
    assert_eq!(forks.iter().map(|fork| fork.debate).collect::<Vec<_>>(), [Some(middle)]);
}

#[tokio::test(start_paused = true)]
async fn k2_a_fork_whose_process_is_gone_is_taken_up_again() {
    let store = memory();
    let first = engine(Arc::clone(&store), model("seed=7,latency=1s"));
    let parent = held(&first).await;
    let forked = first.fork(wish(parent, Some(60), "nothing")).await.unwrap();
    let debate = forked.debate.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    first.shut_down().await;
    let before = log(&first, debate).await;
    let second = engine(Arc::clone(&store), model("seed=7,latency=1s"));
    assert_eq!(second.recover().await.unwrap(), 1);
    concluded(&second, debate).await;
    let mut result = outcome(&second, debate).await;
    // What was under way when the process went away may have been used.
    assert_eq!(result["extra"]["usage_complete"].take(), false);
    let mut whole = outcome(&second, parent).await;
    whole["extra"]["usage_complete"].take();
    assert!(result == whole, "{result} is not {whole}");
    let after = log(&second, debate).await.split_off(before.len());
    let (asked, _) = questions(&after);
    let (_, answered) = questions(&before);
    assert_eq!(asked.intersection(&answered).count(), 0, "asked again");
    assert_eq!(second.verify(debate).await.unwrap().fault, None);
}

/// Copies streams into a new store, one of them with another actor and sealed anew.
async fn rewritten(streams: Vec<Vec<Envelope>>, altered: DebateId) -> Arc<dyn EventStore> {
    let store = memory();
    for mut stream in streams {
        let id = stream[0].stream;
        if id == altered.into() {
            let mut hash = GENESIS;
            for envelope in &mut stream {
                envelope.actor = "somebody else".to_owned();
                envelope.hash = hash_of(&hash, envelope);
                hash = envelope.hash;
            }
        }
        store.append(Append::new(id, Seq::START, stream)).await.unwrap();
    }
    store
}

#[tokio::test(start_paused = true)]
async fn k14_a_parent_that_was_changed_later_is_found() {
    let before = engine(memory(), model("seed=7"));
    let parent = held(&before).await;
    let (child, at) = fork(&before, parent, Some(40), "nothing").await;
    let (grandchild, _) = fork(&before, child, None, "pooling=trimmed").await;
    let mut streams = Vec::new();
    for debate in [parent, child, grandchild] {
        streams.push(log(&before, debate).await);
    }
    let after = engine(rewritten(streams, parent).await, model("seed=7"));
    assert_eq!(after.verify(parent).await.unwrap().fault, None, "by itself it holds together");
    for debate in [child, grandchild] {
        let fault = after.verify(debate).await.unwrap().fault.unwrap();
        let why = format!("event {at} of {parent} is not the one that it was forked from");
        assert_eq!((fault.seq, fault.why), (Seq(1), why));
        let error = after.load::<Prediction>(debate, None).await.unwrap_err();
        assert!(matches!(&error, LoadError::Parent { at: place, .. } if *place == at), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn k15_words_taken_from_a_parent_without_a_record_are_found_in_every_fork_that_shares_them() {
    let engine = engine(memory(), model("seed=7"));
    let parent = held(&engine).await;
    let (child, at) = fork(&engine, parent, Some(40), "nothing").await;
    let (grandchild, _) = fork(&engine, child, None, "pooling=trimmed").await;
    let shared = &log(&engine, parent).await[..usize::try_from(at.0).unwrap()];
    let worded: Vec<Seq> = shared.iter().filter(|it| it.prose.is_some()).map(|it| it.seq).collect();
    // The record of these stands in the parent, behind what is shared.
    for seq in &worded[..2] {
        engine.redact(parent, Redact::Event(*seq), "alice").await.unwrap();
    }
    for debate in [parent, child, grandchild] {
        assert_eq!(engine.verify(debate).await.unwrap().fault, None);
    }
    let taken = worded[2];
    engine.store().redact(parent.into(), taken).await.unwrap();
    let why = "its words were deleted and no redaction is on record";
    let fault = engine.verify(parent).await.unwrap().fault.unwrap();
    assert_eq!((fault.seq, fault.why.as_str()), (taken, why));
    for debate in [child, grandchild] {
        let fault = engine.verify(debate).await.unwrap().fault.unwrap();
        let why = format!("what it was forked from does not hold: event {taken} of {parent}: {why}");
        assert_eq!((fault.seq, fault.why), (Seq(1), why));
    }
}

#[tokio::test(start_paused = true)]
async fn k15_what_is_on_record_in_a_parent_is_on_record_for_no_event_of_its_forks() {
    let store = Arc::new(MoodyStore::default());
    let engine = engine(store.clone(), model("seed=7"));
    let parent = held(&engine).await;
    // It is interrupted: the fork shares the records, and the words, too.
    store.be_silent_once();
    assert!(engine.redact(parent, Redact::All, "alice").await.is_err());
    let recorded: BTreeSet<Seq> = log(&engine, parent).await.iter().filter_map(codec::redacted).collect();
    let (child, _) = fork(&engine, parent, None, "without=optimist").await;
    let found = engine.verify(child).await.unwrap();
    assert_eq!((found.fault, found.unfinished), (None, 0));
    let own = log(&engine, child).await;
    let taken = own.iter().find(|it| it.prose.is_some() && recorded.contains(&it.seq)).unwrap().seq;
    store.redact(child.into(), taken).await.unwrap();
    let fault = engine.verify(child).await.unwrap().fault.unwrap();
    let why = "its words were deleted and no redaction is on record";
    assert_eq!((fault.seq, fault.why.as_str()), (taken, why));
}

#[tokio::test(start_paused = true)]
async fn k14_a_fork_that_cannot_be_is_refused_and_nothing_is_recorded() {
    let engine = engine(memory(), model("seed=7"));
    let parent = held(&engine).await;
    let head = log(&engine, parent).await.len() as u64;
    let beyond = engine.fork(wish(parent, Some(head + 1), "nothing")).await.unwrap_err();
    assert_eq!(
        beyond.to_string(),
        format!("debate {parent} is at {head}; it cannot be forked at {}", head + 1)
    );
    let unknown = engine.fork(wish(parent, None, "model=openai:gpt-5")).await.unwrap_err();
    assert!(matches!(unknown, ForkError::Invalid(_)), "{unknown}");
    let stranger = engine.fork(wish(parent, None, "without=stranger")).await.unwrap_err();
    assert_eq!(stranger.to_string(), "stranger is no role of this debate");
    let gone = engine.fork(wish(DebateId(uuid::Uuid::nil()), None, "nothing")).await.unwrap_err();
    assert!(matches!(gone, ForkError::Load(LoadError::NotFound(_))), "{gone}");
    engine.store().redact(parent.into(), Seq(1)).await.unwrap();
    let redacted = engine.fork(wish(parent, None, "nothing")).await.unwrap_err();
    assert!(matches!(redacted, ForkError::Redacted(_)), "{redacted}");
    assert_eq!(engine.forks_of(parent).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn k14_a_deliberation_goes_on_without_a_participant() {
    let engine = Engine::builder(memory(), model("seed=7"))
        .format(PredictionPrompts)
        .format(DeliberationPrompts)
        .env(paused_clock())
        .build();
    let json = include_str!("../../../../examples/deliberation.json");
    let AcceptedRequest::Deliberation(accepted) = accept::accept(json).unwrap() else {
        panic!("the example is a deliberation")
    };
    let leaving = accepted.config.participants[0].name.clone();
    let Start { author, .. } = start(None);
    let (config, brief, limits, request_digest) =
        (accepted.config, accepted.brief, accepted.limits, accepted.digest);
    let opening = Start::<Deliberation> { config, brief, limits, request_digest, request_id: None, author };
    let parent = engine.start(opening).await.unwrap().debate;
    concluded(&engine, parent).await;
    let before: Debate<Deliberation> = engine.load(parent, None).await.unwrap();
    for at in 1..=before.head().0 {
        for change in ["nothing".to_owned(), format!("without={leaving}")] {
            let (debate, _) = fork(&engine, parent, Some(at), &change).await;
            let state: Debate<Deliberation> = engine.load(debate, None).await.unwrap();
            assert_eq!(state.lifecycle(), Lifecycle::Concluded);
            assert_eq!(Deliberation::completeness(&state), Completeness::Full, "{change} at {at}");
            assert_eq!(engine.verify(debate).await.unwrap().fault, None, "{change} at {at}");
            let said = state.state().contributions(state.config()).map(|made| &made.participant);
            let is_heard = said.into_iter().any(|name| *name == leaving);
            assert_eq!(is_heard, change == "nothing", "{change} at {at}");
        }
    }
}
