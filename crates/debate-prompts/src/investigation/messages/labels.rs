//! Headers and labels, as they are written and as they are met.

use debate_core::formats::investigation::answer::Act;

/// What a header is written as, and what it is also met as, folded: small letters, single spaces.
pub(super) fn headers(act: Act) -> (&'static str, &'static [&'static str]) {
    match act {
        Act::Propose => ("[HYPOTHESES]", &["hypotheses", "hypothesis proposal", "假设", "假设列表"]),
        Act::Investigate => {
            ("[EVIDENCE REPORT]", &["evidence report", "investigation report", "调查报告", "证据报告"])
        }
        Act::Challenge => ("[CHALLENGE]", &["challenge", "challenges", "挑战", "质疑"]),
        Act::Assess => ("[STATUS UPDATE]", &["status update", "状态更新"]),
        Act::Judge => ("[VERDICT]", &["verdict", "final verdict", "裁决", "最终判定", "判定"]),
        Act::Convey => ("[CONCLUSION]", &["conclusion", "结论"]),
    }
}

/// Returns whether a header's name, folded, is also a word that people head a paragraph with.
pub(super) fn is_ordinary(name: &str) -> bool {
    matches!(
        name,
        "hypotheses"
            | "假设"
            | "假设列表"
            | "challenge"
            | "challenges"
            | "挑战"
            | "质疑"
            | "conclusion"
            | "结论"
            | "判定"
    )
}

/// A line of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    Hypothesis,
    Prediction,
    Status,
    Confidence,
    ConfidenceBefore,
    KeyFinding,
    EvidenceFor,
    EvidenceAgainst,
    Responses,
    To,
    ChallengeType,
    Challenge,
    ExpectedResponse,
    Hidden,
    Round,
    Active,
    Leading,
    Convergence,
    Answered,
    Open,
    Summary,
    NeedsMore,
    Missing,
    Conclusion,
    NextSteps,
}

impl Label {
    /// Returns what the label is written as, and what it is also met as, folded.
    pub(super) fn names(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Hypothesis => ("Hypothesis", &["假设", "statement", "陈述"]),
            Self::Prediction => ("Prediction", &["test", "testable prediction", "预测", "可验证的预测"]),
            Self::Status => ("Status", &["state", "状态"]),
            Self::Confidence => ("Confidence", &["置信度", "置信度下调", "置信度上调", "confidence after"]),
            Self::ConfidenceBefore => {
                ("Confidence Before", &["previous confidence", "prior confidence", "之前置信度", "原置信度"])
            }
            Self::KeyFinding => ("Key Finding", &["key findings", "finding", "关键发现", "主要发现"]),
            Self::EvidenceFor => (
                "Supporting Evidence",
                &["evidence for", "evidence", "support", "支持证据", "证据", "正面证据"],
            ),
            Self::EvidenceAgainst => (
                "Counter Evidence",
                &[
                    "evidence against",
                    "adverse evidence",
                    "contradicting evidence",
                    "反证",
                    "反对证据",
                    "不利证据",
                ],
            ),
            Self::Responses => ("Responses", &["response", "response to challenges", "回应", "对挑战的回应"]),
            Self::To => ("To", &["target", "对象", "致", "发给"]),
            Self::ChallengeType => ("Challenge Type", &["type", "挑战类型", "类型"]),
            Self::Challenge => ("Challenge", &["reason", "挑战", "质疑", "挑战内容", "理由"]),
            Self::ExpectedResponse => {
                ("Expected Response", &["expected answer", "expects", "期望的回应", "期望回应"])
            }
            Self::Hidden => ("Hidden Evidence", &["hidden", "隐藏证据", "被隐藏的证据"]),
            Self::Round => ("Round", &["轮次", "回合", "轮"]),
            Self::Active => ("Active Hypotheses", &["active", "活跃假设", "有效假设"]),
            Self::Leading => ("Leading Hypothesis", &["leading", "leader", "领先假设"]),
            Self::Convergence => ("Convergence", &["收敛", "收敛状态", "收敛情况"]),
            Self::Answered => ("Answered Challenges", &["answered", "已回应的挑战", "已回应"]),
            Self::Open => ("Open Challenges", &["open", "未回应的挑战", "未回应"]),
            Self::Summary => ("Summary", &["reasoning", "总结", "小结", "推理", "理由说明"]),
            Self::NeedsMore => ("Needs More Information", &["needs more info", "需要更多信息"]),
            Self::Missing => ("Missing Information", &["missing", "缺失信息", "缺少的信息"]),
            Self::Conclusion => ("Conclusion", &["结论"]),
            Self::NextSteps => ("Next Steps", &["next step", "recommendations", "后续步骤", "下一步"]),
        }
    }

    /// Returns the labels that a kind of message has.
    pub(super) fn of(act: Act) -> &'static [Self] {
        match act {
            Act::Propose => &[Self::Hypothesis, Self::Prediction],
            Act::Investigate => &[
                Self::Hypothesis,
                Self::Status,
                Self::Confidence,
                Self::ConfidenceBefore,
                Self::KeyFinding,
                Self::EvidenceFor,
                Self::EvidenceAgainst,
                Self::Responses,
            ],
            Act::Challenge => &[
                Self::To,
                Self::Hypothesis,
                Self::ChallengeType,
                Self::Challenge,
                Self::EvidenceAgainst,
                Self::ExpectedResponse,
                Self::Hidden,
            ],
            Act::Assess => &[
                Self::Round,
                Self::Active,
                Self::Leading,
                Self::Convergence,
                Self::Answered,
                Self::Open,
                Self::Summary,
            ],
            Act::Judge => &[
                Self::Hypothesis,
                Self::Confidence,
                Self::EvidenceFor,
                Self::EvidenceAgainst,
                Self::NeedsMore,
                Self::Missing,
                Self::Summary,
            ],
            Act::Convey => &[Self::Conclusion, Self::NextSteps],
        }
    }
}

/// Returns a name in the form in which names are compared.
pub(super) fn folded(name: &str) -> String {
    let spaced = name.to_lowercase().replace(['_', '-'], " ");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}
