//! What makes a hypothesis one that can be tested (rule I3).

use super::answer::HypothesisText;

/// Words that say under which condition something would be seen, or that it would.
const CONDITIONS: [&str; 11] = [
    "if ", "when ", "then ", "should ", "would ", "will ", "must ", "after ", "cannot ", "without ", "never ",
];
/// The same in Chinese, where words are not set apart.
const CONDITIONS_ZH: [&str; 13] =
    ["如果", "若", "当", "那么", "则", "应", "会", "将", "必", "能", "之后", "一旦", "只要"];

impl HypothesisText {
    /// Returns why the hypothesis cannot be tested, or `None` where it can.
    ///
    /// It needs a statement, and a prediction that says more than the statement: what would be observed, under which
    /// condition. Whether the words do is told by their conditional, in English or Chinese.
    #[must_use]
    pub fn why_untestable(&self) -> Option<&'static str> {
        let [statement, prediction] =
            [&self.statement, &self.prediction].map(|text| text.trim().to_lowercase());
        if statement.is_empty() {
            return Some("states nothing");
        }
        if prediction.is_empty() {
            return Some("has no prediction by which it could be tested");
        }
        if prediction == statement {
            return Some("predicts only what it states");
        }
        let spoken = format!("{prediction} ");
        let says_when = CONDITIONS.iter().any(|word| {
            let mut places = spoken.match_indices(word);
            places.any(|(at, _)| !spoken[..at].ends_with(char::is_alphanumeric))
        });
        let says_when = says_when || CONDITIONS_ZH.iter().any(|word| spoken.contains(word));
        (!says_when)
            .then_some("predicts nothing that could turn out otherwise: say what is seen if it is true")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_a_hypothesis_without_a_testable_prediction_is_told_apart() {
        let table = [
            ("A listener leaks", "If it does, memory grows with each of 1000 loops", true),
            ("内存泄漏", "如果是内存泄漏导致的，那么在循环 1000 次后内存使用应该线性增长", true),
            ("The cache is stale", "Clearing it should make the error go away", true),
            ("The architecture is poor", "The architecture is poor", false),
            ("代码架构设计不好", "代码架构设计不好导致了问题", false),
            ("The design is bad", "Bad design is the problem", false),
            ("The design is bad", " ", false),
            ("", "If so, it fails", false),
        ];
        for (statement, prediction, testable) in table {
            let [statement, prediction] = [statement, prediction].map(str::to_owned);
            let hypothesis = HypothesisText { statement, prediction };
            assert_eq!(hypothesis.why_untestable().is_none(), testable, "{hypothesis:?}");
        }
    }
}
