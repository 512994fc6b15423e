//! The words of an investigation (rules I1–I10): personas and tasks in English and Chinese, what was said as tagged
//! material, replies in the message blocks of the protocol.
//!
//! The kinds of call differ in their task and in what their `Visible` holds, so they are one file; `messages` writes
//! and reads the blocks. With a workspace, an investigator may ask for tools in lines such as
//! `[TOOL] read_file {"path": "src/main.rs"}`; and a report or challenge that quotes files or commits is held back until it was
//! compared with them, which is a tool too (`CHECK_TOOL`): the investigator sees what the check found and reports anew.

mod copied;
mod material;
pub mod messages;
mod shapes;
mod tools;

use std::sync::LazyLock;

use debate_core::call::Want;
use debate_core::calls::TurnState;
use debate_core::event::ToolUse;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::investigation::answer::{Act, Answer, Said};
use debate_core::formats::investigation::config::{INPUT_TOKENS, Language, OUTPUT_TOKENS};
use debate_core::formats::investigation::evidence::{CHECK_TOOL, Evidence};
use debate_core::formats::investigation::fact::Stage;
use debate_core::formats::investigation::visible::{InvestigateView, Looks, Task, Visible};
use minijinja::{Environment, context};

use crate::catalog;
use crate::fitting::Bounds;
use crate::prompts::{
    Message, ParseError, Prompt, Prompts, PublicPart, Reading, Received, RenderError, Speaker,
};
use crate::room::Room;
use crate::tags;
use crate::tokens;
use messages::Block;

/// The most quotations that are compared at once.
const CHECKS_MAX: usize = 8;
/// What a devil's advocate says that has nothing to challenge.
const NO_CHALLENGE: [&str; 4] = ["[no challenge]", "[no challenges]", "[无挑战]", "【无挑战】"];

/// The words of an investigation.
#[derive(Debug, Clone, Copy, Default)]
pub struct InvestigationPrompts;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    let texts = [
        ("persona.en", catalog::text("investigation/persona.en@3")),
        ("persona.zh", catalog::text("investigation/persona.zh@3")),
        ("task.en", catalog::text("investigation/task.en@3")),
        ("task.zh", catalog::text("investigation/task.zh@3")),
    ];
    for (name, text) in texts {
        templates.add_template(name, text).expect("the templates are fixed and tested");
    }
    templates
});

fn version(task: &Task, language: Language) -> &'static str {
    match (kind(task), language) {
        ("propose", Language::En) => "investigation/propose.en@4",
        ("propose", Language::Zh) => "investigation/propose.zh@4",
        ("report", Language::En) => "investigation/report.en@4",
        ("report", Language::Zh) => "investigation/report.zh@4",
        ("respond", Language::En) => "investigation/respond.en@4",
        ("respond", Language::Zh) => "investigation/respond.zh@4",
        ("challenge", Language::En) => "investigation/challenge.en@4",
        ("challenge", Language::Zh) => "investigation/challenge.zh@4",
        ("status", Language::En) => "investigation/status.en@4",
        ("status", Language::Zh) => "investigation/status.zh@4",
        ("verdict", Language::En) => "investigation/verdict.en@4",
        ("verdict", Language::Zh) => "investigation/verdict.zh@4",
        (_, Language::En) => "investigation/convey.en@4",
        (_, Language::Zh) => "investigation/convey.zh@4",
    }
}

/// Returns the kind of question that a task is, as its call is named.
fn kind(task: &Task) -> &'static str {
    match task {
        Task::Propose { .. } => "propose",
        Task::Investigate(view) => match view.stage {
            Stage::Report => "report",
            Stage::Respond => "respond",
        },
        Task::Challenge { .. } => "challenge",
        Task::Status(_) => "status",
        Task::Verdict(_) => "verdict",
        Task::Convey(_) => "convey",
    }
}

fn fill(name: &str, language: Language, values: minijinja::Value) -> Result<String, minijinja::Error> {
    TEMPLATES.get_template(&format!("{name}.{}", language.as_str()))?.render(values)
}

fn task(visible: &Visible) -> Result<String, minijinja::Error> {
    let (mut hypotheses_max, mut hypothesis, mut tools, mut stop) = (0, 0, 0, "");
    match &visible.task {
        Task::Propose { hypotheses_max: most } => hypotheses_max = *most,
        Task::Investigate(view) => (hypothesis, tools) = (view.hypothesis, view.looks.turns_left),
        Task::Challenge { .. } | Task::Status(_) | Task::Verdict(_) => {}
        Task::Convey(view) => stop = &view.stop,
    }
    let values = context! {
        kind => kind(&visible.task),
        round => visible.round,
        rounds => visible.rounds,
        corrections => material::corrections(&visible.corrections, visible.language),
        uses_max => tools::USES_MAX,
        in_blocks => looks(&visible.task).is_some(),
        hypotheses_max, hypothesis, tools, stop,
    };
    fill("task", visible.language, values)
}

/// Returns what a prompt says of its own accord: the persona and the task.
fn instructions(visible: &Visible, want: &Want) -> Result<[String; 2], minijinja::Error> {
    let persona = context! { role => want.call.role.as_str(), today => visible.as_of.day() };
    Ok([fill("persona", visible.language, persona)?, task(visible)?])
}

impl Prompts for InvestigationPrompts {
    type Format = Investigation;

    fn render_within(
        &self,
        visible: &Visible,
        want: &Want,
        turns: &[TurnState],
        room: Room,
    ) -> Result<Prompt, RenderError> {
        let version = version(&visible.task, visible.language);
        let gone = || RenderError::Redacted { version };
        let broken = |error: minijinja::Error| RenderError::Template { version, why: error.to_string() };
        let [system, task] = instructions(visible, want).map_err(broken)?;
        let parts = material::parts(visible).ok_or_else(gone)?;
        let talk = tools::talk(turns, visible.language, room).ok_or_else(gone)?;
        let fixed = tokens::count(&system) + talk.tokens();
        let may_leave_out = room.input_tokens_max.is_some();
        let bounds = Bounds { version, budget: INPUT_TOKENS, fixed, room };
        let fitted = bounds.fit(parts.iter().map(material::Part::section).collect(), |texts| {
            let shown = parts.iter().zip(texts).filter(|(_, text)| !may_leave_out || !text.is_empty());
            let shown = shown.map(|(part, text)| part.framed(text));
            shown.chain([task.clone()]).collect::<Vec<_>>().join("\n\n")
        })?;
        let (shape, public) = match shapes::shape(visible) {
            Some((shape, public)) => (Some(shape), public),
            None => (None, PublicPart::Whole),
        };
        let system = Message { speaker: Speaker::System, text: system.into() };
        let asked = Message { speaker: Speaker::User, text: fitted.text.into() };
        Ok(Prompt {
            version,
            omitted: fitted.omitted.into_iter().chain(talk.omitted).collect(),
            messages: [system, asked].into_iter().chain(talk.messages).collect(),
            shape,
            output_tokens_max: room.output(OUTPUT_TOKENS),
            tokens: fitted.tokens,
            public,
            web_search: false,
            web_searches_max: None,
        })
    }

    fn parse(
        &self,
        visible: &Visible,
        want: &Want,
        reply: Received<'_>,
    ) -> Result<Reading<Answer>, ParseError> {
        let (said, repairs) = match messages::blocks(reply, act(&visible.task))? {
            Some((blocks, repairs)) => (blocks, repairs),
            None => {
                let repairs = reply.free_text_repairs()?;
                (tags::without_thinking(complete_lines(reply)), repairs)
            }
        };
        if let (Task::Investigate(_), Some(_)) = (&visible.task, looks(&visible.task)) {
            let asked = tools::asked(&said);
            if !asked.is_empty() {
                return Ok(Reading::Tools(asked));
            }
        }
        let answer = answer(&visible.task, &said)?;
        copied::check(visible, want, &answer.said)?;
        let unchecked = unchecked(&visible.task, &answer.said);
        if !unchecked.is_empty() {
            return Ok(Reading::Tools(checks(unchecked)));
        }
        Ok(Reading::Answer { answer, repairs })
    }
}

/// Returns the lines of a reply that are written completely (rule K18): a number may be longer than where it was cut.
fn complete_lines(reply: Received<'_>) -> &str {
    let text = reply.text;
    if reply.is_cut { text.rsplit_once('\n').map_or("", |(lines, _)| lines) } else { text }
}

/// Returns what a task may still look up or have compared, unless that is nothing. Its reply is then in message blocks, among
/// which tools can be asked for, and otherwise a JSON object.
fn looks(task: &Task) -> Option<&Looks> {
    let looks = match task {
        Task::Investigate(view) => &view.looks,
        Task::Challenge { looks, .. } => looks,
        Task::Propose { .. } | Task::Status(_) | Task::Verdict(_) | Task::Convey(_) => return None,
    };
    Some(looks).filter(|looks| looks.turns_left > 0)
}

/// Returns what is still to be compared with the workspace before an answer counts: evidence of reports and of challenges.
fn unchecked(task: &Task, said: &Said) -> Vec<String> {
    let Some(looks) = looks(task) else { return Vec::new() };
    let evidence: Vec<&Evidence> = match said {
        Said::Report(report) => report.evidence().map(|(_, evidence)| evidence).collect(),
        Said::Challenges(challenges) => {
            challenges.iter().flat_map(|challenge| &challenge.counter_evidence).collect()
        }
        _ => return Vec::new(),
    };
    let asked = evidence.into_iter().filter_map(Evidence::check_arguments);
    let mut unchecked: Vec<String> = asked.filter(|asked| !looks.checked.contains(asked)).collect();
    unchecked.dedup();
    unchecked
}

fn checks(unchecked: Vec<String>) -> Vec<(ToolUse, String)> {
    let check = |(place, arguments)| {
        (ToolUse { tool: CHECK_TOOL.to_owned(), id: format!("check_{place}") }, arguments)
    };
    unchecked.into_iter().take(CHECKS_MAX).enumerate().map(check).collect()
}

/// Reads what was asked for, and notes what else the reply does.
fn answer(task: &Task, text: &str) -> Result<Answer, ParseError> {
    let act = act(task);
    let mut blocks = messages::read(text, act);
    let is_asked = |block: &Block| match (block, task) {
        (Block::Report(report), Task::Investigate(view)) => is_own(view, report.hypothesis),
        (block, _) => block.act() == act,
    };
    let asked: Vec<Block> = blocks.extract_if(.., |block| is_asked(block)).collect();
    let said = said(asked).or_else(|| nothing_to_challenge(task, text));
    let said = said.ok_or_else(|| ParseError { why: missing(task) })?;
    Ok(Answer { said, strays: messages::strays(&blocks) })
}

/// Returns what a task asks for.
fn act(task: &Task) -> Act {
    match task {
        Task::Propose { .. } => Act::Propose,
        Task::Investigate(_) => Act::Investigate,
        Task::Challenge { .. } => Act::Challenge,
        Task::Status(_) => Act::Assess,
        Task::Verdict(_) => Act::Judge,
        Task::Convey(_) => Act::Convey,
    }
}

fn is_own(view: &InvestigateView, named: Option<u32>) -> bool {
    named.is_none_or(|named| named == view.hypothesis)
}

fn nothing_to_challenge(task: &Task, text: &str) -> Option<Said> {
    let text = text.to_lowercase();
    let says_so = NO_CHALLENGE.iter().any(|none| text.contains(none));
    (matches!(task, Task::Challenge { .. }) && says_so).then(|| Said::Challenges(Vec::new()))
}

fn missing(task: &Task) -> String {
    match task {
        Task::Propose { .. } => "the reply has no [HYPOTHESES] block".to_owned(),
        Task::Investigate(view) => {
            format!("the reply has no [EVIDENCE REPORT] block on H{}", view.hypothesis)
        }
        Task::Challenge { .. } => "the reply has neither [CHALLENGE] blocks nor [NO CHALLENGE]".to_owned(),
        Task::Status(_) => "the reply has no [STATUS UPDATE] block".to_owned(),
        Task::Verdict(_) => "the reply has no [VERDICT] block".to_owned(),
        Task::Convey(_) => "the reply has no [CONCLUSION] block".to_owned(),
    }
}

/// Returns what blocks of one kind say: all of them where they are a list, else the last, because models draft.
fn said(blocks: Vec<Block>) -> Option<Said> {
    let (mut hypotheses, mut challenges) = (Vec::new(), Vec::new());
    let mut said = None;
    for block in blocks {
        said = Some(match block {
            Block::Hypotheses(more) => {
                hypotheses.extend(more);
                Said::Hypotheses(hypotheses.clone())
            }
            Block::Challenge(more) => {
                challenges.push(more);
                Said::Challenges(challenges.clone())
            }
            Block::Report(report) => Said::Report(report),
            Block::Status(status) => Said::Status(status),
            Block::Verdict(verdict) => Said::Verdict(verdict),
            Block::Conclusion(conclusion) => Said::Conclusion(conclusion),
        });
    }
    said
}

#[cfg(test)]
mod tests;
