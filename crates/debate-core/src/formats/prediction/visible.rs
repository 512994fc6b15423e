//! What one call of a prediction debate may see. A prompt is rendered from this and cannot show more: the opening
//! is blind (P4), the scorer is not shown who spoke (P3).

use super::config::{Brief, Config, Criterion, Dates, InputTokens, Phase, Preset};
use super::fact::ArgumentProse;
use super::point::PointId;
use crate::id::{OutcomeId, Role, Timestamp};
use crate::measures::distribution::Distribution;
use crate::prose::Prose;

/// What one call may see.
#[derive(Debug, Clone)]
pub enum Visible {
    /// For an argument.
    Argue(Box<ArgueView>),
    /// For the score of an argument.
    Score(Box<ScoreView>),
    /// For the synthesis.
    Synthesise(Box<SynthesisView>),
}

/// The question, as every call sees it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The subject in people's words.
    pub brief: Prose<Brief>,
    /// The possible answers, in order; prompts show aliases for them.
    pub outcomes: Vec<OutcomeId>,
    /// The moment whose day prompts state (rule K19).
    pub as_of: Timestamp,
    /// The moments that the question depends on.
    pub dates: Dates,
    /// How prompts are laid out.
    pub preset: Preset,
    /// The most input tokens of a prompt, by kind of call.
    pub input_tokens: InputTokens,
    /// The language of answers, a BCP 47 tag; that of the question where it is absent.
    pub language: Option<String>,
}

impl Subject {
    /// Returns the subject of a debate, asked as of this moment.
    #[must_use]
    pub fn of(config: &Config, brief: Prose<Brief>, as_of: Timestamp) -> Self {
        Self {
            brief,
            outcomes: config.outcomes.clone(),
            as_of,
            dates: config.dates,
            preset: config.preset(),
            input_tokens: config.input_tokens(),
            language: config.models.language.clone(),
        }
    }
}

/// What a role sees when it argues.
#[derive(Debug, Clone)]
pub struct ArgueView {
    /// The question.
    pub subject: Subject,
    /// Who is to speak.
    pub role: Role,
    /// The round, from 1.
    pub round: u32,
    /// All rounds there will be.
    pub rounds: u32,
    /// What the round is for.
    pub phase: Phase,
    /// The most tokens of the reply.
    pub max_argument_length: u32,
    /// Roles that may be rebutted: they have spoken, and are not this one.
    pub opponents: Vec<Role>,
    /// Earlier arguments, this role's own included, in the order in which they may be shown: the latest round first.
    pub points: Vec<Point>,
    /// Why the answer before was rejected.
    pub rejection: Prose<String>,
}

/// An argument that stands, as others see it.
#[derive(Debug, Clone)]
pub struct Point {
    /// How it is named.
    pub id: PointId,
    /// What was said.
    pub words: Words,
    /// The outcome it speaks for, by its place in the request.
    pub supports: usize,
    /// The role's distribution.
    pub probabilities: Distribution,
}

/// What an argument says, as all who may see it share it; its precedents are not shown.
#[derive(Debug, Clone, Default)]
pub struct Words(Prose<ArgumentProse>);

impl Words {
    /// Shows the words of an argument.
    #[must_use]
    pub fn of(prose: &Prose<ArgumentProse>) -> Self {
        Self(prose.clone())
    }

    /// Returns the argument, unless it was redacted.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        self.0.shown().map(|prose| prose.argument.as_str())
    }

    /// Returns what it claims, in one sentence; empty where it says none or was redacted.
    #[must_use]
    pub fn claim(&self) -> &str {
        self.0.shown().map_or("", |prose| &prose.claim)
    }

    /// Returns what it rests on; nothing where that was redacted.
    #[must_use]
    pub fn evidence_cited(&self) -> &[String] {
        self.0.shown().map_or(&[], |prose| &prose.evidence_cited)
    }
}

/// What the scorer sees: the question and one argument, without names of roles.
#[derive(Debug, Clone)]
pub struct ScoreView {
    /// The question.
    pub subject: Subject,
    /// What the round is for.
    pub phase: Phase,
    /// The criteria.
    pub criteria: Vec<Criterion>,
    /// What the argument says.
    pub words: Words,
    /// The outcome it speaks for, by its place in the request.
    pub supports: usize,
    /// How many precedents it brings.
    pub precedents: u32,
}

/// What the judge sees at the end.
#[derive(Debug, Clone)]
pub struct SynthesisView {
    /// The question.
    pub subject: Subject,
    /// The roles, in order.
    pub roles: Vec<Role>,
    /// Rounds held.
    pub rounds: u32,
    /// Every argument that stands, in the order drawn for the judge (rule P19).
    pub points: Vec<ScoredPoint>,
}

/// An argument with its composite score.
#[derive(Debug, Clone)]
pub struct ScoredPoint {
    /// The argument.
    pub point: Point,
    /// Its composite in [0, 1], where it was scored.
    pub composite: Option<f64>,
}
