//! Reads messages, leniently: what is missing stays missing, what is bent is bent back.

use std::sync::LazyLock;

use debate_core::formats::investigation::answer::{
    Act, Challenge, ChallengeKind, Conclusion, Convergence, Expected, HypothesisText, Report, Response,
    Stance, Status, StatusUpdate, Verdict,
};
use debate_core::formats::investigation::evidence::{Evidence, EvidenceKind};
use regex::Regex;

use super::block::{Lines, one_line, parts, split, unescaped};
use super::labels::{Label, folded};

/// One message, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Hypotheses.
    Hypotheses(Vec<HypothesisText>),
    /// A report.
    Report(Report),
    /// A challenge.
    Challenge(Challenge),
    /// Where things stand.
    Status(StatusUpdate),
    /// A verdict.
    Verdict(Verdict),
    /// A conclusion.
    Conclusion(Conclusion),
}

impl Block {
    /// Returns what the message does.
    #[must_use]
    pub fn act(&self) -> Act {
        match self {
            Self::Hypotheses(_) => Act::Propose,
            Self::Report(_) => Act::Investigate,
            Self::Challenge(_) => Act::Challenge,
            Self::Status(_) => Act::Assess,
            Self::Verdict(_) => Act::Judge,
            Self::Conclusion(_) => Act::Convey,
        }
    }
}

/// Reads the messages of a reply that was asked for `asked`, in order; what stands before the first header is left aside.
///
/// Without brackets, a heading of an ordinary word (`## Conclusion`) is a header only where that message was asked for.
#[must_use]
pub fn read(text: &str, asked: Act) -> Vec<Block> {
    split(text, asked).iter().map(block).collect()
}

/// Returns the acts of blocks that were not asked for, each act once.
#[must_use]
pub fn strays<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Vec<Act> {
    let mut acts: Vec<Act> = Vec::new();
    for act in blocks.into_iter().map(Block::act) {
        if !acts.contains(&act) {
            acts.push(act);
        }
    }
    acts
}

fn block(lines: &Lines) -> Block {
    match lines.act {
        Act::Propose => Block::Hypotheses(hypotheses(lines)),
        Act::Investigate => Block::Report(report(lines)),
        Act::Challenge => Block::Challenge(challenge(lines)),
        Act::Assess => Block::Status(status(lines)),
        Act::Judge => Block::Verdict(verdict(lines)),
        Act::Convey => Block::Conclusion(Conclusion {
            text: lines.value(Label::Conclusion).to_owned(),
            next_steps: texts(lines, Label::NextSteps),
        }),
    }
}

fn texts(lines: &Lines, label: Label) -> Vec<String> {
    lines.items(label).into_iter().map(str::to_owned).collect()
}

fn hypotheses(lines: &Lines) -> Vec<HypothesisText> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(?:H|假设)\s*\d+\s*[:：.—-]\s*").expect("the pattern is fixed"));
    let mut found: Vec<HypothesisText> = Vec::new();
    for (label, value) in lines.entries() {
        if label == Label::Hypothesis {
            let statement = NUMBER.replace(value, "").into_owned();
            found.push(HypothesisText { statement, prediction: String::new() });
        } else if let Some(last) = found.last_mut().filter(|last| last.prediction.is_empty()) {
            value.clone_into(&mut last.prediction);
        }
    }
    found
}

fn report(lines: &Lines) -> Report {
    let (moved_from, confidence) = confidence(lines.value(Label::Confidence));
    Report {
        hypothesis: hypothesis(lines.value(Label::Hypothesis)),
        status: status_of(lines.value(Label::Status)),
        confidence,
        confidence_before: self::confidence(lines.value(Label::ConfidenceBefore)).1.or(moved_from),
        key_finding: lines.text(Label::KeyFinding),
        evidence_for: evidence_list(lines, Label::EvidenceFor),
        evidence_against: evidence_list(lines, Label::EvidenceAgainst),
        responses: lines.items(Label::Responses).into_iter().filter_map(response).collect(),
    }
}

fn challenge(lines: &Lines) -> Challenge {
    let kind = kind_of(lines.value(Label::ChallengeType));
    Challenge {
        to: lines.value(Label::To).to_owned(),
        hypothesis: hypothesis(lines.value(Label::Hypothesis)),
        kind,
        challenge: lines.text(Label::Challenge),
        counter_evidence: evidence_list(lines, Label::EvidenceAgainst),
        expects: expected_of(lines.value(Label::ExpectedResponse)).unwrap_or(Expected::of(kind)),
        hidden: is_yes(lines.value(Label::Hidden)),
    }
}

fn status(lines: &Lines) -> StatusUpdate {
    StatusUpdate {
        round: first_number(lines.value(Label::Round)),
        active: hypotheses_named(&lines.text(Label::Active)),
        leading: hypothesis(lines.value(Label::Leading)),
        convergence: convergence_of(lines.value(Label::Convergence)),
        answered: challenges_named(&lines.text(Label::Answered)),
        open: challenges_named(&lines.text(Label::Open)),
        summary: lines.text(Label::Summary),
    }
}

fn verdict(lines: &Lines) -> Verdict {
    let missing = texts(lines, Label::Missing);
    let says_needed = lines.value(Label::NeedsMore);
    Verdict {
        hypothesis: hypothesis(lines.value(Label::Hypothesis)),
        confidence: confidence(lines.value(Label::Confidence)).1,
        reasoning: lines.text(Label::Summary),
        evidence_for: evidence_named(&lines.text(Label::EvidenceFor)),
        evidence_against: evidence_named(&lines.text(Label::EvidenceAgainst)),
        needs_more_information: if lines.has(Label::NeedsMore) {
            is_yes(says_needed)
        } else {
            !missing.is_empty()
        },
        missing,
    }
}

fn numbers_after(pattern: &Regex, text: &str) -> Vec<u32> {
    let found = pattern.captures_iter(text).filter_map(|found| found.get(1)?.as_str().parse().ok());
    let mut numbers: Vec<u32> = Vec::new();
    for number in found {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}

fn hypotheses_named(text: &str) -> Vec<u32> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)(?:\bH|假设|hypothesis)\s*#?\s*(\d{1,3})").expect("the pattern is fixed")
    });
    numbers_after(&NAME, text)
}

/// Reads the first hypothesis that a text names: `H2`, `Hypothesis 2`, `假设2`, or a bare number.
fn hypothesis(text: &str) -> Option<u32> {
    hypotheses_named(text).first().copied().or_else(|| text.trim().trim_start_matches('#').parse().ok())
}

fn challenges_named(text: &str) -> Vec<String> {
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)\bC\d{1,3}\.\d{1,3}\b").expect("the pattern is fixed"));
    NAME.find_iter(text).map(|found| found.as_str().to_uppercase()).collect()
}

fn evidence_named(text: &str) -> Vec<String> {
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)\bH\d{1,3}\.E\d{1,4}\b").expect("the pattern is fixed"));
    NAME.find_iter(text).map(|found| found.as_str().to_uppercase()).collect()
}

fn first_number(text: &str) -> Option<u32> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Reads a confidence of 10, and the one before it where an arrow or a word leads from one to the other: `7/10`, `7`,
/// `70%`, `7/10 → 4/10`, `从 7/10 下调到 4/10`.
fn confidence(text: &str) -> (Option<f64>, Option<f64>) {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(\d+(?:\.\d+)?)\s*(%|/\s*100?\b|／\s*100?\b|分)?").expect("the pattern is fixed")
    });
    static MOVE: LazyLock<Regex> = LazyLock::new(|| {
        let english = "(?:(?:down|up|lowered|raised|dropped|rose|fell) +)?to";
        let chinese = "(?:下调|上调|下降|上升|降低|提高|提升|降|升)?[至到]";
        Regex::new(&format!(r"^[\s*_]*(?i:→|⇒|[-=]+>|{english}|{chinese})[\s*_]*$"))
            .expect("the pattern is fixed")
    });
    let ten = |found: &regex::Captures<'_>| -> Option<f64> {
        let number: f64 = found.get(1)?.as_str().parse().ok()?;
        let unit = found.get(2).map_or("", |unit| unit.as_str());
        let of_ten = if unit == "%" || unit.ends_with("100") { number / 10.0 } else { number };
        (0.0..=10.0).contains(&of_ten).then_some(of_ten)
    };
    let mut found = NUMBER.captures_iter(text);
    let Some(first) = found.next() else { return (None, None) };
    let is_moved = |second: &regex::Captures<'_>| {
        let between = first.get(0).zip(second.get(0)).map(|(first, second)| first.end()..second.start());
        between.is_some_and(|between| MOVE.is_match(&text[between]))
    };
    match found.next().filter(is_moved).and_then(|second| ten(&second)) {
        Some(second) => (ten(&first), Some(second)),
        None => (None, ten(&first)),
    }
}

/// Returns the first of some words that a text has and does not deny.
fn worded<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    let text = folded(text);
    let is_said = |at: &usize| {
        let before = &text[..*at];
        let begins = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
        (begins || !text[*at..].starts_with(|c: char| c.is_ascii())) && !is_denied(before)
    };
    let found = words.iter().filter_map(|(word, meaning)| {
        let at = text.match_indices(word).map(|(at, _)| at).find(is_said)?;
        Some((at, *meaning))
    });
    found.min_by_key(|(at, _)| *at).map(|(_, meaning)| meaning)
}

/// Returns whether what comes next is denied: `not yet …`, `isn't …`, `未被…`.
fn is_denied(before: &str) -> bool {
    /// So many words may stand between the one that denies and what it denies.
    const WORDS_BETWEEN_MAX: usize = 2;
    let clause =
        before.rsplit([',', ';', '.', ':', '(', '，', '；', '。', '：', '（']).next().unwrap_or(before);
    let denies = |word: &str| {
        matches!(word, "not" | "no" | "never" | "neither" | "nor" | "cannot" | "non")
            || word.ends_with("n't")
            || word.ends_with("n’t")
    };
    let words = clause.split_whitespace().rev().take(1 + WORDS_BETWEEN_MAX);
    let mut words = words.take_while(|word| !matches!(*word, "but" | "only"));
    let bare = clause.trim_end().trim_end_matches(['被', '能', '得', '到', '获']);
    words.any(denies) || bare.ends_with(['不', '未', '没', '无', '非']) || bare.ends_with("没有")
}

fn status_of(text: &str) -> Status {
    let words = [
        ("investigating", Status::Investigating),
        ("调查中", Status::Investigating),
        ("support", Status::Supported),
        ("支持", Status::Supported),
        ("weaken", Status::Weakened),
        ("削弱", Status::Weakened),
        ("refute", Status::Refuted),
        ("否定", Status::Refuted),
        ("推翻", Status::Refuted),
    ];
    worded(text, &words).unwrap_or_default()
}

fn kind_of(text: &str) -> ChallengeKind {
    let words = [
        ("evidence quality", ChallengeKind::EvidenceQuality),
        ("证据质量", ChallengeKind::EvidenceQuality),
        ("logic", ChallengeKind::LogicFlaw),
        ("逻辑", ChallengeKind::LogicFlaw),
        ("counter", ChallengeKind::CounterEvidence),
        ("反证", ChallengeKind::CounterEvidence),
        ("alternative", ChallengeKind::AlternativeExplanation),
        ("替代解释", ChallengeKind::AlternativeExplanation),
        ("其他解释", ChallengeKind::AlternativeExplanation),
    ];
    worded(text, &words).unwrap_or(ChallengeKind::LogicFlaw)
}

fn expected_of(text: &str) -> Option<Expected> {
    let words = [
        ("experiment", Expected::Experiment),
        ("test", Expected::Experiment),
        ("实验", Expected::Experiment),
        ("evidence", Expected::NewEvidence),
        ("证据", Expected::NewEvidence),
        ("reason", Expected::Reasoning),
        ("推理", Expected::Reasoning),
        ("解释", Expected::Reasoning),
        ("withdraw", Expected::Withdrawal),
        ("撤回", Expected::Withdrawal),
    ];
    worded(text, &words)
}

fn convergence_of(text: &str) -> Convergence {
    let words = [
        ("strong", Convergence::Strong),
        ("强", Convergence::Strong),
        ("weak", Convergence::Weak),
        ("弱", Convergence::Weak),
        ("none", Convergence::None),
        ("not", Convergence::None),
        ("无", Convergence::None),
        ("未", Convergence::None),
    ];
    worded(text, &words).unwrap_or_default()
}

fn is_yes(text: &str) -> bool {
    let text = folded(text);
    ["yes", "true", "是", "需要"].iter().any(|yes| text.starts_with(yes))
}

fn evidence_list(lines: &Lines, label: Label) -> Vec<Evidence> {
    lines.items(label).into_iter().map(evidence).collect()
}

/// Reads a piece of evidence; where bars are missing, a kind, a pointer in code quotes and quoted words are still found.
fn evidence(item: &str) -> Evidence {
    let (kind, rest) = evidence_kind(item);
    let parts = parts(rest);
    if let [pointer, quote, claim, more @ ..] = &parts[..] {
        let claim =
            std::iter::once(claim).chain(more).map(|part| unescaped(part)).collect::<Vec<_>>().join(" | ");
        return Evidence { kind, pointer: unescaped(pointer), quote: unquoted(quote), claim };
    }
    if let [pointer, said] = &parts[..] {
        let is_quote = said.starts_with(['"', '“', '`', '「']);
        let (quote, claim) =
            if is_quote { (unquoted(said), String::new()) } else { (String::new(), unescaped(said)) };
        return Evidence { kind, pointer: unescaped(pointer), quote, claim };
    }
    unbarred(kind, rest)
}

/// Reads evidence that is a sentence: its pointer is what stands in code quotes or looks like a line of a file.
fn unbarred(kind: Option<EvidenceKind>, text: &str) -> Evidence {
    static FILE_LINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[\w./\\-]+\.\w+[:：]L?\d+(?:-\d+)?").expect("the pattern is fixed"));
    static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`([^`]+)`").expect("the pattern is fixed"));
    static QUOTED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""([^"]+)"|“([^”]+)”"#).expect("the pattern is fixed"));
    let code = || CODE.captures(text).and_then(|found| found.get(1)).map(|found| found.as_str().to_owned());
    let pointer = FILE_LINE.find(text).map(|found| found.as_str().to_owned()).or_else(code);
    let quote = QUOTED.captures(text).and_then(|found| found.get(1).or(found.get(2)));
    let is_named = pointer.is_some();
    Evidence {
        kind,
        pointer: pointer.unwrap_or_else(|| unescaped(text)),
        quote: quote.map(|found| found.as_str().to_owned()).unwrap_or_default(),
        claim: if is_named { unescaped(text) } else { String::new() },
    }
}

/// Takes the kind off the beginning of a piece of evidence: `[file_line]`, `【提交】`, `(test)`.
fn evidence_kind(item: &str) -> (Option<EvidenceKind>, &str) {
    let inside = item.strip_prefix(['[', '【', '(', '（']);
    let Some((name, rest)) = inside.and_then(|inside| inside.split_once([']', '】', ')', '）'])) else {
        return (None, item);
    };
    let kind = match folded(name).as_str() {
        "file line" | "file:line" | "file" | "文件" | "文件行" => EvidenceKind::FileLine,
        "commit" | "提交" => EvidenceKind::Commit,
        "command output" | "command" | "output" | "命令输出" | "命令" => EvidenceKind::CommandOutput,
        "test" | "测试" => EvidenceKind::Test,
        "data" | "数据" => EvidenceKind::Data,
        _ => return (None, item),
    };
    (Some(kind), rest.trim_start_matches([' ', ':', '：']))
}

fn unquoted(part: &str) -> String {
    let part = part.trim();
    let pairs = [('"', '"'), ('“', '”'), ('「', '」'), ('`', '`')];
    let inner = pairs.iter().find_map(|(open, close)| {
        let inner = part.strip_prefix(*open)?.strip_suffix(*close)?;
        // A closing mark that is written as a letter closes nothing.
        (!inner.ends_with('\\') || inner.ends_with("\\\\")).then_some(inner)
    });
    unescaped(inner.unwrap_or(part))
}

fn response(item: &str) -> Option<Response> {
    let challenge = challenges_named(item).into_iter().next()?;
    let parts = parts(item);
    let (stance, text) = match &parts[..] {
        [_, stance, text, more @ ..] => {
            let text: Vec<String> = std::iter::once(text).chain(more).map(|part| unescaped(part)).collect();
            (stance_of(stance), text.join(" | "))
        }
        [_, text] => (stance_of(text), unescaped(text)),
        _ => {
            let at = item.to_uppercase().find(&challenge).map_or(0, |at| at + challenge.len());
            let text =
                item.get(at..).unwrap_or(item).trim_start_matches([':', '：', ' ', '-', '—', '*', ']', ')']);
            (stance_of(text), one_line(text))
        }
    };
    Some(Response { challenge, stance, text })
}

fn stance_of(text: &str) -> Stance {
    let text = folded(text.trim_start_matches(['*', '[', '(', '"']));
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    if begins(&["concede", "accept", "grant", "agree", "承认", "接受", "同意"]) {
        Stance::Concede
    } else if begins(&["refuse", "reject", "decline", "dismiss", "拒绝", "驳回"]) {
        Stance::Refuse
    } else {
        Stance::Answer
    }
}
