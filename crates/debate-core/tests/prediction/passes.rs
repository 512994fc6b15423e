//! The judge's two passes (rule P19): reversed orders, the mean, a confidence lowered by their distance.

use debate_core::event::{Event, FailureKind, KernelEvent};
use debate_core::formats::prediction::answer::{Answer, OutcomeRef};
use debate_core::formats::prediction::call::Call;
use debate_core::formats::prediction::config::Config;
use debate_core::formats::prediction::judged::JudgePasses;
use debate_core::stop::Completeness;

use crate::stage::{self, Line};

fn two_passes() -> Config {
    Config { judge_passes: 2, ..stage::config(2) }
}

fn judged(yes: f64, confidence: f64) -> Line {
    let mut synthesis = stage::synthesis();
    synthesis.probabilities = vec![(OutcomeRef::Known(0), yes), (OutcomeRef::Known(1), 1.0 - yes)];
    synthesis.confidence = confidence;
    Ok(Answer::Synthesise(synthesis))
}

#[test]
fn p19_two_passes_see_reversed_orders_and_their_mean_stands() {
    let (debate, events) = stage::play(two_passes(), |debate, want| match Call::of(&want.call).unwrap() {
        Call::Synthesise { pass: 1, .. } => judged(0.7, 0.9),
        Call::Synthesise { .. } => judged(0.3, 0.7),
        Call::Argue { .. } | Call::Score { .. } => Ok(stage::blameless(debate, want)),
    });
    let seen: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Kernel(KernelEvent::CallStarted(started)) if started.call.kind == "synthesise" => {
                Some(started.sees.clone())
            }
            Event::Kernel(_) | Event::Opened(_) | Event::Fact(_) => None,
        })
        .collect();
    let [one, other] = &seen[..] else { panic!("two passes") };
    assert!(one.len() == 10 && one.iter().eq(other.iter().rev()));
    let result = stage::result(&debate);
    let judge = result.probability_distribution[0].judge_probability.unwrap();
    assert!((judge - 0.5).abs() < 1e-12, "{judge}");
    assert!((result.extra.confidence - 0.8 * (1.0 - 0.4)).abs() < 1e-12, "{}", result.extra.confidence);
    let passes = result.extra.judge_passes.unwrap();
    assert_eq!((passes.held, passes.flipped), (2, true));
    assert!((passes.total_variation - 0.4).abs() < 1e-12);
    assert_eq!(result.extra.completeness, Completeness::Full);
    assert_eq!(debate.spend().calls, 22);
}

#[test]
fn p19_a_pass_that_cannot_be_had_leaves_the_other_and_a_partial_result() {
    let (debate, _) = stage::play(two_passes(), |debate, want| match Call::of(&want.call).unwrap() {
        Call::Synthesise { pass: 2, .. } => Err(FailureKind::Denied),
        Call::Synthesise { .. } => judged(0.7, 0.9),
        Call::Argue { .. } | Call::Score { .. } => Ok(stage::blameless(debate, want)),
    });
    let result = stage::result(&debate);
    let Completeness::Partial { missing, .. } = &result.extra.completeness else { panic!("{result:?}") };
    assert_eq!(missing, &["synthesis/2"]);
    assert_eq!(
        result.extra.judge_passes,
        Some(JudgePasses { held: 1, total_variation: 0.0, flipped: false })
    );
    assert!((result.probability_distribution[0].judge_probability.unwrap() - 0.7).abs() < 1e-12);
}

#[test]
fn p19_one_pass_is_not_compared_with_anything() {
    let (debate, _) = stage::play(stage::config(2), |debate, want| Ok(stage::blameless(debate, want)));
    assert_eq!(stage::result(&debate).extra.judge_passes, None);
}
