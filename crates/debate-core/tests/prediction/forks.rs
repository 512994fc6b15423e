//! Forks of whole debates at every event, with every kind of change (rule K14).

use std::collections::BTreeSet;

use debate_core::call::{CallKey, Want};
use debate_core::command::{Command, DecideError};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::event::{Event, FailureKind, Forked, KernelEvent, Recorded};
use debate_core::fork::{self, Change};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::answer::Answer;
use debate_core::formats::prediction::call::Call;
use debate_core::formats::prediction::config::{Config, Schedule};
use debate_core::formats::prediction::outcome::DebateResult;
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use debate_core::spend::Spend;
use debate_core::stop::Completeness;
use uuid::Uuid;

use crate::stage::{
    Line, Play, blameless, config, open, play, play_one, play_out, result, scores, started, tell,
};

const CHANGES: [&str; 8] = [
    "nothing",
    "model=simulated:other",
    "model.roles.optimist=simulated:other",
    "without=optimist",
    "without=judge",
    "judge_order=12345",
    "judge_order=reversed",
    "pooling=log_odds",
];

type Log = Vec<Recorded<Prediction>>;

fn recorded(events: Vec<Event<Prediction>>) -> Log {
    let numbered = (1..).zip(events);
    numbered.map(|(seq, event)| Recorded { seq: Seq(seq), at: Timestamp(1_000), event }).collect()
}

/// The first pessimist of round 2 argues poorly and is asked again; the first reply of the contrarian cannot be read.
fn eventful(debate: &Play, want: &Want) -> Line {
    let failures = debate.call(&want.call).map_or(0, |call| call.failures);
    match Call::of(&want.call) {
        Some(Call::Score { round: 2, role }) if role.as_str() == "pessimist" && want.revision == 0 => {
            Ok(Answer::Score(scores(0.1)))
        }
        Some(Call::Argue { round: 1, role }) if role.as_str() == "contrarian" && failures == 0 => {
            Err(FailureKind::Unreadable)
        }
        _ => Ok(blameless(debate, want)),
    }
}

/// Forks a log at an event, and plays the fork to its end.
fn forked(log: &Log, at: Seq, change: &str) -> Result<(Play, Vec<Event<Prediction>>, Seq), DecideError> {
    let at = fork::whole(log, at);
    let prefix: Vec<_> = log.iter().filter(|recorded| recorded.seq <= at).collect();
    let parent: Play = Debate::replay(prefix).unwrap();
    let forked = Forked {
        parent: parent.id(),
        at,
        parent_hash: Digest::default(),
        change: change.to_owned(),
        debate: Some(DebateId(Uuid::from_u128(10))),
        format: "prediction".to_owned(),
        limits: None,
        models: None,
    };
    let draft = parent.fork(Timestamp(50_000), forked)?;
    let mut events = draft.events().to_vec();
    let mut debate = draft.into_debate();
    events.extend(play_out(&mut debate, &eventful));
    Ok((debate, events, at))
}

/// Returns a result without what differs between a debate and its fork whatever was said: id, time and spend.
fn comparable(mut result: DebateResult) -> DebateResult {
    result.debate_id = DebateId(Uuid::nil());
    result.completed_at = String::new();
    result.metadata.wall_clock_time_ms = 0;
    result.metadata.sonnet_calls = 0;
    result.metadata.sonnet_tokens_used = Default::default();
    result.extra.usage_complete = true;
    result
}

fn answered(log: &[Recorded<Prediction>], at: Seq) -> BTreeSet<(CallKey, u32)> {
    let before = log.iter().filter(|recorded| recorded.seq <= at);
    let answers = before.filter_map(|recorded| match &recorded.event {
        Event::Kernel(KernelEvent::CallAnswered(answer)) => {
            Some((answer.attempt.call.clone(), answer.attempt.revision))
        }
        Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
    });
    answers.collect()
}

fn asked(events: &[Event<Prediction>]) -> BTreeSet<(CallKey, u32)> {
    let starts = events.iter().filter_map(|event| match event {
        Event::Kernel(KernelEvent::CallStarted(start)) => Some((start.call.clone(), start.revision)),
        Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
    });
    starts.collect()
}

/// Returns the calls that are asked at another revision because of what the fork voided or a rule rejected.
fn revised(log: &[Recorded<Prediction>], events: &[Event<Prediction>]) -> BTreeSet<CallKey> {
    let all = log.iter().map(|recorded| &recorded.event).chain(events);
    let keys = all.filter_map(|event| match event {
        Event::Kernel(KernelEvent::CallVoided(voided)) => Some(voided.call.clone()),
        Event::Kernel(KernelEvent::AnswerRejected(rejected)) => Some(rejected.call.clone()),
        Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
    });
    // The score of an argument follows the argument's revision.
    let with_scores = keys.flat_map(|key| {
        let score = Call::of(&key).map(|call| match call {
            Call::Argue { round, role } => Call::Score { round, role }.key(),
            Call::Score { .. } | Call::Synthesise { .. } => call.key(),
        });
        [Some(key), score]
    });
    with_scores.flatten().collect()
}

fn check_every_fork(name: &str, config: Config) {
    let (parent, events) = play(config, eventful);
    let log = recorded(events);
    let outcome = comparable(result(&parent));
    for change in CHANGES {
        for recorded in &log {
            let place = format!("{name}: {change} at {}", recorded.seq);
            let (debate, events, at) =
                forked(&log, recorded.seq, change).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(debate.lifecycle(), Lifecycle::Concluded, "{place}");
            let paid = answered(&log, at);
            let again: Vec<_> = asked(&events).intersection(&paid).cloned().collect();
            assert_eq!(again, [], "{place}: asked again");
            let revised = revised(&log[..at.0 as usize], &events);
            let unfounded: Vec<_> = asked(&events)
                .into_iter()
                .filter(|(call, _)| paid.iter().any(|(known, _)| known == call) && !revised.contains(call))
                .collect();
            assert_eq!(unfounded, [], "{place}: asked at a new revision for no reason");
            if change == "nothing" {
                assert_eq!(comparable(result(&debate)), outcome, "{place}");
            }
            // The same log folds into the same fork.
            let mut again: Play = Debate::replay(log.iter().take(at.0 as usize)).unwrap();
            events.iter().for_each(|event| again.apply(Timestamp(50_000), event).unwrap());
            assert_eq!(again.head(), Seq(events.len() as u64), "{place}");
            assert_eq!(again.spend(), debate.spend(), "{place}");
            assert_eq!(again.config(), debate.config(), "{place}");
        }
    }
}

#[test]
fn k14_a_fork_at_any_event_with_any_change_ends_and_asks_for_nothing_again_that_is_not_void() {
    check_every_fork("strict", config(2));
}

#[test]
fn k14_so_does_a_fork_of_a_pipelined_debate() {
    check_every_fork("pipelined", Config { schedule: Schedule::Pipelined, ..config(3) });
}

#[test]
fn k14_so_does_a_fork_of_a_debate_that_is_judged_twice() {
    check_every_fork("two passes", Config { judge_passes: 2, ..config(2) });
    check_every_fork("one round", config(1));
}

#[test]
fn k14_what_saw_a_removed_role_runs_anew_and_nothing_else() {
    let (parent, events) = play(config(3), |debate, want| Ok(blameless(debate, want)));
    let log = recorded(events);
    let (debate, events, _) = forked(&log, parent.head(), "without=optimist").unwrap();
    let asked = started(&events);
    // Four roles argue and are scored in rounds 2 and 3, and the judge closes; the blind opening stands.
    assert_eq!(asked.len(), 4 * 2 * 2 + 1, "{asked:?}");
    assert!(asked.iter().all(|call| !call.contains("/1/") && !call.contains("optimist")), "{asked:?}");
    assert_eq!(debate.spend().calls, 17);
    let result = result(&debate);
    assert_eq!(result.extra.completeness, Completeness::Full);
    assert_eq!(result.debate_log.rounds[0].arguments.len(), 4);
    let roles: Vec<_> =
        result.probability_distribution[0].role_assessments.iter().map(|it| &it.role).collect();
    assert_eq!(
        roles.iter().map(|role| role.as_str()).collect::<Vec<_>>(),
        ["pessimist", "contrarian", "historian", "judge"]
    );
    // 0.2, 0.4, 0.3, 0.5: mean 0.35.
    assert!((result.probability_distribution[0].consensus_probability - 0.35).abs() < 1e-12);
}

#[test]
fn k14_another_pooling_asks_no_model() {
    let (parent, events) = play(config(3), |debate, want| Ok(blameless(debate, want)));
    let (debate, events, _) = forked(&recorded(events), parent.head(), "pooling=log_odds").unwrap();
    assert_eq!(started(&events), Vec::<String>::new());
    assert_eq!(debate.spend(), Spend::NONE);
    let pools = result(&parent).extra.pools.unwrap();
    let consensus = result(&debate).probability_distribution[0].consensus_probability;
    assert_eq!(consensus, pools.log_odds.as_slice()[0]);
}

#[test]
fn k14_another_judge_order_is_seen_by_the_judge_and_the_synthesis() {
    let (parent, events) = play(config(3), |debate, want| Ok(blameless(debate, want)));
    let (debate, events, _) = forked(&recorded(events), parent.head(), "judge_order=reversed").unwrap();
    let mut order = result(&parent).extra.judge_order;
    order.reverse();
    assert_eq!(result(&debate).extra.judge_order, order);
    // The judge argues anew from round 2 on, everybody who saw that from round 3 on, and the synthesis.
    assert_eq!(started(&events).len(), 2 + 5 * 2 + 1);
}

#[test]
fn k14_a_question_that_failed_is_put_to_another_model() {
    let fails = |debate: &Play, want: &Want| match Call::of(&want.call) {
        Some(Call::Argue { role, .. }) if role.as_str() == "historian" => Err(FailureKind::Refused),
        _ => Ok(blameless(debate, want)),
    };
    let (parent, events) = play(config(2), fails);
    let log = recorded(events);
    assert!(matches!(result(&parent).extra.completeness, Completeness::Partial { .. }));
    let (debate, events, _) = forked(&log, parent.head(), "nothing").unwrap();
    assert_eq!((started(&events).len(), comparable(result(&debate))), (0, comparable(result(&parent))));
    let (debate, events, _) = forked(&log, parent.head(), "model=simulated:other").unwrap();
    assert_eq!(result(&debate).extra.completeness, Completeness::Full);
    assert!(started(&events).contains(&"argue/1/historian".to_owned()));
}

#[test]
fn k14_a_debate_that_was_cancelled_goes_on_in_a_fork() {
    let (mut parent, mut events) = open(config(2));
    let work = parent.wanted_work().remove(0);
    events.extend(play_one(&mut parent, work, &eventful));
    events.extend(tell(&mut parent, Timestamp(1_000), Command::Cancel { reason: "enough".to_owned() }));
    assert_eq!(parent.lifecycle(), Lifecycle::Concluded);
    let (fork, events, _) = forked(&recorded(events), parent.head(), "nothing").unwrap();
    let (whole, all) = play(config(2), eventful);
    assert_eq!(comparable(result(&fork)), comparable(result(&whole)));
    assert_eq!(started(&events).len() + 1, started(&all).len(), "what the cancelled one had asked stands");
}

#[test]
fn k14_a_change_that_makes_no_sense_is_refused() {
    let (parent, events) = play(
        Config { roles: vec!["optimist".into(), "pessimist".into(), "judge".into()], ..config(1) },
        eventful,
    );
    let log = recorded(events);
    for (change, why) in [
        ("without=optimist", "without optimist fewer than 2 roles would argue"),
        ("without=historian", "historian is no role of this debate"),
        ("model.sing=simulated:1", "there is no model for \"sing\" in this debate"),
        ("rounds=4", "\"rounds=4\" is no change"),
    ] {
        let error = forked(&log, parent.head(), change).unwrap_err();
        let DecideError::NotForkable(found) = error else { panic!("{change}: {error}") };
        assert!(found.starts_with(why), "{found}");
    }
}

#[test]
fn k14_a_fork_of_a_fork_counts_from_its_own_beginning_and_forks_lie_only_so_deep() {
    let (mut debate, _) = play(config(1), eventful);
    for depth in 1..=fork::DEPTH_MAX + 1 {
        let opened = Forked {
            parent: debate.id(),
            at: debate.head(),
            parent_hash: Digest::default(),
            change: Change::Nothing.to_string(),
            debate: Some(DebateId(Uuid::from_u128(100 + depth as u128))),
            format: "prediction".to_owned(),
            limits: None,
            models: None,
        };
        let draft = debate.fork(Timestamp(2_000), opened);
        if depth > fork::DEPTH_MAX {
            assert!(matches!(draft, Err(DecideError::NotForkable(_))));
            return;
        }
        let draft = draft.unwrap();
        assert_eq!(draft.debate().head(), Seq(draft.events().len() as u64));
        debate = draft.into_debate();
        assert_eq!(debate.lifecycle(), Lifecycle::Concluded);
    }
}
