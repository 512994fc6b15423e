//! A mind that debates: it reads the prompt it is given, as a model would, and makes up an answer of the shape asked
//! for.
//!
//! It knows the words of prompts, never the debate behind them: question, outcomes, priors, findings, variables, data
//! and the points of others are read from the text alone. What it quotes stands in the prompt; what it makes up, such
//! as precedents and counterexamples, is marked as simulated where it stands, and so is every answer as a whole.

mod answered;
mod argue;
mod deliberate;
mod investigate;
mod numbers;
mod phrases;
mod respond;
mod review;
mod room;
mod score;
mod sheet;
mod speech;
mod stance;
mod synthesise;
mod tone;

use self::sheet::Sheet;
use super::{Draw, Flaws, Mind, SimulatedConfig, SimulatedModel};
use crate::{ChatRequest, ReplySchema, Role};

/// The role that gives the synthesis.
const JUDGE: &str = "judge";

/// Debates: argues, scores and sums up in prediction debates, speaks in deliberations and at roundtables, argues and judges
/// in reviews, and plays every role of an investigation.
///
/// Roles lean as instructed: the optimist to the outcome that reads best, the pessimist to the one that reads
/// worst, the contrarian away from what most hold, the historian to the base rate, the judge to the middle; a role of
/// the request's own by the words of its persona. Forecasts start from the prior and move towards stronger points.
#[derive(Debug, Clone, Copy, Default)]
pub struct Debater;

/// Returns a simulated model that debates, named `simulated:…` after its settings.
#[must_use]
pub fn debater(config: SimulatedConfig) -> SimulatedModel<Debater> {
    SimulatedModel::new(config, Debater)
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Argument,
    Scores,
    Synthesis,
    Response,
    FreeText,
    Speech,
    Judgement,
    Proposal,
}

impl Kind {
    fn of(request: &ChatRequest) -> Self {
        match request.schema.as_ref().map(ReplySchema::name) {
            None if review::is_review(request) => Self::Speech,
            None => Self::FreeText,
            Some("judgement") if review::is_review(request) => Self::Judgement,
            Some("proposal") if review::is_proposal(request) => Self::Proposal,
            Some("scores") => Self::Scores,
            Some("synthesis") => Self::Synthesis,
            Some("response") => Self::Response,
            // Messages of an investigation, which are read from blocks of text too.
            Some("hypotheses" | "report" | "challenges" | "status" | "verdict" | "conclusion") => {
                Self::FreeText
            }
            Some(_) => Self::Argument,
        }
    }
}

impl Mind for Debater {
    fn reply(&self, request: &ChatRequest, draw: &mut Draw, flaws: &Flaws) -> String {
        let tokens_max = request.max_output_tokens as usize;
        match Kind::of(request) {
            Kind::Argument => argue::reply(&Sheet::read(request), tokens_max, draw, flaws),
            Kind::Scores => score::reply(request, tokens_max, draw),
            Kind::Synthesis => {
                let mut sheet = Sheet::read(request);
                // No points count as the role's own: the judge's are weighed like all others.
                sheet.task.role = "";
                synthesise::reply(&sheet, tokens_max, draw)
            }
            Kind::Response => respond::reply(request, draw),
            Kind::FreeText => {
                investigate::reply(request, draw).unwrap_or_else(|| deliberate::reply(request, draw))
            }
            Kind::Speech => review::speech(request, draw),
            Kind::Judgement => review::judgement(request, draw),
            Kind::Proposal => review::proposal(request),
        }
    }

    /// Returns the role that argues, or the judge for the synthesis and judgments; none for scores.
    fn role<'a>(&self, request: &'a ChatRequest) -> Option<&'a str> {
        match Kind::of(request) {
            Kind::Argument => {
                sheet::role(sheet::last_said(request, Role::User), sheet::last_said(request, Role::System))
            }
            Kind::Scores | Kind::Proposal => None,
            Kind::Synthesis | Kind::Judgement => Some(JUDGE),
            Kind::Response => respond::speaker(request),
            Kind::FreeText => investigate::speaker(request).or_else(|| deliberate::speaker(request)),
            Kind::Speech => review::speaker(request),
        }
    }
}
