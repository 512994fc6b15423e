//! Makes up contributions to a deliberation: free text, by the words of the legacy prompts.

use std::fmt::Write as _;

use super::answered;
use super::room;
use super::sheet::last_said;
use crate::simulated::Draw;
use crate::{ChatRequest, Role};

/// What every simulated contribution begins with; no square bracket, which would read as a speaker's name.
pub(super) const MARK: &str = "(simulated)";

/// What stands between two contributions of a history.
const SEPARATOR: &str = "\n\n---\n\n";

/// The lines that open the instructions behind a history.
const REBUTTAL: &str = "\nYour role: Critical Reviewer";
const REVISED: &str = "\nConsidering other experts' rebuttals:";
const CONSENSUS: &str = "\nPlease summarize:";

/// One way to answer a question of what to do.
pub(super) struct Course {
    pub(super) advice: &'static str,
    pub(super) reasons: [&'static str; 2],
    pub(super) risks: [&'static str; 2],
    failure: &'static str,
    pub(super) condition: &'static str,
}

pub(super) const COURSES: [Course; 4] = [
    Course {
        advice: "go ahead in stages, each with a way back",
        reasons: [
            "Each stage shows its cost before the next one is paid for, so that an error stays small.",
            "People learn the new way on the part that matters least, and carry it to the part that matters most.",
        ],
        risks: [
            "two ways of working have to be kept alive side by side, and that doubles the load of those on call",
            "the last stage is the hardest, and many such plans stop just before it",
        ],
        failure: "a team finished two of five stages, lost its sponsor, and ran both systems for three years",
        condition: "nobody owns the date of the last stage",
    },
    Course {
        advice: "run a small pilot first and decide on its numbers",
        reasons: [
            "A pilot of six weeks replaces opinions by figures, and it costs little if the figures are bad.",
            "The measure is fixed before the pilot starts; therefore nobody can bend the result afterwards.",
        ],
        risks: [
            "a pilot is small by design, so load and rare faults do not show in it",
            "a good pilot creates pressure to go on before the open questions are answered",
        ],
        failure: "a pilot with friendly users went well, and the first week of real load brought the outage",
        condition: "the pilot has no user who would complain",
    },
    Course {
        advice: "keep what there is and remove its two worst faults",
        reasons: [
            "What exists is known: its faults have names, and the two worst cause most of the trouble.",
            "The cost of a change is certain and early, whereas its gain is uncertain and late.",
        ],
        risks: [
            "the present way gets harder to change with each year that is added to it",
            "good people leave when they are only asked to patch",
        ],
        failure: "a firm patched for four years and then had to change everything within one, at twice the price",
        condition: "demand grows faster than the patches",
    },
    Course {
        advice: "do it fully and soon, with one date for everybody",
        reasons: [
            "One change with one date is simpler than a long time of both at once.",
            "The knowledge needed is in the house now; in a year some of it will be gone.",
        ],
        risks: [
            "there is no way back once the date has passed",
            "everything that was forgotten shows on the same day",
        ],
        failure: "a single switch of all customers on one night had to be undone by hand for a week",
        condition: "there has been no full rehearsal with real data",
    },
];

/// The phrases that announce a change of position (D6).
const CHANGES: [&str; 7] = [
    "I have revised my advice",
    "I now agree with the others on the main point",
    "I changed my position in one respect",
    "Reconsidering my first advice in the light of the rebuttals, I move",
    "After reviewing the rebuttals I move",
    "I must acknowledge that my first advice was too narrow",
    "My position has evolved",
];

/// One contribution of a history.
struct Remark<'a> {
    name: &'a str,
    label: &'a str,
    text: &'a str,
}

/// Returns what a participant or the orchestrator says.
pub(super) fn reply(request: &ChatRequest, draw: &mut Draw) -> String {
    let text = last_said(request, Role::User);
    let topic = topic(text);
    let marker = [CONSENSUS, REVISED, REBUTTAL].into_iter().find(|marker| text.contains(marker));
    let remarks = marker.map_or_else(Vec::new, |marker| history(text, marker));
    match marker {
        Some(CONSENSUS) => consensus(topic, &remarks),
        Some(REVISED) => revised(topic, &remarks, speaker(request), draw),
        Some(_) => rebuttal(&remarks, draw),
        None => initial(topic, draw),
    }
}

/// Returns the name of the one who is to speak.
pub(super) fn speaker(request: &ChatRequest) -> Option<&str> {
    let (_, named) = last_said(request, Role::System).split_once("You are ")?;
    let (name, _) = named.split_once([',', '\n'])?;
    (!name.is_empty()).then_some(name)
}

fn topic(text: &str) -> &str {
    let topic = text.split_once("Topic: ").map_or(text, |(_, topic)| topic);
    topic.split("\n\n").next().unwrap_or(topic).trim()
}

/// Reads the contributions that stand before a line.
fn history<'a>(text: &'a str, marker: &str) -> Vec<Remark<'a>> {
    let end = text.rfind(marker).unwrap_or(text.len());
    let start = text[..end].find("\n[").map_or(end, |at| at + 1);
    let remarks = text[start..end].split(SEPARATOR).filter_map(|entry| {
        let (label, text) = entry.trim().strip_prefix('[')?.split_once(']')?;
        let name =
            label.strip_suffix("(rebuttal)").or_else(|| label.strip_suffix("(final)")).unwrap_or(label);
        Some(Remark { name, label, text: text.trim() })
    });
    remarks.collect()
}

fn initial(topic: &str, draw: &mut Draw) -> String {
    let course = draw.pick(&COURSES).unwrap_or(&COURSES[0]);
    let topic = room::clipped(topic, 40, 80);
    let (reason, risk) = (draw.below(2), draw.below(2));
    format!(
        "{MARK} On “{topic}” my recommendation is specific: {}.\n\nReasoning: {} {}\n\nRisks: I see that {}, and that {}.",
        course.advice,
        course.reasons[reason],
        course.reasons[1 - reason],
        course.risks[risk],
        course.risks[1 - risk],
    )
}

fn rebuttal(remarks: &[Remark<'_>], draw: &mut Draw) -> String {
    let mut text = format!("{MARK} ");
    let opinions = remarks.iter().filter(|remark| remark.name == remark.label);
    let mut is_any = false;
    for remark in opinions {
        is_any = true;
        let course = course_of(remark.text).unwrap_or(&COURSES[draw.below(COURSES.len())]);
        let said = remark.text.strip_prefix(MARK).unwrap_or(remark.text);
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let line = draw.pick(&lines).copied().unwrap_or_default();
        let quote = answered::in_prose(answered::quote(line, 14, draw).unwrap_or(course.advice));
        let risk = course.risks[draw.below(2)];
        let _infallible = write!(
            text,
            "{} says “{quote}”. That underestimates a risk: {risk}. A counterexample, simulated: {}. \
             The approach fails if {}.\n\n",
            remark.name, course.failure, course.condition
        );
    }
    if !is_any {
        let course = &COURSES[draw.below(COURSES.len())];
        let _infallible = write!(
            text,
            "No opinion is on the table yet, so I attack the obvious one, to {}: {}. It fails if {}.",
            course.advice, course.risks[0], course.condition
        );
    }
    text.trim_end().to_owned()
}

fn revised(topic: &str, remarks: &[Remark<'_>], speaker: Option<&str>, draw: &mut Draw) -> String {
    let own = remarks.iter().find(|remark| Some(remark.label) == speaker);
    let own_course = own.and_then(|remark| course_of(remark.text));
    let others = remarks.iter().filter(|remark| remark.name == remark.label && Some(remark.name) != speaker);
    let others: Vec<(&str, &Course)> =
        others.filter_map(|remark| Some((remark.name, course_of(remark.text)?))).collect();
    let other = draw.pick(&others).copied();
    let old = own_course.unwrap_or(&COURSES[draw.below(COURSES.len())]);
    let differs = other.filter(|(_, course)| course.advice != old.advice);
    let changed = differs.filter(|_| draw.chance(0.45));
    // Several may hold the same course, and an answer that repeats another is none.
    let mut text = speaker.map_or_else(|| format!("{MARK} "), |name| format!("{MARK} I speak as {name}. "));
    let course = if let Some((name, course)) = changed {
        let phrase = draw.pick(&CHANGES).copied().unwrap_or(CHANGES[0]);
        let _infallible = write!(
            text,
            "{phrase}: I said “{}”, and {name} has shown what speaks against it, since {}.",
            old.advice, old.risks[0]
        );
        course
    } else {
        let _infallible = write!(
            text,
            "I maintain my position. The rebuttals name a real danger, that {}; the answer to it is not to give up \
             the approach but to prevent that {}. {}",
            old.risks[0], old.condition, old.reasons[1]
        );
        old
    };
    let topic = room::clipped(topic, 24, 48);
    let _infallible = write!(text, "\n\nFinal recommendation on “{topic}”: {}.", course.advice);
    text
}

fn consensus(topic: &str, remarks: &[Remark<'_>]) -> String {
    let mut stands: Vec<(&str, &Course)> = Vec::new();
    for remark in remarks.iter().filter(|remark| !remark.label.ends_with("(rebuttal)")) {
        let Some(course) = last_course_of(remark.text) else { continue };
        match stands.iter_mut().find(|(name, _)| *name == remark.name) {
            Some(stand) => stand.1 = course,
            None => stands.push((remark.name, course)),
        }
    }
    let holders = |course: &Course| -> Vec<&str> {
        stands.iter().filter(|(_, held)| held.advice == course.advice).map(|(name, _)| *name).collect()
    };
    let mut held: Vec<&Course> = COURSES.iter().filter(|course| !holders(course).is_empty()).collect();
    held.sort_by_key(|course| std::cmp::Reverse(holders(course).len()));
    let leading = held.first().copied().unwrap_or(&COURSES[0]);
    let mut text = format!(
        "{MARK}\n1. Points of agreement\n- All accept that the choice must be measured and that its cost is stated \
         before it is paid.\n"
    );
    if held.len() == 1 {
        let _infallible = writeln!(text, "- All advise to {}.", leading.advice);
    }
    text.push_str("\n2. Unresolved disagreements\n");
    if held.len() > 1 {
        for course in &held {
            let _infallible = writeln!(text, "- {}: {}", holders(course).join(", "), course.advice);
        }
    } else {
        text.push_str("None remain.\n");
    }
    let topic = room::clipped(topic, 24, 48);
    let _infallible = write!(text, "\n3. Final recommendation\nOn “{topic}”: {}.", leading.advice);
    if let Some(second) = held.get(1) {
        let _infallible =
            write!(text, " Review it after one quarter against the alternative to {}.", second.advice);
    }
    text.push_str("\n\n4. Cautions\n");
    for course in held.iter().copied().chain(held.is_empty().then_some(leading)) {
        let _infallible = writeln!(text, "- To {} carries the risk that {}.", course.advice, course.risks[0]);
        let _infallible = writeln!(text, "- It fails if {}.", course.condition);
    }
    text.trim_end().to_owned()
}

/// Returns the course that a text advises, the first it names.
fn course_of(text: &str) -> Option<&'static Course> {
    let named = COURSES.iter().filter_map(|course| Some((text.find(course.advice)?, course)));
    named.min_by_key(|(at, _)| *at).map(|(_, course)| course)
}

/// Returns the course that a text advises in the end, the last it names.
fn last_course_of(text: &str) -> Option<&'static Course> {
    let named = COURSES.iter().filter_map(|course| Some((text.rfind(course.advice)?, course)));
    named.max_by_key(|(at, _)| *at).map(|(_, course)| course)
}
