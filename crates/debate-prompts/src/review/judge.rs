//! The call in which the judge looks at what a pair said, in the order drawn for it (rule V4).

use debate_core::formats::review::answer::{Answer, Feedback, Judgement};
use debate_core::formats::review::config::{JUDGE_INPUT_TOKENS, JUDGE_OUTPUT_TOKENS, Side};
use debate_core::formats::review::fact::Winner;
use debate_core::formats::review::visible::Visible;
use minijinja::context;
use serde::Deserialize;
use serde_json::Value;

use super::blocks::{self, Frame, Material, fill};
use crate::copies;
use crate::prediction::lenient::{self, Stated};
use crate::prediction::replies;
use crate::prompts::{ParseError, Prompt, PublicPart, Reading, Received, RenderError, ReplyShape};
use crate::room::Room;
use crate::schema::{self, list, number, object, one_of, text};

const VERSION: &str = "review/judge@4";

/// Keys that tell a judgement from other objects in a reply.
const KEYS: [&str; 3] = ["summary", "feedback", "winner"];

/// A judgement as it is replied, in the predecessor's shape.
#[derive(Debug, Deserialize)]
struct JudgementReply {
    #[serde(default, deserialize_with = "lenient::text")]
    summary: String,
    #[serde(default, deserialize_with = "lenient::items")]
    feedback: Vec<FeedbackReply>,
    #[serde(default, deserialize_with = "lenient::text")]
    winner: String,
}

/// What is said of one reviewer, as it is replied.
#[derive(Debug, Deserialize)]
struct FeedbackReply {
    #[serde(default, deserialize_with = "lenient::text")]
    role: String,
    #[serde(default)]
    argument_quality_score: Value,
    #[serde(default, deserialize_with = "lenient::texts")]
    argument_labels: Vec<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    policy_signal: String,
    /// Some replies name the winner with each reviewer, as the predecessor did.
    #[serde(default, deserialize_with = "lenient::text")]
    winner: String,
}

/// Renders the prompt of a judgement; the side `first` is shown first throughout.
pub(super) fn render(visible: &Visible, first: Side, room: Room) -> Result<Prompt, RenderError> {
    let material = Material::of(visible).ok_or(RenderError::Redacted { version: VERSION })?;
    let [system, task] = instructions(visible, first)?;
    Frame {
        version: VERSION,
        system,
        task,
        input_tokens_max: JUDGE_INPUT_TOKENS,
        output_tokens_max: JUDGE_OUTPUT_TOKENS,
        shape: Some(shape(visible)),
        public: PublicPart::Field("summary"),
    }
    .around(&material.blocks(first, None), room)
}

/// Returns what a prompt says of its own accord: the standing instructions and the task.
fn instructions(visible: &Visible, first: Side) -> Result<[String; 2], RenderError> {
    let names = context! {
        first => visible.pair.role(first).as_str(),
        second => visible.pair.role(first.other()).as_str(),
    };
    let standing = context! { language => blocks::language(visible), today => visible.as_of.day() };
    Ok([fill("review/judge_system@3", standing)?, fill(VERSION, names)?])
}

fn shape(visible: &Visible) -> ReplyShape {
    let names = Side::BOTH.map(|side| visible.pair.role(side).as_str());
    schema::shape("judgement", names.join("\n"), || {
        let feedback = object([
            ("role", one_of(&names)),
            ("argument_quality_score", number(10)),
            ("argument_labels", list(text(40), 2, 4)),
            ("policy_signal", text(300)),
        ]);
        object([
            ("summary", text(500)),
            ("feedback", list(feedback, 2, 2)),
            ("winner", one_of(&[names[0], names[1], Winner::Tie.as_str()])),
        ])
    })
}

/// Reads the reply to the prompt of a judgement; the side `first` was shown first.
pub(super) fn parse(
    visible: &Visible,
    first: Side,
    reply: Received<'_>,
) -> Result<Reading<Answer>, ParseError> {
    let (reply, repairs): (JudgementReply, _) = replies::read(reply, &KEYS, &["summary"])?;
    let of = |side| reply.feedback.iter().find(|feedback| names(visible, &feedback.role) == Some(side));
    let feedback = Side::BOTH.map(|side| of(side).map(read));
    let within = reply.feedback.iter().map(|feedback| feedback.winner.as_str());
    let winner = std::iter::once(reply.winner.as_str()).chain(within).find_map(|word| winner(visible, word));
    let is_scored =
        |side: usize| feedback[side].as_ref().is_some_and(|read| !read.argument_quality_score.is_nan());
    let missing = [("winner", winner.is_none()), ("score of both reviewers", !is_scored(0) || !is_scored(1))];
    if let Some(error) = replies::missing(&missing, &repairs) {
        return Err(error);
    }
    check_copies(visible, first, &reply)?;
    match (feedback, winner) {
        ([Some(of_a), Some(of_b)], Some(winner)) => {
            let judgement = Judgement { winner, feedback: [of_a, of_b], summary: reply.summary };
            Ok(Reading::Answer { answer: Answer::Judgement(judgement), repairs })
        }
        _ => Err(ParseError { why: "the reply does not judge both reviewers".to_owned() }),
    }
}

/// Returns an error where a judgement copies its own prompt (rule P27).
fn check_copies(visible: &Visible, first: Side, reply: &JudgementReply) -> Result<(), ParseError> {
    let [system, task] = instructions(visible, first)?;
    let signals = reply.feedback.iter().map(|feedback| ("policy_signal", &feedback.policy_signal));
    for (what, text) in [("summary", &reply.summary)].into_iter().chain(signals) {
        copies::check_instructions(text, &[&system, &task], &KEYS, what)?;
    }
    copies::check_shown(&reply.summary, blocks::heard(visible, None), || None, "summary")
}

fn read(reply: &FeedbackReply) -> Feedback {
    Feedback {
        argument_quality_score: score(&reply.argument_quality_score),
        argument_labels: reply.argument_labels.clone(),
        policy_signal: reply.policy_signal.clone(),
    }
}

/// Reads a score: a number, or a text such as `8.2` or `8.2/10`.
fn score(value: &Value) -> f64 {
    let stated = match value {
        Value::String(text) => {
            let number = text.trim().strip_suffix("/10").unwrap_or(text);
            Stated::of(&Value::from(number.trim()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Stated::of(value)
        }
    };
    // A percentage is no score of ten.
    stated.filter(|stated| !stated.percent).map_or(f64::NAN, |stated| stated.number)
}

/// Returns the side that a word names: a reviewer, or the predecessor's word for its side.
fn names(visible: &Visible, word: &str) -> Option<Side> {
    let word = word.trim().trim_matches(['"', '<', '>', '[', ']', '`']);
    Side::BOTH.into_iter().find(|side| {
        let role = visible.pair.role(*side).as_str();
        let side = match side {
            Side::A => Winner::RoleA,
            Side::B => Winner::RoleB,
        };
        word.eq_ignore_ascii_case(role) || word.eq_ignore_ascii_case(side.as_str())
    })
}

fn winner(visible: &Visible, word: &str) -> Option<Winner> {
    if word.trim().eq_ignore_ascii_case(Winner::Tie.as_str()) {
        return Some(Winner::Tie);
    }
    names(visible, word).map(|side| match side {
        Side::A => Winner::RoleA,
        Side::B => Winner::RoleB,
    })
}
