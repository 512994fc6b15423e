//! One test for each rule, on a whole debate.

use debate_core::call::CallKey;
use debate_core::debate::Debate;
use debate_core::event::{Event, FailureKind, KernelEvent};
use debate_core::format::Format;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::answer::{Answer, Citation, OutcomeRef};
use debate_core::formats::prediction::call::Call;
use debate_core::formats::prediction::visible::Visible;
use debate_core::measures::consensus::Direction;
use debate_core::prose::Texts;
use debate_core::stop::{Completeness, StopRule};

use crate::stage::{
    Line, Play, argument, blameless, config, open, play, play_one, result, scores, started, words,
};

/// Plays a debate in which one call is answered otherwise; `revision` picks which asking of it.
fn play_with(rounds: u32, call: &str, line: impl Fn(&Play, u32) -> Line) -> (Play, Vec<Event<Prediction>>) {
    play(config(rounds), |debate, want| {
        if want.call.to_string() == call { line(debate, want.revision) } else { Ok(blameless(debate, want)) }
    })
}

fn flags(debate: &Play, round: usize, role: &str) -> Vec<String> {
    let result = result(debate);
    let arguments = &result.debate_log.rounds[round - 1].arguments;
    arguments.iter().find(|argument| argument.role.as_str() == role).unwrap().flags.clone()
}

fn rejected(events: &[Event<Prediction>]) -> Vec<(String, Vec<String>)> {
    let rejected = events.iter().filter_map(|event| match event {
        Event::Kernel(KernelEvent::AnswerRejected(rejected)) => {
            Some((rejected.call.to_string(), rejected.rules.clone()))
        }
        Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
    });
    rejected.collect()
}

#[test]
fn p3_a_debate_without_faults_takes_31_calls() {
    let (debate, events) = play(config(3), |debate, want| Ok(blameless(debate, want)));
    assert_eq!(started(&events).len(), 31);
    let result = result(&debate);
    assert_eq!(result.metadata.sonnet_calls, 31);
    assert_eq!(result.metadata.total_arguments, 15);
    assert_eq!(result.extra.completeness, Completeness::Full);
    assert_eq!(result.extra.stop_reason, "max_rounds");
    assert_eq!(debate.stop_rule(), Some(StopRule::MaxRounds));
}

#[test]
fn p2_the_first_round_opens_and_the_last_closes() {
    let phases = |rounds| {
        let (debate, _) = play(config(rounds), |debate, want| Ok(blameless(debate, want)));
        let rounds = result(&debate).debate_log.rounds;
        rounds.iter().map(|round| round.phase.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(phases(1), ["opening"]);
    assert_eq!(phases(2), ["opening", "closing"]);
    assert_eq!(phases(4), ["opening", "rebuttal", "rebuttal", "closing"]);
}

#[test]
fn p3_in_the_last_round_the_judge_waits_for_the_other_four_and_sees_them() {
    let (_, events) = play(config(2), |debate, want| Ok(blameless(debate, want)));
    let calls = started(&events);
    let place = |call: &str| calls.iter().position(|started| started == call).unwrap();
    for role in ["optimist", "pessimist", "contrarian", "historian"] {
        assert!(place("argue/2/judge") > place(&format!("argue/2/{role}")));
    }
    let sees = events.iter().find_map(|event| match event {
        Event::Kernel(KernelEvent::CallStarted(started)) if started.call.to_string() == "argue/2/judge" => {
            Some(started.sees.iter().filter(|sight| sight.call.round == 2).count())
        }
        _ => None,
    });
    assert_eq!(sees, Some(4));
}

#[test]
fn p4_the_opening_sees_no_argument_not_even_the_judge_with_one_round() {
    for rounds in [1, 3] {
        let (_, events) = play(config(rounds), |debate, want| {
            if let Visible::Argue(view) = Prediction::visible(debate, want)
                && view.round == 1
            {
                assert!(view.points.is_empty() && view.opponents.is_empty(), "{} sees something", view.role);
            }
            Ok(blameless(debate, want))
        });
        let opening = events.iter().filter_map(|event| match event {
            Event::Kernel(KernelEvent::CallStarted(started))
                if &*started.call.kind == "argue" && started.call.round == 1 =>
            {
                Some(started.sees.len())
            }
            _ => None,
        });
        assert_eq!(opening.collect::<Vec<_>>(), [0; 5]);
    }
}

#[test]
fn p4_the_blind_baseline_is_the_mean_of_the_opening() {
    let (debate, _) = play(config(3), |debate, want| Ok(blameless(debate, want)));
    let baseline = result(&debate).extra.blind_baseline.unwrap();
    assert!((baseline.as_slice()[0] - 0.44).abs() < 1e-12);
}

#[test]
fn p5_a_score_that_cannot_be_had_marks_the_result_partial_and_never_counts_as_0() {
    let (debate, _) = play_with(1, "score/1/optimist", |_, _| Err(FailureKind::Refused));
    let result = result(&debate);
    assert_eq!(result.debate_log.rounds[0].arguments[0].scores.composite, None);
    assert_eq!(result.extra.argument_quality.good_share, Some(1.0));
    let Completeness::Partial { missing, .. } = result.extra.completeness else { panic!("it is partial") };
    assert_eq!(missing, ["score/1/optimist"]);
}

#[test]
fn p6_a_poor_argument_is_asked_again_once_with_the_scorers_reason() {
    let (debate, events) = play_with(1, "score/1/optimist", |_, revision| {
        Ok(Answer::Score(scores(if revision == 0 { 0.1 } else { 0.5 })))
    });
    assert_eq!(rejected(&events), [("argue/1/optimist".to_owned(), vec!["P6".to_owned()])]);
    assert_eq!(started(&events).len(), 11 + 2);
    let argument = &result(&debate).debate_log.rounds[0].arguments[0];
    assert_eq!(argument.scores.composite, Some(0.5));
    assert!(argument.flags.is_empty());
}

#[test]
fn p6_the_role_asked_again_is_shown_the_scorers_reason() {
    let reasons = std::cell::RefCell::new(Vec::new());
    play(config(1), |debate, want| {
        if let Visible::Argue(view) = Prediction::visible(debate, want)
            && let Some(reason) = view.rejection.shown()
        {
            reasons.borrow_mut().push(reason.clone());
        }
        let poor = want.call.to_string() == "score/1/optimist" && want.revision == 0;
        Ok(if poor { Answer::Score(scores(0.1)) } else { blameless(debate, want) })
    });
    assert_eq!(reasons.into_inner(), ["It was scored as too weak: no source for the rise"]);
}

#[test]
fn p6_the_better_of_the_two_stands() {
    for (second, stands) in [(0.05, 0.1), (0.15, 0.15)] {
        let (debate, events) = play_with(1, "score/1/optimist", |_, revision| {
            Ok(Answer::Score(scores(if revision == 0 { 0.1 } else { second })))
        });
        assert_eq!(rejected(&events).len(), 1, "asked again at most once");
        let argument = &result(&debate).debate_log.rounds[0].arguments[0];
        assert!((argument.scores.composite.unwrap() - stands).abs() < 1e-12);
        assert_eq!(argument.flags, ["P6"]);
    }
}

#[test]
fn p6_a_low_share_of_good_arguments_is_flagged() {
    let (debate, _) = play(config(1), |debate, want| {
        let dull = &*want.call.kind == "score" && matches!(want.call.role.as_str(), "optimist" | "judge");
        Ok(if dull { Answer::Score(scores(0.3)) } else { blameless(debate, want) })
    });
    let quality = result(&debate).extra.argument_quality;
    assert_eq!(quality.good_share, Some(0.6));
    assert!(quality.flagged);
}

#[test]
fn p7_the_final_probability_is_judge_weighted() {
    let (debate, _) = play(config(3), |debate, want| Ok(blameless(debate, want)));
    let result = result(&debate);
    let yes = &result.probability_distribution[0];
    assert!((yes.consensus_probability - 0.44).abs() < 1e-12);
    assert_eq!(yes.judge_probability, Some(0.35));
    assert!((yes.probability - (0.6 * 0.35 + 0.4 * 0.44)).abs() < 1e-12);
    let sum: f64 = result.probability_distribution.iter().map(|outcome| outcome.probability).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert_eq!(yes.role_assessments.len(), 5);
}

#[test]
fn p7_a_distribution_without_mass_is_refused_and_asked_again() {
    let (debate, events) = play(config(1), |debate, want| {
        let first = debate.call(&want.call).is_none_or(|call| call.failures == 0);
        let Answer::Argue(mut answer) = blameless(debate, want) else { return Ok(blameless(debate, want)) };
        if first && want.call.role.as_str() == "optimist" {
            answer.probabilities = vec![(OutcomeRef::Known(0), -0.5), (OutcomeRef::Known(1), 0.0)];
        }
        Ok(Answer::Argue(answer))
    });
    let failed = events.iter().filter(|event| {
        matches!(event, Event::Kernel(KernelEvent::AttemptFailed(failed))
            if failed.failure == FailureKind::Unusable && !failed.last)
    });
    assert_eq!(failed.count(), 1);
    assert_eq!(result(&debate).extra.completeness, Completeness::Full);
}

#[test]
fn p9_the_summary_names_the_strongest_and_the_direction() {
    let (debate, _) = play(config(2), |debate, want| {
        Ok(match (Call::of(&want.call).unwrap(), blameless(debate, want)) {
            (Call::Score { round: 1, role }, _) if role.as_str() == "historian" => Answer::Score(scores(0.9)),
            (Call::Argue { round: 2, .. }, Answer::Argue(mut answer)) => {
                answer.probabilities = vec![(OutcomeRef::Known(0), 0.4), (OutcomeRef::Known(1), 0.6)];
                Answer::Argue(answer)
            }
            (_, answer) => answer,
        })
    });
    let rounds = result(&debate).debate_log.rounds;
    assert_eq!(rounds[0].round_summary.dominant_argument, "historian");
    assert!(rounds[0].round_summary.emerging_consensus.is_empty());
    assert_eq!(rounds[1].round_summary.dominant_argument, "optimist", "of equals the earlier role");
    let directions = &rounds[1].round_summary.emerging_consensus;
    assert_eq!(directions.len(), 2);
    assert!(directions.iter().all(|emerging| emerging.direction == Direction::Toward));
    assert!(rounds[1].round_summary.key_disagreements.iter().any(|line| line.contains("rebuts")));
}

#[test]
fn p10_a_rebuttal_of_no_role_is_asked_again_then_flagged() {
    let (debate, events) = play_with(2, "argue/2/pessimist", |debate, _| {
        let mut answer = argument(debate, 2, "pessimist");
        answer.rebuts = vec!["pessimist".to_owned(), "outsider".to_owned()];
        Ok(Answer::Argue(answer))
    });
    assert_eq!(rejected(&events), [("argue/2/pessimist".to_owned(), vec!["P10".to_owned()])]);
    assert_eq!(flags(&debate, 2, "pessimist"), ["P10"]);
    assert_eq!(started(&events).len(), 21 + 1, "a check costs one more call, not its score");
}

#[test]
fn p11_a_citation_counts_only_where_the_quoted_words_stand() {
    let (debate, events) = play_with(3, "argue/3/contrarian", |debate, revision| {
        let mut answer = argument(debate, 3, "contrarian");
        if revision == 0 {
            answer.cites[0].quote = "words that no role ever said".to_owned();
        }
        Ok(Answer::Argue(answer))
    });
    assert_eq!(rejected(&events), [("argue/3/contrarian".to_owned(), vec!["P11".to_owned()])]);
    assert!(flags(&debate, 3, "contrarian").is_empty());
    assert_eq!(result(&debate).extra.evolution_share, Some(1.0));
}

#[test]
fn p11_a_closing_argument_that_cites_nothing_twice_is_flagged_and_lowers_the_share() {
    let (debate, _) = play_with(3, "argue/3/contrarian", |debate, _| {
        let mut answer = argument(debate, 3, "contrarian");
        answer.cites.clear();
        Ok(Answer::Argue(answer))
    });
    assert_eq!(flags(&debate, 3, "contrarian"), ["P11"]);
    assert_eq!(result(&debate).extra.evolution_share, Some(0.8));
}

#[test]
fn p12_a_historian_with_fewer_than_two_precedents_is_asked_again_and_then_flagged() {
    let (debate, events) = play_with(1, "argue/1/historian", |debate, _| {
        let mut answer = argument(debate, 1, "historian");
        answer.precedents[1].date = " ".to_owned();
        Ok(Answer::Argue(answer))
    });
    assert_eq!(rejected(&events), [("argue/1/historian".to_owned(), vec!["P12".to_owned()])]);
    assert_eq!(flags(&debate, 1, "historian"), ["P12"]);
    assert_eq!(result(&debate).historical_precedents.len(), 1);
}

#[test]
fn p3_an_unknown_outcome_is_asked_again_and_never_recorded() {
    let (debate, events) = play_with(1, "argue/1/optimist", |debate, _| {
        let mut answer = argument(debate, 1, "optimist");
        answer.supports = OutcomeRef::Unknown("maybe".to_owned());
        Ok(Answer::Argue(answer))
    });
    assert_eq!(rejected(&events)[0].1, ["P3"]);
    assert_eq!(result(&debate).debate_log.rounds[0].arguments[0].outcome_supported.as_str(), "yes");
    assert_eq!(flags(&debate, 1, "optimist"), ["P3"]);
}

#[test]
fn p3_an_argument_is_asked_again_at_most_once_for_whatever_reason() {
    let (_, events) = play(config(1), |debate, want| {
        let poor = want.call.to_string() == "score/1/historian";
        let Answer::Argue(mut answer) = blameless(debate, want) else {
            return Ok(if poor { Answer::Score(scores(0.1)) } else { blameless(debate, want) });
        };
        if want.revision == 0 {
            answer.precedents.clear();
        }
        Ok(Answer::Argue(answer))
    });
    assert_eq!(rejected(&events), [("argue/1/historian".to_owned(), vec!["P12".to_owned()])]);
}

#[test]
fn p13_the_map_joins_the_judges_disagreements_with_those_in_the_numbers() {
    let (debate, _) = play(config(1), |debate, want| Ok(blameless(debate, want)));
    let topics: Vec<String> = result(&debate).disagreement_map.into_iter().map(|one| one.topic).collect();
    assert_eq!(topics, ["the index", "probability of yes", "probability of no"]);
}

#[test]
fn p16_a_role_that_fails_is_missing_and_the_debate_goes_on_with_less_confidence() {
    let (debate, _) = play(config(2), |debate, want| {
        let absent = want.call.to_string() == "argue/1/historian";
        if absent { Err(FailureKind::Timeout) } else { Ok(blameless(debate, want)) }
    });
    let result = result(&debate);
    let Completeness::Partial { missing, .. } = &result.extra.completeness else { panic!("it is partial") };
    assert_eq!(missing, &["historian"]);
    assert!((result.extra.confidence - 0.8 * 8.0 / 10.0).abs() < 1e-12);
    assert_eq!(result.probability_distribution[0].role_assessments.len(), 4);
    assert!(debate.call(&CallKey::new("argue", 2, "historian".into())).is_none(), "it is not asked again");
}

#[test]
fn p16_without_a_synthesis_the_probability_is_the_consensus_alone() {
    let (debate, _) = play_with(1, "synthesise/1/judge", |_, _| Err(FailureKind::Denied));
    let result = result(&debate);
    let yes = &result.probability_distribution[0];
    assert_eq!(yes.judge_probability, None);
    assert_eq!(yes.probability, yes.consensus_probability);
    assert!(matches!(result.extra.completeness, Completeness::Partial { .. }));
}

#[test]
fn p16_fewer_than_two_roles_make_the_debate_void() {
    let (debate, _) = play(config(3), |debate, want| {
        let alone = want.call.role.as_str() == "optimist" || &*want.call.kind != "argue";
        if alone { Ok(blameless(debate, want)) } else { Err(FailureKind::Denied) }
    });
    let result = result(&debate);
    assert!(matches!(result.extra.completeness, Completeness::Void { .. }));
    assert!(result.probability_distribution.is_empty());
    assert_eq!(result.extra.confidence, 0.0);
    assert_eq!(debate.stop_rule(), Some(StopRule::Failed));
}

#[test]
fn p17_a_move_without_a_new_cited_point_counts_as_conformity() {
    let (debate, _) = play(config(2), |debate, want| {
        let Answer::Argue(mut answer) = blameless(debate, want) else { return Ok(blameless(debate, want)) };
        if want.call.round == 2 && want.call.role.as_str() == "optimist" {
            answer.probabilities = vec![(OutcomeRef::Known(0), 0.5), (OutcomeRef::Known(1), 0.5)];
        }
        if want.call.role.as_str() == "optimist" {
            answer.cites.clear();
        }
        Ok(Answer::Argue(answer))
    });
    let extra = result(&debate).extra;
    assert_eq!(extra.conformity_moves, 1);
    let entry = extra.ledger.iter().find(|entry| entry.conformity).unwrap();
    assert_eq!((entry.role.as_str(), entry.round), ("optimist", 2));
    assert!((entry.moves[0] + libm::log(0.8 / 0.2)).abs() < 1e-9);
}

#[test]
fn s15_moves_away_from_the_others_are_no_conformity_and_own_points_are_no_reason() {
    let moved = |to: f64, cited: &str| {
        let (debate, _) = play(config(2), |debate, want| {
            let Answer::Argue(mut answer) = blameless(debate, want) else {
                return Ok(blameless(debate, want));
            };
            if want.call.round == 2 && want.call.role.as_str() == "optimist" {
                answer.probabilities = vec![(OutcomeRef::Known(0), to), (OutcomeRef::Known(1), 1.0 - to)];
                answer.cites = vec![Citation { point: format!("r1.{cited}"), quote: words(1, cited) }];
            }
            Ok(Answer::Argue(answer))
        });
        result(&debate).extra.conformity_moves
    };
    assert_eq!((moved(0.5, "pessimist"), moved(0.5, "optimist")), (0, 1));
    assert_eq!(moved(0.95, "optimist"), 0);
}

#[test]
fn p18_all_pools_stand_side_by_side() {
    let (debate, _) = play(config(1), |debate, want| Ok(blameless(debate, want)));
    let pools = result(&debate).extra.pools.unwrap();
    for pool in [&pools.linear, &pools.log_odds, &pools.extremised, &pools.trimmed] {
        assert!((pool.as_slice().iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
    assert!(pools.log_odds != pools.linear && pools.extremised != pools.log_odds);
}

#[test]
fn p19_the_judges_order_comes_from_the_seed_and_is_recorded() {
    let order = |seed| {
        let mut config = config(2);
        config.seed = seed;
        let (debate, _) = play(config, |debate, want| Ok(blameless(debate, want)));
        result(&debate).extra.judge_order
    };
    assert_eq!(order(1).len(), 10);
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn k4_the_order_in_which_answers_arrive_changes_nothing() {
    let outcome = |backwards: bool| {
        let mut config = config(2);
        config.roles.truncate(5);
        let (mut debate, _) = open(config);
        while debate.conclusion().is_none() {
            let mut work = debate.wanted_work();
            if backwards {
                work.reverse();
            }
            let work = work.into_iter().next().unwrap();
            play_one(&mut debate, work, &|debate, want| Ok(blameless(debate, want)));
        }
        debate.outcome_digest()
    };
    assert_eq!(outcome(false), outcome(true));
}

#[test]
fn k15_the_outcome_digest_does_not_need_the_prose() {
    let (debate, events) = play(config(2), |debate, want| Ok(blameless(debate, want)));
    let bare: Vec<Event<Prediction>> = events
        .iter()
        .map(|event| Event::decode(event.kind(), event.version(), &event.body(), None).unwrap().unwrap())
        .collect();
    let Event::Opened(opened) = &bare[0] else { panic!("it begins with opened") };
    let mut folded = Debate::opened(opened, debate.opened_at());
    let at = debate.conclusion().unwrap().1;
    for event in &bare[1..] {
        folded.apply(at, event).unwrap();
    }
    assert_eq!(folded.outcome_digest(), debate.outcome_digest());
    let shown = Prediction::outcome(&folded, Texts::Shown);
    assert_eq!(shown.debate_log.rounds[0].arguments[0].argument, "[redacted]");
    assert_eq!(shown.probability_distribution, result(&debate).probability_distribution);
}
