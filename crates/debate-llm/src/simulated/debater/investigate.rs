//! Makes up what the roles of an investigation say, in message blocks, which are read wherever an object is asked for. What it
//! quotes of files it was shown by tools; everything else is marked as simulated where it stands.

use std::fmt::Write as _;

use super::room;
use crate::simulated::Draw;
use crate::{ChatRequest, Role};

/// What every simulated finding begins with.
const MARK: &str = "(simulated)";
/// What the persona of every role calls its team.
const TEAMS: [&str; 2] = ["adversarial debugging team", "对抗式调试"];

/// What differs between languages.
struct Words {
    causes: [(&'static str, &'static str); 4],
    findings: [&'static str; 3],
    adverse: &'static str,
    challenges: [(&'static str, &'static str, &'static str); 4],
    answers: [&'static str; 3],
    summary: &'static str,
    verdict: &'static str,
    missing: &'static str,
    conclusion: &'static str,
    step: &'static str,
}

const ENGLISH: Words = Words {
    causes: [
        ("a resource is taken and not given back", "If so, its count should grow with every repetition"),
        ("two writers race for the same state", "If so, a single worker should never show the fault"),
        (
            "a cached value outlives what it was made of",
            "If so, an empty cache should make the fault go away",
        ),
        (
            "a limit of the environment is reached",
            "If so, a doubled limit should move the moment of the fault",
        ),
    ],
    findings: [
        "the count grows by one with each repetition and does not fall again",
        "the fault shows only when both paths are taken within the same second",
        "the value is read three times and written once, before the change",
    ],
    adverse: "one run out of five did not show it",
    challenges: [
        ("Evidence Quality", "the sample is five runs, too few to tell this from chance", "New Evidence"),
        ("Logic Flaw", "the order of events shows a correlation and does not yet show a cause", "Reasoning"),
        ("Counter Evidence", "a run with the feature switched off showed the same fault", "Reasoning"),
        ("Alternative Explanation", "a slow disk would leave the very same trace in the log", "Experiment"),
    ],
    answers: [
        "fifty more runs show the same, so chance is ruled out",
        "the order was reversed in a second experiment and the fault went with it",
        "the run named there used an older build, in which the path did not exist",
    ],
    summary: "evidence has been added on both sides and some challenges were met",
    verdict: "it has the most evidence that others can look up and the fewest open challenges",
    missing: "a trace of a failing run from production",
    conclusion: "the hypothesis that was named explains what was observed best",
    step: "repeat the experiment with the supposed cause removed",
};

const CHINESE: Words = Words {
    causes: [
        ("资源被占用而没有释放", "如果是这样，那么每次重复后计数应该增长"),
        ("两个写入者竞争同一状态", "如果是这样，那么只用一个线程时故障应该不会出现"),
        ("缓存的值比其来源存活更久", "如果是这样，那么清空缓存后故障应该消失"),
        ("达到了环境的限制", "如果是这样，那么限制加倍后故障出现的时间应该改变"),
    ],
    findings: [
        "每次重复后计数加一且不再下降",
        "只有两条路径在同一秒内执行时才出现故障",
        "该值读取三次，只在变更之前写入一次",
    ],
    adverse: "五次运行中有一次没有出现",
    challenges: [
        ("Evidence Quality", "样本只有五次运行，不足以排除偶然因素", "New Evidence"),
        ("Logic Flaw", "事件顺序只展示了相关性，还没有展示因果关系", "Reasoning"),
        ("Counter Evidence", "关闭该功能后的一次运行出现了同样的故障", "Reasoning"),
        ("Alternative Explanation", "磁盘变慢也会在日志中留下完全相同的痕迹", "Experiment"),
    ],
    answers: [
        "又运行了五十次，结果相同，因此排除了偶然",
        "在第二个实验中颠倒顺序，故障随之改变",
        "那次运行使用旧版本，当时还没有这条路径",
    ],
    summary: "双方都补充了证据，部分挑战已得到回应",
    verdict: "它有最多可以核查的证据，未决挑战最少",
    missing: "生产环境中一次失败运行的跟踪记录",
    conclusion: "所选假设最能解释观察到的现象",
    step: "去掉推测的原因后重复实验",
};

/// The prompt of an investigation, as far as a reply needs it.
struct Sheet<'a> {
    /// The first message of the user: material and task.
    asked: &'a str,
    /// The task alone.
    task: &'a str,
    /// The name of the message that is asked for.
    form: &'a str,
    /// What tools found, in later messages.
    found: Vec<&'a str>,
    words: &'static Words,
}

impl<'a> Sheet<'a> {
    fn read(request: &'a ChatRequest) -> Option<Self> {
        let system = request.messages.iter().find(|message| message.role == Role::System)?;
        let team = TEAMS.iter().position(|team| system.content.contains(team))?;
        let mut said = request.messages.iter().filter(|message| message.role == Role::User);
        let asked: &str = &said.next()?.content;
        // Material ends with the last closing tag; what follows is the task.
        let task = &asked[asked.rfind("</").unwrap_or_default()..];
        let form = match &request.schema {
            Some(schema) => schema.name(),
            None if task.contains("\n[CHALLENGE]\n") => "challenges",
            None => "report",
        };
        let found = said.map(|message| &*message.content).collect();
        Some(Self { asked, task, form, found, words: [&ENGLISH, &CHINESE][team] })
    }

    /// Returns the number behind the first of these words that the task has, 1 where it has none.
    fn number(&self, before: &[&str]) -> usize {
        let digits = before.iter().find_map(|before| self.task.split_once(before));
        let digits = digits.map_or("", |(_, rest)| rest);
        let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().unwrap_or(1)
    }

    /// Returns the values of an attribute over all tags of a name, where the tag also has some other words.
    fn attributes(&self, tag: &str, name: &str, with: &str) -> Vec<&'a str> {
        let begin = format!("<{tag} ");
        let tags = self.asked.split(begin.as_str()).skip(1).filter_map(|rest| rest.split('>').next());
        let value = |text: &'a str| text.split_once(&format!("{name}=\""))?.1.split('"').next();
        tags.filter(|text| text.contains(with)).filter_map(value).collect()
    }
}

/// Returns what a role says; `None` where the prompt is of another format.
pub(super) fn reply(request: &ChatRequest, draw: &mut Draw) -> Option<String> {
    let sheet = Sheet::read(request)?;
    match sheet.form {
        "hypotheses" => Some(propose(&sheet, draw)),
        "report" => Some(look(&sheet, draw).unwrap_or_else(|| report(&sheet, draw))),
        "challenges" => Some(challenge(&sheet, draw)),
        "status" => Some(status(&sheet, draw)),
        "verdict" => Some(verdict(&sheet, draw)),
        "conclusion" => Some(conclude(&sheet)),
        _ => None,
    }
}

/// Returns who speaks, as the persona says it; `None` where the prompt is of another format.
pub(super) fn speaker(request: &ChatRequest) -> Option<&str> {
    Sheet::read(request)?;
    let system = &request.messages.iter().find(|message| message.role == Role::System)?.content;
    let roles = [
        ("lead", ["the lead", "的 Lead"]),
        ("devils_advocate", ["the devil's", "魔鬼辩护人"]),
        ("synthesizer", ["synthesizer of", "综合员"]),
    ];
    let fixed = roles.iter().find(|(_, marks)| {
        let line = system.lines().next().unwrap_or_default();
        marks.iter().any(|mark| line.contains(mark))
    });
    if let Some((role, _)) = fixed {
        return Some(role);
    }
    let (_, named) = system.split_once("You are ").or_else(|| system.split_once("的调查员 "))?;
    named.split([',', '。', '\n']).next().filter(|name| !name.is_empty())
}

fn propose(sheet: &Sheet<'_>, draw: &mut Draw) -> String {
    let most = sheet.number(&["2 to ", "2 到 "]).max(2);
    let count = 2 + draw.below(most - 1);
    let start = draw.below(sheet.words.causes.len());
    let mut text = "[HYPOTHESES]".to_owned();
    for place in 0..count {
        let causes = &sheet.words.causes;
        let (cause, prediction) = causes[(start + place) % causes.len()];
        let again = if place < causes.len() { String::new() } else { format!(" ({place})") };
        let _infallible =
            write!(text, "\nHypothesis: {MARK} {cause}{again}\nPrediction: {prediction}{again}");
    }
    text
}

/// Returns a request for tools, where the prompt offers them and nothing was found yet.
fn look(sheet: &Sheet<'_>, draw: &mut Draw) -> Option<String> {
    if !sheet.asked.contains("[TOOL] read_file") || !sheet.found.is_empty() || draw.chance(0.2) {
        return None;
    }
    let problem = sheet.asked.split_once("<problem>\n").map_or("", |(_, rest)| rest);
    let problem = problem.split("\n</problem>").next().unwrap_or_default();
    let words = problem.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let mut words: Vec<&str> = words.filter(|word| word.len() > 3).collect();
    words.sort_unstable_by_key(|word| (std::cmp::Reverse(word.len()), *word));
    words.truncate(3);
    let word = draw.pick(&words).copied().unwrap_or("error");
    Some(format!("[TOOL] search {{\"text\": \"{word}\"}}\n[TOOL] git_log {{\"count\": 3}}"))
}

/// Returns the first line of a file that a search has found, with its words.
fn seen(sheet: &Sheet<'_>) -> Option<(String, String)> {
    let refuted = sheet.found.iter().any(|found| found.contains("\nrefuted"));
    let lines = sheet.found.iter().flat_map(|found| found.lines()).filter(|_| !refuted);
    let mut hits = lines.filter_map(|line| {
        let (path, rest) = line.split_once(':')?;
        let (number, text) = rest.split_once(": ")?;
        let is_line = !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit());
        let words = text.trim().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let is_plain = !words.contains(['|', '"', '\\']) && words.len() > 8;
        (is_line && is_plain && !path.contains(' ')).then(|| (format!("{path}:{number}"), words))
    });
    hits.next()
}

fn report(sheet: &Sheet<'_>, draw: &mut Draw) -> String {
    let words = sheet.words;
    let hypothesis = sheet.number(&["Investigate H", "challenge to H", "调查 H", "对 H"]);
    let confidence = 1 + draw.below(8);
    let status = ["WEAKENED", "INVESTIGATING", "SUPPORTED"][(confidence - 1) / 3];
    let finding = draw.pick(&words.findings).copied().unwrap_or(words.findings[0]);
    let mut text = format!(
        "[EVIDENCE REPORT]\nHypothesis: H{hypothesis}\nStatus: {status}\nConfidence: {confidence}/10\n\
         Key Finding: {MARK} {finding}\nSupporting Evidence:"
    );
    match seen(sheet) {
        Some((pointer, quote)) => {
            let _infallible = write!(text, "\n- [file_line] {pointer} | \"{quote}\" | {MARK} {finding}");
        }
        None => {
            let runs = 5 + draw.below(45);
            let _infallible = write!(
                text,
                "\n- [command_output] simulate --runs {runs} | \"{runs} runs, {} failed\" | {MARK} {finding}",
                draw.below(runs)
            );
        }
    }
    if draw.chance(0.6) {
        let _infallible = write!(
            text,
            "\nCounter Evidence:\n- [data] simulated runs | \"1 of 5\" | {MARK} {}",
            words.adverse
        );
    }
    let open = sheet.attributes("challenge", "id", "state=\"open\"");
    if !open.is_empty() && ["\nResponses:", "responses"].iter().any(|field| sheet.task.contains(field)) {
        text.push_str("\nResponses:");
        for challenge in open {
            let stance = if draw.chance(0.1) {
                "refuse"
            } else if draw.chance(0.2) {
                "concede"
            } else {
                "answer"
            };
            let answer = draw.pick(&words.answers).copied().unwrap_or(words.answers[0]);
            let _infallible = write!(text, "\n- {challenge} | {stance} | {MARK} {answer}");
        }
    }
    if draw.chance(0.03) {
        let _infallible = write!(text, "\n\n[VERDICT]\nHypothesis: H{hypothesis}");
    }
    text
}

fn challenge(sheet: &Sheet<'_>, draw: &mut Draw) -> String {
    let round = sheet.number(&["Round ", "第 "]);
    let hypotheses = sheet.attributes("hypothesis", "id", "");
    let names = sheet.attributes("hypothesis", "investigator", "");
    let mut text = String::new();
    for (hypothesis, name) in hypotheses.iter().zip(names) {
        if !draw.chance(0.7) {
            continue;
        }
        let (kind, reason, expected) = sheet.words.challenges[draw.below(4)];
        let _infallible = write!(
            text,
            "[CHALLENGE]\nTo: {name}\nHypothesis: {hypothesis}\nChallenge Type: {kind}\n\
             Challenge: {MARK} {round}. {reason}\nCounter Evidence:\n\
             - [command_output] simulate --round {round} | \"1 failed\" | {MARK} {reason}\n\
             Expected Response: {expected}\nHidden Evidence: {}\n\n",
            if draw.chance(0.05) { "yes" } else { "no" }
        );
    }
    if text.is_empty() { "[NO CHALLENGE]".to_owned() } else { text.trim_end().to_owned() }
}

fn status(sheet: &Sheet<'_>, draw: &mut Draw) -> String {
    let open = sheet.attributes("challenge", "id", "state=\"open\"");
    let (answered, open): (Vec<&str>, Vec<&str>) = open.into_iter().partition(|_| draw.chance(0.75));
    format!(
        "[STATUS UPDATE]\nRound: {}\nActive Hypotheses: {}\nLeading Hypothesis: {}\nConvergence: None\n\
         Answered Challenges: {}\nOpen Challenges: {}\nSummary: {MARK} {}",
        sheet.number(&["Round ", "第 "]),
        sheet.attributes("hypothesis", "id", "").join(", "),
        strongest(sheet),
        answered.join(", "),
        open.join(", "),
        sheet.words.summary,
    )
}

/// Returns the trusted hypothesis with the highest confidence that the prompt shows.
fn strongest<'a>(sheet: &Sheet<'a>) -> &'a str {
    let trusted = "trusted=\"yes\"";
    let trusted = if sheet.attributes("hypothesis", "id", trusted).is_empty() { "" } else { trusted };
    let confidences = sheet.attributes("hypothesis", "confidence", trusted).into_iter();
    let confidences = confidences.map(|of_ten| of_ten.trim_end_matches("/10").parse().unwrap_or(0.0));
    let pairs = sheet.attributes("hypothesis", "id", trusted).into_iter().zip(confidences);
    let best = pairs.reduce(|best: (&str, f64), next| if next.1 > best.1 { next } else { best });
    best.map_or("H1", |(hypothesis, _)| hypothesis)
}

fn verdict(sheet: &Sheet<'_>, draw: &mut Draw) -> String {
    let hypothesis = if draw.chance(0.03) { "" } else { strongest(sheet) };
    let needs = draw.chance(0.3);
    let mut text = format!(
        "[VERDICT]\nHypothesis: {hypothesis}\nConfidence: {}/10\nSupporting Evidence: {hypothesis}.E1\n\
         Needs More Information: {}",
        3 + draw.below(6),
        if needs { "yes" } else { "no" }
    );
    if needs {
        let _infallible = write!(text, "\nMissing Information:\n- {MARK} {}", sheet.words.missing);
    }
    let _infallible = write!(text, "\nSummary: {MARK} {}", sheet.words.verdict);
    text
}

fn conclude(sheet: &Sheet<'_>) -> String {
    let named = sheet.asked.rsplit_once("[VERDICT]\nHypothesis: ").map_or("", |(_, rest)| rest);
    let named = room::clipped(named.lines().next().unwrap_or_default(), 4, 8);
    let (conclusion, step) = (sheet.words.conclusion, sheet.words.step);
    format!("[CONCLUSION]\nConclusion: {MARK} {named} {conclusion}\nNext Steps:\n- {MARK} {step}")
}
