//! What makes a hypothesis one that can be tested (rule I3).

use super::answer::HypothesisText;

/// Words that say under which condition something would be seen, or that it would.
const CONDITIONS: [&str; 11] = [
    "if ", "when ", "then ", "should ", "would ", "will ", "must ", "after ", "cannot ", "without ", "never ",
];
/// The same in Chinese, where words are not set apart.
const CONDITIONS_ZH: [&str; 20] = [
    "如果", "假如", "倘若", "若是", "那么", "应该", "应当", "理应", "将会", "将能", "必须", "必定", "必然",
    "能够", "不能", "之后", "一旦", "只要", "会", "应",
];
/// Words in which the short ones of those stand and mean something else: session, application, response.
const OTHERWISE_ZH: [&str; 15] = [
    "会话", "会议", "会员", "机会", "社会", "协会", "应用", "响应", "反应", "对应", "相应", "适应", "供应",
    "效应", "应急",
];
/// If, then and when, where a clause begins with them.
const CLAUSES_ZH: [&str; 3] = ["若", "则", "当"];
/// Words that begin as those do: several, currently, of course, at that time.
const OTHER_CLAUSES_ZH: [&str; 6] = ["若干", "当前", "当中", "当然", "当下", "当时"];

impl HypothesisText {
    /// Returns why the hypothesis cannot be tested, or `None` where it can.
    ///
    /// It needs a statement, and a prediction that says more than the statement: what would be observed, under which
    /// condition. The check looks for a conditional in the text, in English or Chinese.
    #[must_use]
    pub fn why_untestable(&self) -> Option<&'static str> {
        let [statement, prediction] =
            [&self.statement, &self.prediction].map(|text| text.trim().to_lowercase());
        if statement.is_empty() {
            return Some("states nothing");
        }
        if prediction == statement {
            return Some("predicts only what it states");
        }
        why_tests_nothing(&prediction)
    }
}

/// Returns why nothing could be tested by a prediction, whatever is stated, or `None` where something could.
#[must_use]
pub(super) fn why_tests_nothing(prediction: &str) -> Option<&'static str> {
    let prediction = prediction.trim().to_lowercase();
    if prediction.is_empty() {
        return Some("has no prediction by which it could be tested");
    }
    let spoken = format!("{prediction} ");
    let says_when = CONDITIONS.iter().any(|word| {
        let mut places = spoken.match_indices(word);
        places.any(|(at, _)| !spoken[..at].ends_with(char::is_alphanumeric))
    });
    let says_when = says_when || says_when_zh(&spoken);
    (!says_when).then_some("predicts nothing that could turn out otherwise: say what is seen if it is true")
}

/// Returns whether a text has a Chinese conditional.
fn says_when_zh(text: &str) -> bool {
    let bare = OTHERWISE_ZH.iter().fold(text.to_owned(), |text, word| text.replace(word, " "));
    let begins = |clause: &str, words: &[&str]| words.iter().any(|word| clause.starts_with(word));
    let mut clauses = text.split(|letter: char| !letter.is_alphanumeric());
    CONDITIONS_ZH.iter().any(|word| bare.contains(word))
        || clauses.any(|clause| begins(clause, &CLAUSES_ZH) && !begins(clause, &OTHER_CLAUSES_ZH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_untestable_hypotheses_are_recognized() {
        let table = [
            ("A listener leaks", "If it does, memory grows with each of 1000 loops", true),
            ("内存泄漏", "如果是内存泄漏导致的，那么在循环 1000 次后内存使用应该线性增长", true),
            ("The cache is stale", "Clearing it should make the error go away", true),
            ("The architecture is poor", "The architecture is poor", false),
            ("代码架构设计不好", "代码架构设计不好导致了问题", false),
            ("代码架构设计不好", "代码架构设计不当导致了问题", false),
            ("功能有缺陷", "功能模块有缺陷", false),
            ("会话有缺陷", "应用的会话有若干必要的功能缺陷，当前响应将性能降低", false),
            ("缓存过期", "清空缓存会让错误消失", true),
            ("缓存过期", "若缓存过期，重启让错误消失", true),
            ("连接泄漏", "循环一千次，则连接数线性增长", true),
            ("连接泄漏", "当循环一千次，连接数线性增长", true),
            ("连接泄漏", "连接数应线性增长", true),
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
