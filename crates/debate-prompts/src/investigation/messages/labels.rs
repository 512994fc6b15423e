//! Headers and labels, as they are written and as they are met.

use debate_core::formats::investigation::answer::Act;
use debate_core::formats::investigation::config::Language;

/// A header or a label.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    english: &'static str,
    chinese: &'static str,
    /// What it is also met as, folded: small letters, single spaces.
    others: &'static [&'static str],
}

impl Name {
    const fn new(english: &'static str, chinese: &'static str, others: &'static [&'static str]) -> Self {
        Self { english, chinese, others }
    }

    /// Returns what it is written as.
    pub(super) const fn written(self, language: Language) -> &'static str {
        match language {
            Language::En => self.english,
            Language::Zh => self.chinese,
        }
    }

    /// Returns whether some words, folded, are this name.
    pub(super) fn is(self, words: &str) -> bool {
        words == folded(self.english) || words == self.chinese || self.others.contains(&words)
    }
}

/// Returns the header of a kind of message, without its brackets.
pub(super) const fn header(act: Act) -> Name {
    match act {
        Act::Propose => Name::new("HYPOTHESES", "假设列表", &["hypothesis proposal", "假设"]),
        Act::Investigate => Name::new("EVIDENCE REPORT", "证据报告", &["investigation report", "调查报告"]),
        Act::Challenge => Name::new("CHALLENGE", "挑战", &["challenges", "质疑"]),
        Act::Assess => Name::new("STATUS UPDATE", "状态更新", &[]),
        Act::Judge => Name::new("VERDICT", "裁决", &["final verdict", "最终判定", "判定"]),
        Act::Convey => Name::new("CONCLUSION", "结论", &[]),
    }
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
    /// Returns the label's name.
    pub(super) const fn name(self) -> Name {
        match self {
            Self::Hypothesis => Name::new("Hypothesis", "假设", &["statement", "陈述"]),
            Self::Prediction => Name::new(
                "Prediction",
                "预测",
                &["test", "testable prediction", "可验证的预测", "可验证预测"],
            ),
            Self::Status => Name::new("Status", "状态", &["state"]),
            Self::Confidence => {
                Name::new("Confidence", "置信度", &["置信度下调", "置信度上调", "confidence after"])
            }
            Self::ConfidenceBefore => Name::new(
                "Confidence Before",
                "原置信度",
                &["previous confidence", "prior confidence", "之前置信度"],
            ),
            Self::KeyFinding => {
                Name::new("Key Finding", "关键发现", &["key findings", "finding", "主要发现"])
            }
            Self::EvidenceFor => Name::new(
                "Supporting Evidence",
                "支持证据",
                &["evidence for", "evidence", "support", "证据", "正面证据"],
            ),
            Self::EvidenceAgainst => Name::new(
                "Counter Evidence",
                "反证",
                &["evidence against", "adverse evidence", "contradicting evidence", "反对证据", "不利证据"],
            ),
            Self::Responses => {
                Name::new("Responses", "回应", &["response", "response to challenges", "对挑战的回应"])
            }
            Self::To => Name::new("To", "致", &["target", "对象", "发给"]),
            Self::ChallengeType => Name::new("Challenge Type", "挑战类型", &["type", "类型"]),
            Self::Challenge => Name::new("Challenge", "挑战", &["reason", "质疑", "挑战内容", "理由"]),
            Self::ExpectedResponse => {
                Name::new("Expected Response", "期望的回应", &["expected answer", "expects", "期望回应"])
            }
            Self::Hidden => Name::new("Hidden Evidence", "隐藏证据", &["hidden", "被隐藏的证据"]),
            Self::Round => Name::new("Round", "轮次", &["回合", "轮"]),
            Self::Active => Name::new("Active Hypotheses", "活跃假设", &["active", "有效假设"]),
            Self::Leading => Name::new("Leading Hypothesis", "领先假设", &["leading", "leader"]),
            Self::Convergence => Name::new("Convergence", "收敛", &["收敛状态", "收敛情况"]),
            Self::Answered => Name::new("Answered Challenges", "已回应的挑战", &["answered", "已回应"]),
            Self::Open => Name::new("Open Challenges", "未回应的挑战", &["open", "未回应"]),
            Self::Summary => Name::new("Summary", "总结", &["reasoning", "小结", "推理", "理由说明"]),
            Self::NeedsMore => Name::new("Needs More Information", "需要更多信息", &["needs more info"]),
            Self::Missing => Name::new("Missing Information", "缺失信息", &["missing", "缺少的信息"]),
            Self::Conclusion => Name::new("Conclusion", "结论", &[]),
            Self::NextSteps => {
                Name::new("Next Steps", "后续步骤", &["next step", "recommendations", "下一步"])
            }
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
