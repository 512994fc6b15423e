use debate_core::formats::investigation::answer::{
    Act, Challenge, ChallengeKind, Conclusion, Convergence, Expected, HypothesisText, Report, Response,
    Stance, Status, StatusUpdate, Verdict,
};
use debate_core::formats::investigation::evidence::{Evidence, EvidenceKind};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// One line of any words, labels, bullets, bars and marks among them.
fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-zA-Z0-9]{1,8}",
        "[一-龥]{1,5}",
        select(vec!["Status:", "-", "**", "|", "\\", "\"", "C1.1", "[CHALLENGE]", "假设：", "→", "`x`", "#"])
            .prop_map(str::to_owned),
    ];
    proptest::collection::vec(word, 1..6).prop_map(|words| words.join(" "))
}

fn plain() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9 ,.]{0,20}[a-z]".prop_map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn confidence() -> impl Strategy<Value = Option<f64>> {
    option::of((0_u32..=20).prop_map(|halves| f64::from(halves) / 2.0))
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let kind = option::of(select(EvidenceKind::ALL.to_vec()));
    // The parser recognizes a kind by its bracket, so a pointer without a kind does not begin with a bracket.
    (kind, "[a-z/]{1,9}(\\.rs)?:[0-9]{1,3}", prop_oneof![Just(String::new()), line()], line())
        .prop_map(|(kind, pointer, quote, claim)| Evidence { kind, pointer, quote, claim })
}

fn report_of() -> impl Strategy<Value = Report> {
    let evidence = || proptest::collection::vec(evidence(), 0..3);
    let response = ((1_u32..4, 1_u32..9), select(Stance::ALL.to_vec()), line());
    let response = response.prop_map(|((round, number), stance, text)| Response {
        challenge: format!("C{round}.{number}"),
        stance,
        text,
    });
    (
        option::of(1_u32..9),
        select(Status::ALL.to_vec()),
        confidence(),
        confidence(),
        line(),
        evidence(),
        evidence(),
        proptest::collection::vec(response, 0..3),
    )
        .prop_map(
            |(hypothesis, status, confidence, confidence_before, key_finding, pro, con, responses)| Report {
                hypothesis,
                status,
                confidence,
                confidence_before,
                key_finding,
                evidence_for: pro,
                evidence_against: con,
                responses,
            },
        )
}

proptest! {
    #[test]
    fn i8_a_report_is_read_as_it_was_written(said in report_of()) {
        let written = report(&said);
        prop_assert_eq!(read(&written, Act::Investigate), vec![Block::Report(said)], "{}", written);
    }

    #[test]
    fn i8_a_challenge_is_read_as_it_was_written(
        to in "[a-z_]{1,9}", hypothesis in option::of(1_u32..9), kind in select(ChallengeKind::ALL.to_vec()),
        reason in line(), counter_evidence in proptest::collection::vec(evidence(), 0..3),
        expects in select(Expected::ALL.to_vec()), hidden in any::<bool>(),
    ) {
        let said = Challenge { to, hypothesis, kind, challenge: reason, counter_evidence, expects, hidden };
        let written = challenge(&said);
        prop_assert_eq!(read(&written, Act::Challenge), vec![Block::Challenge(said)], "{}", written);
    }

    #[test]
    fn i8_a_status_is_read_as_it_was_written(
        round in option::of(1_u32..4), active in proptest::collection::btree_set(1_u32..9, 0..4),
        leading in option::of(1_u32..9), convergence in select(Convergence::ALL.to_vec()),
        answered in proptest::collection::vec("C[1-3]\\.[1-9]", 0..3),
        open in proptest::collection::vec("C[1-3]\\.[1-9]", 0..3), summary in line(),
    ) {
        let active = active.into_iter().collect();
        let said = StatusUpdate { round, active, leading, convergence, answered, open, summary };
        let written = status(&said);
        prop_assert_eq!(read(&written, Act::Assess), vec![Block::Status(said)], "{}", written);
    }

    #[test]
    fn i8_a_verdict_a_conclusion_and_hypotheses_are_read_as_they_were_written(
        hypothesis in option::of(1_u32..9), confidence in confidence(), reasoning in line(),
        evidence_for in proptest::collection::vec("H[1-9]\\.E[1-9]", 0..3), needs in any::<bool>(),
        missing in proptest::collection::vec(plain(), 0..3), text in line(),
    ) {
        let said = Verdict {
            hypothesis, confidence, reasoning, evidence_for: evidence_for.clone(), evidence_against: evidence_for,
            needs_more_information: needs, missing: missing.clone(),
        };
        prop_assert_eq!(read(&verdict(&said), Act::Judge), vec![Block::Verdict(said)]);
        let said = Conclusion { text: text.clone(), next_steps: missing.clone() };
        prop_assert_eq!(read(&conclusion(&said), Act::Convey), vec![Block::Conclusion(said)]);
        let said: Vec<HypothesisText> =
            missing.into_iter().map(|statement| HypothesisText { statement, prediction: text.clone() }).collect();
        prop_assert_eq!(read(&hypotheses(&said), Act::Propose), vec![Block::Hypotheses(said)]);
    }

    #[test]
    fn i8_any_text_is_read_without_a_panic(text in "(\\[CHALLENGE\\]\n|Status: |- |\\||\\\\|\"|【|：|→|[a-z]|假|\n){0,60}") {
        let _blocks = Act::ALL.map(|asked| read(&text, asked));
    }
}

/// The report of the protocol's own rules, in its own form.
const PLAIN: &str = "\
[EVIDENCE REPORT]
Hypothesis: H2
Status: WEAKENED
Confidence: 4/10
Confidence Before: 7/10
Key Finding: three listeners are never removed
Supporting Evidence:
- [file_line] src/bus.ts:42 | \"bus.on('x', f)\" | no listener is removed
Counter Evidence:
- [command_output] node --prof | \"heap 41 MB\" | memory is stable
Responses:
- C1.2 | answer | the profiler ran for an hour";

const BENT: [&str; 8] = [
    // Small letters, bullets, emphasis, a heading.
    "Here is my report.\n\n## [Evidence Report]\n- **Hypothesis:** Hypothesis 2\n- **Status:** weakened\n\
     - **Confidence:** 4\n- **Confidence before:** 70%\n- **Key finding:** three listeners\n  are never removed\n\
     * Supporting evidence:\n  1. [File_Line] src/bus.ts:42 | \"bus.on('x', f)\" | no listener is removed\n\
     * Counter evidence:\n  1) [Command Output] node --prof | “heap 41 MB” | memory is stable\n\
     * Responses:\n  - c1.2 | Answer | the profiler ran for an hour",
    // A code fence.
    "```text\n[EVIDENCE REPORT]\nHypothesis: 2\nStatus: WEAKENED\nConfidence: 7/10 -> 4/10\n\
     Key Finding: three listeners are never removed\nEvidence For:\n\
     - [file_line] src/bus.ts:42 | \"bus.on('x', f)\" | no listener is removed\nEvidence Against:\n\
     - [command_output] node --prof | \"heap 41 MB\" | memory is stable\nResponse:\n\
     - C1.2: the profiler ran for an hour\n```",
    // Chinese labels and full-width marks.
    "【调查报告】\n假设：假设2\n状态：削弱 (WEAKENED)\n置信度下调：7/10 → 4/10\n关键发现：three listeners are never removed\n\
     支持证据：\n- 【文件】src/bus.ts:42｜“bus.on('x', f)”｜no listener is removed\n反证：\n\
     - 【命令输出】node --prof｜“heap 41 MB”｜memory is stable\n回应：\n- C1.2｜answer｜the profiler ran for an hour",
    // English header, Chinese labels, half-width colons, blank lines.
    "[EVIDENCE REPORT]\n\n假设: H2\n\n状态: WEAKENED\n\n置信度: 4/10\n原置信度: 7/10\n\n\
     关键发现: three listeners are never removed\n\n证据:\n\
     - [file_line] src/bus.ts:42 | \"bus.on('x', f)\" | no listener is removed\n\n不利证据:\n\
     - [command_output] node --prof | \"heap 41 MB\" | memory is stable\n\n对挑战的回应:\n\
     - C1.2 | answer | the profiler ran for an hour\n",
    // No brackets, as a heading; lists on the label's own line.
    "**EVIDENCE REPORT**\nHYPOTHESIS: h2\nSTATUS: Weakened\nCONFIDENCE: 4 / 10\nPREVIOUS CONFIDENCE: 7 / 10\n\
     KEY FINDING: three listeners are never removed\n\
     SUPPORTING EVIDENCE: [file_line] src/bus.ts:42 | \"bus.on('x', f)\" | no listener is removed\n\
     COUNTER EVIDENCE: [command_output] node --prof | \"heap 41 MB\" | memory is stable\n\
     RESPONSES: C1.2 | answer | the profiler ran for an hour",
    // Labels in another order, quoted.
    "> [evidence report]\n> Key_Finding: three listeners are never removed\n> Confidence_Before: 7/10\n\
     > Confidence: 4/10\n> Status: weakened\n> Hypothesis: H2 – listeners leak\n> Counter Evidence:\n\
     > - [command_output] node --prof | \"heap 41 MB\" | memory is stable\n> Evidence:\n\
     > - [file_line] src/bus.ts:42 | \"bus.on('x', f)\" | no listener is removed\n> Responses:\n\
     > - C1.2 | answer | the profiler ran for an hour",
    // Words behind the confidence, labels as headings, and headings that close the report.
    "# Evidence Report\n**Hypothesis:** H2\n**Status:** not refuted, but weakened\n\
     **Confidence:** 4/10, due to 9 of 12 runs to date\n**Confidence Before:** 7/10 (8 of 9 runs)\n\
     ### Key Finding\nthree listeners are never removed\n### Supporting Evidence\n\
     - [file_line] src/bus.ts:42 | \"bus.on('x', f)\" | no listener is removed\n**Counter Evidence**\n\
     - [command_output] node --prof | \"heap 41 MB\" | memory is stable\n### Responses\n\
     - C1.2 | answer | the profiler ran for an hour\n\n## Conclusion\nThe leak is real.\n\n**Challenges**\n- none",
    // The same in Chinese.
    "## 调查报告\n## 假设\n假设2\n状态：未被推翻，已削弱\n置信度：从 7/10 下调到 4/10，因为 12 次运行中有 9 次到期\n\
     关键发现：three listeners are never removed\n## 支持证据\n\
     - 【文件】src/bus.ts:42｜“bus.on('x', f)”｜no listener is removed\n## 反证\n\
     - 【命令输出】node --prof｜“heap 41 MB”｜memory is stable\n## 回应\n\
     - C1.2｜answer｜the profiler ran for an hour\n## 结论\n确有泄漏。",
];

#[test]
fn i8_reports_that_are_bent_a_little_are_read_as_meant() {
    let plain = read(PLAIN, Act::Investigate);
    let [Block::Report(meant)] = &plain[..] else { panic!("{plain:?}") };
    assert_eq!((meant.hypothesis, meant.status, meant.confidence), (Some(2), Status::Weakened, Some(4.0)));
    assert_eq!(report(meant), PLAIN);
    for bent in BENT {
        assert_eq!(read(bent, Act::Investigate), plain, "{bent}");
    }
}

#[test]
fn i8_a_second_number_is_a_move_only_where_an_arrow_or_a_word_leads_to_it() {
    for (said, before, now) in [
        ("6/10, due to 9 of 12 runs", None, Some(6.0)),
        ("6/10，因为跑到 9 次才出现", None, Some(6.0)),
        ("6/10 → 9/10", Some(6.0), Some(9.0)),
        ("**6/10** -> **9/10**", Some(6.0), Some(9.0)),
        ("raised from 6/10 to 9/10 after 3 runs", Some(6.0), Some(9.0)),
        ("从 6 到 9", Some(6.0), Some(9.0)),
        ("由 60% 上调至 90%", Some(6.0), Some(9.0)),
        ("8/10 (4 of 5 checks passed)", None, Some(8.0)),
        ("8/10 to be checked in 2 runs", None, Some(8.0)),
        ("high", None, None),
    ] {
        let text = format!("[EVIDENCE REPORT]\nConfidence: {said}");
        let [Block::Report(report)] = &read(&text, Act::Investigate)[..] else { panic!("{text}") };
        assert_eq!((report.confidence_before, report.confidence), (before, now), "{said}");
    }
}

#[test]
fn i8_a_status_that_is_denied_is_not_read_as_meant() {
    for (said, status) in [
        ("NOT SUPPORTED", Status::Investigating),
        ("unsupported", Status::Investigating),
        ("isn't refuted", Status::Investigating),
        ("not yet clearly refuted", Status::Investigating),
        ("not refuted; weakened", Status::Weakened),
        ("SUPPORTED (not refuted)", Status::Supported),
        ("not only supported by the trace", Status::Supported),
        ("不支持", Status::Investigating),
        ("没有被推翻，仍受支持", Status::Supported),
        ("未被否定", Status::Investigating),
        ("已推翻", Status::Refuted),
    ] {
        let text = format!("[EVIDENCE REPORT]\nStatus: {said}");
        let [Block::Report(report)] = &read(&text, Act::Investigate)[..] else { panic!("{text}") };
        assert_eq!(report.status, status, "{said}");
    }
    for (said, convergence) in [
        ("no strong lead, weak", Convergence::Weak),
        ("不强", Convergence::None),
        ("strong", Convergence::Strong),
    ] {
        let text = format!("[STATUS UPDATE]\nConvergence: {said}");
        let [Block::Status(status)] = &read(&text, Act::Assess)[..] else { panic!("{text}") };
        assert_eq!(status.convergence, convergence, "{said}");
    }
}

#[test]
fn i9_an_ordinary_heading_without_brackets_is_no_act_unless_it_is_asked_for() {
    let acts = |text: &str, asked| read(text, asked).iter().map(Block::act).collect::<Vec<_>>();
    for heading in ["## Conclusion", "**Challenges**", "# Hypotheses:", "## 结论", "**判定**"] {
        let text = format!("[EVIDENCE REPORT]\nHypothesis: H2\n{heading}\nall of it");
        assert_eq!(acts(&text, Act::Investigate), [Act::Investigate], "{heading}");
    }
    for (heading, act) in
        [("## Conclusion", Act::Convey), ("**挑战**", Act::Challenge), ("# 假设", Act::Propose)]
    {
        assert_eq!(acts(heading, act), [act], "{heading}");
    }
    // In brackets, and by a name that heads nothing else, it is one.
    for heading in ["[CONCLUSION]", "## [Challenge]", "**VERDICT**", "## Status Update", "## 最终判定"] {
        let text = format!("[EVIDENCE REPORT]\nHypothesis: H2\n{heading}\nall of it");
        assert_eq!(acts(&text, Act::Investigate).len(), 2, "{heading}");
    }
}

#[test]
fn i8_verdicts_that_are_bent_a_little_are_read_as_meant() {
    let meant = Verdict {
        hypothesis: Some(2),
        confidence: Some(8.0),
        reasoning: "it has the most evidence".to_owned(),
        evidence_for: vec!["H2.E1".to_owned(), "H2.E3".to_owned()],
        evidence_against: vec!["H1.E2".to_owned()],
        needs_more_information: true,
        missing: vec!["a trace".to_owned(), "the old build".to_owned()],
    };
    let bent = [
        "My ruling:\n\n## Final verdict\n- **Hypothesis:** Hypothesis 2 (the leak)\n- **Confidence:** 80%\n\
         * Evidence for:\n  - h2.e1, the heap\n  - `H2.E3`\nEvidence against: [H1.E2]\n\
         **Needs more info:** Yes, two things\nMissing:\n1. a trace\n2) the old build\nReasoning: it has\nthe most evidence",
        "```\n【最终判定】\n假设：假设2\n置信度：8分\n支持证据：H2.E1、H2.E3\n反证：H1.E2\n需要更多信息：需要\n\
         缺少的信息：\n- a trace\n- the old build\n理由说明：it has the most evidence\n```",
        // Missing information is needed, even if the verdict does not say so.
        "> [verdict]\n> Summary: it has the most evidence\n> Missing_Information:\n> • a trace\n> • the old build\n\
         > Supporting_Evidence: H2.E1 H2.E3\n> Counter-Evidence: H1.E2\n> CONFIDENCE: 8 / 10\n> HYPOTHESIS: #2",
    ];
    for bent in bent {
        assert_eq!(read(bent, Act::Judge), [Block::Verdict(meant.clone())], "{bent}");
    }
    let bare = read("**VERDICT**\nHypothesis: none of them\nNeeds More Information: no", Act::Judge);
    assert_eq!(bare, [Block::Verdict(Verdict::default())]);
}

#[test]
fn i8_challenges_and_statuses_that_are_bent_a_little_are_read_as_meant() {
    let bent = "### 【挑战】\n致：ann\n假设：H1\n挑战类型：反证\n挑战：**只**展示了相关性\n反证：\n- 【测试】login_test | | 仍然失败\n\
                期望的回应：新证据\n隐藏证据：是\n\n[Challenge]\nTo: bo\nReason: a correlation\nis no cause";
    let blocks = read(bent, Act::Challenge);
    let [Block::Challenge(first), Block::Challenge(second)] = &blocks[..] else { panic!("{blocks:?}") };
    assert_eq!((&*first.to, first.hypothesis, first.kind), ("ann", Some(1), ChallengeKind::CounterEvidence));
    assert_eq!((first.expects, first.hidden), (Expected::NewEvidence, true));
    assert_eq!(first.counter_evidence[0].concrete(), Some(EvidenceKind::Test));
    assert_eq!((&*second.challenge, second.kind), ("a correlation is no cause", ChallengeKind::LogicFlaw));
    assert_eq!((second.hypothesis, second.hidden, second.expects), (None, false, Expected::Reasoning));
    let bent = "[状态更新]\n轮次：第 2 轮\n活跃假设：假设1、假设3\n领先假设：假设3\n收敛：弱收敛\n已回应：C1.1，C2.1";
    let blocks = read(bent, Act::Assess);
    let [Block::Status(status)] = &blocks[..] else { panic!("{blocks:?}") };
    assert_eq!((status.round, &status.active[..], status.leading), (Some(2), &[1, 3][..], Some(3)));
    assert_eq!(
        (status.convergence, &status.answered[..]),
        (Convergence::Weak, &["C1.1".into(), "C2.1".into()][..])
    );
}

#[test]
fn i2_evidence_in_plain_sentences_is_still_found() {
    let text = "[EVIDENCE REPORT]\nEvidence:\n- in `auth.ts:42` I found an unhandled null: \"user!.id\"\n\
                - the test `login_expires` fails\n- it feels slow\n- none";
    let blocks = read(text, Act::Investigate);
    let [Block::Report(report)] = &blocks[..] else { panic!("{blocks:?}") };
    let found: Vec<_> =
        report.evidence_for.iter().map(|one| (&*one.pointer, &*one.quote, one.concrete())).collect();
    assert_eq!(
        found,
        [
            ("auth.ts:42", "user!.id", Some(EvidenceKind::FileLine)),
            ("login_expires", "", None),
            ("it feels slow", "", None)
        ]
    );
}

#[test]
fn i1_strays_names_each_unrequested_act_once() {
    let reply = "[CHALLENGE]\nTo: a\n[VERDICT]\nHypothesis: H1\n[Challenge]\nTo: b\n[假设]\n假设：x\n预测：y";
    let blocks = read(reply, Act::Investigate);
    assert_eq!(strays(&blocks), [Act::Challenge, Act::Judge, Act::Propose]);
}
