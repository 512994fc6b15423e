//! Benchmarks of roundtables (rule T11): what a log measures, how variants compare, which scenarios are refused.

use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::bench::{self, Metrics, Recommendation, Terms, TriggerRule};
use debate_core::id::Role;

use crate::scenario::{Stage, check};

/// Two rounds of two agents: 3 s and 1 s, three references, one question taken up.
fn stage() -> Stage<Roundtable> {
    check::<Roundtable>(
        "given    started agents=ada,bo rounds=2 mode=adversarial
         when     begin respond/1/ada
         when     clock 1000
         when     finish respond/1/ada: Move now. | What would it cost? | 0.5
         when     begin respond/1/bo
         when     clock 2000
         when     finish respond/1/bo: Stay here. | As ada argued, it costs. | 0.9
         when     answer respond/2/ada: Move later. | I disagree with bo. | 0.7
         when     begin respond/2/bo
         when     clock 1000
         when     finish respond/2/bo: Stay. | The cost that ada named is what it would be. | 0.9
         concluded max_rounds full",
    )
}

fn measured() -> Metrics {
    let stage = stage();
    Metrics::of(&stage.debate, &stage.log)
}

#[test]
fn t11_a_log_measures_time_interaction_content_and_consensus() {
    let found = measured();
    assert_eq!(found.latency.total_ms, 4_000.0);
    assert_eq!(found.latency.per_round_ms, [3_000.0, 1_000.0]);
    let ms = |agent: &str| found.latency.per_agent_ms[&Role::from(agent)];
    assert_eq!((ms("ada"), ms("bo")), (10.0, 10.0), "each answer of the stage took 5 ms");
    let interaction = &found.interaction;
    assert_eq!((interaction.cross_reference_count, interaction.rebuttal_depth), (3.0, 2.0));
    assert_eq!(found.interaction_index(), 5.0 + interaction.question_response_pairs);
    assert!((found.content.avg_confidence - 0.75).abs() < 1e-12);
    assert!((found.content.confidence_variance - 0.0275).abs() < 1e-12);
    assert!(found.content.tool_calls_per_agent.values().all(|calls| *calls == 0.0));
    assert_eq!((found.responses, found.completeness), (4.0, 1.0));
    assert_eq!((found.consensus.convergence_round, found.consensus.groupthink_share), (None, 0.0));
    // 0.4 × 3/4 + 0.2 × 0 + 0.2 × 1 + 0.2 × 1
    assert!((found.quality_score() - 0.7).abs() < 1e-12, "{}", found.quality_score());
}

#[test]
fn t11_several_roundtables_are_measured_by_their_means() {
    let (one, mut other) = (measured(), measured());
    other.latency.total_ms = 2_000.0;
    other.latency.per_round_ms = vec![2_000.0];
    other.consensus.convergence_round = Some(1.0);
    other.consensus.groupthink_share = 1.0;
    let mean = Metrics::mean(&[one, other]).unwrap();
    assert_eq!((mean.latency.total_ms, mean.latency.per_round_ms), (3_000.0, vec![2_500.0, 1_000.0]));
    assert_eq!((mean.consensus.convergence_round, mean.consensus.groupthink_share), (Some(1.0), 0.5));
    assert_eq!(mean.latency.per_agent_ms[&Role::from("ada")], 10.0);
    assert_eq!(Metrics::mean(&[]), None);
}

/// What a variant is like: its time, its interaction (the baseline's is 10 of 10 responses), its completeness.
type Like = (f64, f64, f64);

/// A variant, whether it is to be faster, what people reported; what is recommended, what fires.
type Row<'a> = (Like, bool, &'a [String], Recommendation, &'a [TriggerRule]);

fn like((total_ms, references, completeness): Like) -> Metrics {
    let mut metrics = measured();
    metrics.latency.total_ms = total_ms;
    metrics.interaction.cross_reference_count = references;
    (metrics.interaction.rebuttal_depth, metrics.interaction.question_response_pairs) = (0.0, 0.0);
    (metrics.responses, metrics.completeness) = (10.0, completeness);
    metrics
}

#[test]
fn t11_variants_are_adopted_rejected_or_rolled_back_by_the_specified_numbers() {
    use Recommendation::{Adopt, Conditional, Reject};
    use TriggerRule::{Interaction, Latency, ReportedIssues};
    let issues = ["it repeats itself".to_owned()];
    let rows: [Row<'_>; 10] = [
        ((700.0, 10.0, 1.0), true, &[], Adopt, &[]),
        ((701.0, 10.0, 1.0), true, &[], Conditional, &[Latency]),
        ((1_000.0, 10.0, 1.0), true, &[], Reject, &[Latency]),
        ((1_000.0, 10.0, 1.0), false, &[], Adopt, &[]),
        ((1_500.0, 10.0, 1.0), false, &[], Adopt, &[]),
        ((500.0, 8.0, 1.0), true, &[], Conditional, &[]),
        ((500.0, 7.9, 1.0), true, &[], Reject, &[Interaction]),
        ((900.0, 5.0, 1.0), true, &[], Reject, &[Latency, Interaction]),
        ((500.0, 10.0, 0.9), true, &[], Conditional, &[]),
        ((500.0, 10.0, 1.0), true, &issues, Reject, &[ReportedIssues]),
    ];
    let baseline = like((1_000.0, 10.0, 1.0));
    for (variant, is_to_be_faster, issues, recommendation, fired) in rows {
        let found = bench::compare(
            &baseline,
            &like(variant),
            &Terms { is_to_be_faster, reported_issues: issues, ..Terms::default() },
        );
        let rules: Vec<TriggerRule> = found.triggers.iter().map(|trigger| trigger.rule).collect();
        assert_eq!(
            (found.recommendation, rules.as_slice()),
            (recommendation, fired),
            "{variant:?}: {found:?}"
        );
        assert_eq!(found.conditions.is_empty(), recommendation == Adopt, "{variant:?}: {found:?}");
    }
    let silent = like((0.0, 0.0, 1.0));
    let found = bench::compare(&silent, &baseline, &Terms::default());
    assert_eq!((found.delta.latency_reduction, found.delta.interaction_change), (-100.0, 100.0));
    assert_eq!(bench::compare(&silent, &silent, &Terms::default()).delta.interaction_change, 0.0);
}

#[test]
fn s18_what_chance_may_have_done_is_a_condition() {
    use Recommendation::{Adopt, Conditional};
    let (baseline, variant) = (like((1_000.0, 10.0, 1.0)), like((600.0, 10.0, 1.0)));
    let compared = |reductions: &[f64]| {
        bench::compare(&baseline, &variant, &Terms { is_to_be_faster: true, reductions, ..Terms::default() })
    };
    let sure = compared(&[39.0, 40.0, 41.0, 40.0]);
    assert_eq!((sure.recommendation, sure.conditions.len()), (Adopt, 0));
    let doubtful = compared(&[80.0, 0.0, 75.0, 5.0]);
    let found = doubtful.latency_reduction_95.unwrap();
    assert!((found.mean - 40.0).abs() < 1e-9 && found.low < 30.0 && found.high > 50.0, "{found:?}");
    assert_eq!(doubtful.recommendation, Conditional);
    assert!(doubtful.conditions[0].ends_with("(95 % interval of 4 runs); hold more"), "{doubtful:?}");
    assert_eq!(compared(&[40.0]).latency_reduction_95, None, "one run says nothing of chance");
    let runs = [like((1_000.0, 10.0, 1.0)), like((500.0, 10.0, 1.0))];
    assert_eq!(bench::reductions(&runs, &[like((500.0, 10.0, 1.0)), like((500.0, 10.0, 1.0))]), [50.0, 0.0]);
}

#[test]
fn t11_scenarios_are_read_and_every_fault_is_named() {
    let refused = |json: &str| bench::read(json).unwrap_err().to_string();
    let faults = refused(
        r#"{"scenarios": [
            {"name": "a", "topic": "T", "agents": ["x", "y"], "rounds": 0, "colour": 1},
            {"topic": "T", "agents": ["x"], "reported_issues": "no"},
            7
        ]}"#,
    );
    for named in [
        "scenarios[0].rounds",
        "scenarios[0].colour",
        "scenarios[1].name",
        "scenarios[1].agents",
        "scenarios[1].reported_issues",
        "scenarios[2]",
    ] {
        assert!(faults.contains(&format!("\n  {named}: ")), "{named} is not in {faults}");
    }
    assert!(refused("[]").contains("request: "), "{}", refused("[]"));
    let empty = refused(r#"{"scenarios": []}"#);
    assert!(empty.contains("scenarios: must have at least one scenario"), "{empty}");
    let scenario = |name: &str, baseline: &str| {
        format!(r#"{{"name": "{name}", "baseline": {baseline}, "topic": "T", "agents": ["x", "y"]}}"#)
    };
    let of = |scenarios: &[String]| {
        bench::read(&format!(r#"{{"scenarios": [{}]}}"#, scenarios.join(","))).unwrap()
    };
    let good = of(&[scenario("a", "null"), scenario("b", "\"a\"")]);
    assert_eq!(bench::check(&good), Ok(()));
    assert_eq!(good[1].baseline.as_deref(), Some("a"));
    let bad =
        of(&[scenario("a", "null"), scenario("a", "\"z\""), scenario("b", "\"c\""), scenario("c", "\"a\"")]);
    let fields: Vec<String> =
        bench::check(&bad).unwrap_err().0.into_iter().map(|fault| fault.field).collect();
    assert_eq!(fields, ["a", "a", "b"]);
    let other =
        of(&[scenario("a", "null"), scenario("b", "\"a\"").replace("\"T\"", "\"U\"").replace('y', "z")]);
    let refused = bench::check(&other).unwrap_err().to_string();
    assert!(refused.contains(r#"b: differs from its baseline "a" in topic, agents"#), "{refused}");
}

#[test]
fn t8_a_variant_is_to_be_faster_where_more_runs_side_by_side_or_sequential_modes_are_shortened() {
    let terms = |baseline: &str, variant: &str, is_simulated: bool| {
        let common = r#""topic": "T", "agents": ["x", "y"], "mode": "devils-advocate""#;
        let file = format!(
            r#"{{"scenarios": [{{"name": "a", {common}, {baseline}}}, {{"name": "b", "baseline": "a", {common}, {variant}}}]}}"#
        );
        let scenarios = bench::read(&file).unwrap();
        let terms = scenarios[1].terms(&scenarios[0], is_simulated);
        (terms.is_to_be_faster, terms.unseen.is_some())
    };
    let (none, fewer) = (r#""rounds": 3"#, r#""sequential": {"max_tokens": 512}"#);
    let last = r#""flags": {"sequential_parallelization": {"enabled": true}}"#;
    for is_simulated in [true, false] {
        assert_eq!(terms(none, last, is_simulated), (true, false));
        assert_eq!(
            terms(last, none, is_simulated),
            (false, false),
            "less side by side is to be better, not faster"
        );
        assert_eq!(terms(none, none, is_simulated), (false, false));
    }
    assert_eq!(terms(none, fewer, false), (true, false));
    assert_eq!(terms(none, fewer, true), (false, true), "drawn latencies know no tokens");
}
