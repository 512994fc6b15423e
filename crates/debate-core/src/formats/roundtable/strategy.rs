//! What makes a mode a mode (rules T1, T2, T4): data and three hooks. No mode has a loop of its own; there is one plan,
//! and it asks the mode's strategy.

use std::cmp::Reverse;

use super::agent::{Agent, Part, Stance};
use super::config::Config;
use super::mode::{Mode, Parallelization, Pattern};
use super::visible::{Context, Statistics};
use crate::measures::cross_reference::mentions;

/// The fewest letters of a name that is hidden inside other words too; shorter ones are words of their own.
const HIDDEN_LETTERS_MIN: usize = 3;

/// One mode.
#[derive(Debug)]
pub struct Strategy {
    /// Whether its agents wait for each other.
    pub pattern: Pattern,
    /// How much of a round may run side by side once parallelization is on.
    pub parallelization: Parallelization,
    /// What is done to what an agent may see, in order.
    pub processors: &'static [Processor],
    /// What is done to what an agent said, in order.
    pub validators: &'static [Validator],
    parts: fn(place: usize) -> Option<Part>,
}

/// Changes what an agent may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// Gives everybody a number for a name, the same through all rounds.
    Anonymization,
    /// Adds the statistics of the round before.
    Statistics,
}

/// Checks what an agent said, and mends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validator {
    /// Holds the stance to the one that the agent's part has to take.
    Stance,
    /// Brings the confidence into [0, 1].
    ConfidenceRange,
}

/// What a validator looks at, with what it changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claims {
    /// The stance taken, if any.
    pub stance: Option<Stance>,
    /// The confidence.
    pub confidence: f64,
    /// Whether the stance is not the one that the agent gave.
    pub forced: bool,
}

const CONFIDENCE: &[Validator] = &[Validator::ConfidenceRange];

const COLLABORATIVE: Strategy = Strategy {
    pattern: Pattern::Parallel,
    parallelization: Parallelization::Full,
    processors: &[],
    validators: CONFIDENCE,
    parts: |_| None,
};
const ADVERSARIAL: Strategy =
    Strategy { pattern: Pattern::Sequential, parallelization: Parallelization::None, ..COLLABORATIVE };
const DEVILS_ADVOCATE: Strategy = Strategy {
    pattern: Pattern::Sequential,
    parallelization: Parallelization::LastOnly,
    processors: &[],
    validators: &[Validator::Stance, Validator::ConfidenceRange],
    parts: |place| {
        Some(match place {
            0 => Part::Primary,
            1 => Part::Opposition,
            _later => Part::Evaluator,
        })
    },
};
const DELPHI: Strategy =
    Strategy { processors: &[Processor::Anonymization, Processor::Statistics], ..COLLABORATIVE };
const TEAMS: Strategy = Strategy {
    parts: |place| Some(if place.is_multiple_of(2) { Part::RedTeam } else { Part::BlueTeam }),
    ..COLLABORATIVE
};

impl Mode {
    /// Returns what makes this mode.
    #[must_use]
    pub const fn strategy(self) -> &'static Strategy {
        match self {
            // Experts get their parts from the perspectives that the request assigns.
            Self::Collaborative | Self::ExpertPanel => &COLLABORATIVE,
            Self::Adversarial | Self::Socratic => &ADVERSARIAL,
            Self::DevilsAdvocate => &DEVILS_ADVOCATE,
            Self::Delphi => &DELPHI,
            Self::RedTeamBlueTeam => &TEAMS,
        }
    }
}

impl Strategy {
    /// Hook: returns the part of the agent at a place, from 0.
    #[must_use]
    pub fn agent_part(&self, place: usize) -> Option<Part> {
        (self.parts)(place)
    }

    /// Hook: changes what an agent may see.
    #[must_use]
    pub fn transform_context(
        &self,
        config: &Config,
        statistics: Option<&Statistics>,
        context: Context,
    ) -> Context {
        self.processors.iter().fold(context, |context, processor| match processor {
            Processor::Anonymization => anonymized(config, context),
            Processor::Statistics => Context { statistics: statistics.cloned(), ..context },
        })
    }

    /// Hook: checks and mends what an agent claims.
    #[must_use]
    pub fn validate_response(&self, part: Option<Part>, claims: Claims) -> Claims {
        self.validators.iter().fold(claims, |claims, validator| match validator {
            Validator::Stance => match part.and_then(Part::stance) {
                Some(expected) if claims.stance != Some(expected) => {
                    Claims { stance: Some(expected), forced: true, ..claims }
                }
                Some(_) | None => claims,
            },
            Validator::ConfidenceRange => Claims { confidence: claims.confidence.clamp(0.0, 1.0), ..claims },
        })
    }

    /// Returns whether names are hidden.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.processors.contains(&Processor::Anonymization)
    }
}

/// Returns what stands for an agent's name where names are hidden.
#[must_use]
pub fn label(agent: &Agent) -> String {
    format!("Participant {}", agent.number)
}

/// Hides all names: those of speakers, and those that stand in their words.
fn anonymized(config: &Config, mut context: Context) -> Context {
    let of = |name: &str| config.agents.iter().find(|agent| agent.name.as_str() == name).map(label);
    context.name = of(&context.name).unwrap_or(context.name);
    for shown in &mut context.responses {
        shown.name = of(&shown.name).unwrap_or_else(|| shown.name.clone());
        if let Some(words) = &mut shown.words {
            words.position = hidden(config, &words.position);
            words.reasoning = hidden(config, &words.reasoning);
        }
    }
    context
}

/// Puts labels in the place of names. Every place of the text is looked at once: what stands for one agent's name is
/// never taken for another's, and where several begin, the longest is meant, so that a label stays one.
fn hidden(config: &Config, text: &str) -> String {
    let labels = config.agents.iter().map(|agent| (label(agent), label(agent)));
    let named = config.agents.iter().filter(|agent| agent.name.as_str().len() >= HIDDEN_LETTERS_MIN);
    let named = named.map(|agent| (agent.name.to_string(), label(agent)));
    let known: Vec<(String, String)> = labels.chain(named).collect();
    let places = |(from, to): &'_ (String, String)| {
        let (length, to) = (from.len(), to.clone());
        mentions(text, from).into_iter().map(move |at| (at, Reverse(length), to.clone())).collect::<Vec<_>>()
    };
    let mut found: Vec<(usize, Reverse<usize>, String)> = known.iter().flat_map(places).collect();
    found.sort();
    let (mut shown, mut end) = (String::new(), 0);
    for (at, Reverse(length), label) in found {
        let Some(between) = text.get(end..at) else { continue };
        shown.push_str(between);
        shown.push_str(&label);
        end = at + length;
    }
    shown.push_str(&text[end..]);
    shown
}
