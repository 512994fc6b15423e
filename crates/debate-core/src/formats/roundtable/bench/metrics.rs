//! What the log of a roundtable measures.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::debate::Debate;
use crate::event::{Event, KernelEvent, Recorded};
use crate::formats::roundtable::call::Kind;
use crate::formats::roundtable::{Roundtable, evidence, plan};
use crate::id::{Role, Timestamp};
use crate::measures::summary;
use crate::prose::Texts;

/// The weights of a quality's parts: interaction, evidence, independence, completeness; their sum is 1.
const QUALITY_WEIGHTS: [f64; 4] = [0.4, 0.2, 0.2, 0.2];

/// What one roundtable measures, or several of one scenario on average.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// How long it took.
    pub latency: LatencyMetrics,
    /// How agents dealt with each other.
    pub interaction: InteractionMetrics,
    /// What they said.
    pub content: ContentMetrics,
    /// What it came to.
    pub consensus: ConsensusMetrics,
    /// Responses that were given, those when asked again left out.
    pub responses: f64,
    /// Their share of those that were expected in the rounds that were held, in [0, 1].
    pub completeness: f64,
}

/// How long a roundtable took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencyMetrics {
    /// From the first event to the last conclusion, in milliseconds.
    pub total_ms: f64,
    /// Each round from its opening to its closing, in milliseconds.
    pub per_round_ms: Vec<f64>,
    /// All answers of each agent together, in milliseconds.
    pub per_agent_ms: BTreeMap<Role, f64>,
}

/// How agents dealt with each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InteractionMetrics {
    /// Responses that refer to others.
    pub cross_reference_count: f64,
    /// The longest run of rounds with such responses.
    pub rebuttal_depth: f64,
    /// Questions of one round that somebody else took up in the next.
    pub question_response_pairs: f64,
}

/// What agents said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContentMetrics {
    /// The mean of all confidences, in [0, 1].
    pub avg_confidence: f64,
    /// Their population variance.
    pub confidence_variance: f64,
    /// Runs of tools by agent, repeated ones left out.
    pub tool_calls_per_agent: BTreeMap<Role, f64>,
    /// Sources that were named.
    pub citation_count: f64,
}

/// What a roundtable came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConsensusMetrics {
    /// The level of agreement after the last round, in [0, 1].
    pub agreement_level: f64,
    /// The first round after which no agent moved; the mean over the roundtables that have one, null if none
    /// has.
    pub convergence_round: Option<f64>,
    /// The share of roundtables that warn of groupthink, in [0, 1].
    pub groupthink_share: f64,
}

impl Metrics {
    /// Measures a roundtable by its log, of which `debate` is the fold.
    #[must_use]
    pub fn of(debate: &Debate<Roundtable>, log: &[Recorded<Roundtable>]) -> Self {
        let (config, state) = (debate.config(), debate.state());
        let evidence = evidence::of(debate, Texts::Withheld);
        let given: Vec<_> = state.responses(config).filter(|given| given.kind == Kind::Respond).collect();
        let confidences: Vec<f64> = given.iter().map(|given| given.confidence).collect();
        let sd = summary::population_sd(&confidences).unwrap_or_default();
        let expected = f64::from(state.rounds_spoken()) * config.agents.len() as f64;
        let verdict = state.verdict(state.rounds_judged());
        let interaction = evidence.interaction;
        Self {
            latency: latency(debate, log),
            interaction: InteractionMetrics {
                cross_reference_count: interaction.cross_references.into(),
                rebuttal_depth: interaction.rebuttal_depth.into(),
                question_response_pairs: interaction.question_response_pairs.into(),
            },
            content: ContentMetrics {
                avg_confidence: summary::mean(&confidences).unwrap_or_default(),
                confidence_variance: sd * sd,
                tool_calls_per_agent: tool_calls(debate, log),
                citation_count: evidence.citation_count.into(),
            },
            consensus: ConsensusMetrics {
                agreement_level: verdict.map(|verdict| verdict.agreement).unwrap_or_default(),
                convergence_round: evidence.convergence_round.map(Into::into),
                groupthink_share: f64::from(evidence.groupthink.is_some_and(|found| found.detected)),
            },
            responses: given.len() as f64,
            completeness: if expected > 0.0 { given.len() as f64 / expected } else { 0.0 },
        }
    }

    /// Returns the mean of several roundtables of one scenario; `None` of none.
    #[must_use]
    pub fn mean(all: &[Self]) -> Option<Self> {
        let mean = |of: &dyn Fn(&Self) -> f64| summary::mean(&all.iter().map(of).collect::<Vec<_>>());
        let found: Vec<f64> = all.iter().filter_map(|one| one.consensus.convergence_round).collect();
        let rounds = all.iter().map(|one| one.latency.per_round_ms.len()).max()?;
        let round_ms = |round: usize| {
            let held = all.iter().filter_map(|one| one.latency.per_round_ms.get(round).copied());
            summary::mean(&held.collect::<Vec<_>>())
        };
        Some(Self {
            latency: LatencyMetrics {
                total_ms: mean(&|one| one.latency.total_ms)?,
                per_round_ms: (0..rounds).filter_map(round_ms).collect(),
                per_agent_ms: by_agent(all, |one| &one.latency.per_agent_ms),
            },
            interaction: InteractionMetrics {
                cross_reference_count: mean(&|one| one.interaction.cross_reference_count)?,
                rebuttal_depth: mean(&|one| one.interaction.rebuttal_depth)?,
                question_response_pairs: mean(&|one| one.interaction.question_response_pairs)?,
            },
            content: ContentMetrics {
                avg_confidence: mean(&|one| one.content.avg_confidence)?,
                confidence_variance: mean(&|one| one.content.confidence_variance)?,
                tool_calls_per_agent: by_agent(all, |one| &one.content.tool_calls_per_agent),
                citation_count: mean(&|one| one.content.citation_count)?,
            },
            consensus: ConsensusMetrics {
                agreement_level: mean(&|one| one.consensus.agreement_level)?,
                convergence_round: summary::mean(&found),
                groupthink_share: mean(&|one| one.consensus.groupthink_share)?,
            },
            responses: mean(&|one| one.responses)?,
            completeness: mean(&|one| one.completeness)?,
        })
    }

    /// Returns how much agents dealt with each other: cross references + rebuttal depth + question–response pairs.
    #[must_use]
    pub fn interaction_index(&self) -> f64 {
        let InteractionMetrics { cross_reference_count, rebuttal_depth, question_response_pairs } =
            self.interaction;
        cross_reference_count + rebuttal_depth + question_response_pairs
    }

    /// Returns the quality in [0, 1]: 0.4 × share of responses that refer to others + 0.2 × sources a response, at most 1 +
    /// 0.2 × (1 − share that warns of groupthink) + 0.2 × completeness.
    #[must_use]
    pub fn quality_score(&self) -> f64 {
        let per_response =
            |count: f64| if self.responses > 0.0 { (count / self.responses).min(1.0) } else { 0.0 };
        let parts = [
            per_response(self.interaction.cross_reference_count),
            per_response(self.content.citation_count),
            1.0 - self.consensus.groupthink_share,
            self.completeness,
        ];
        QUALITY_WEIGHTS.iter().zip(parts).map(|(weight, part)| weight * part).sum()
    }
}

fn latency(debate: &Debate<Roundtable>, log: &[Recorded<Roundtable>]) -> LatencyMetrics {
    let mut rounds: BTreeMap<u32, (Option<Timestamp>, f64)> = BTreeMap::new();
    let mut per_agent_ms = of_agents(debate);
    let mut concluded_at = None;
    for recorded in log {
        match &recorded.event {
            Event::Kernel(KernelEvent::PhaseOpened(opened)) if opened.phase == plan::ROUND => {
                rounds.entry(opened.round).or_default().0 = Some(recorded.at);
            }
            Event::Kernel(KernelEvent::PhaseClosed(closed)) if closed.phase == plan::ROUND => {
                let (opened_at, ms) = rounds.entry(closed.round).or_default();
                *ms += opened_at.take().map_or(0.0, |opened_at| recorded.at.since_ms(opened_at) as f64);
            }
            Event::Kernel(KernelEvent::CallAnswered(answered)) => {
                if let Some(ms) = per_agent_ms.get_mut(&answered.attempt.call.role) {
                    *ms += answered.reply.latency_ms as f64;
                }
            }
            Event::Kernel(KernelEvent::Concluded(_)) => concluded_at = Some(recorded.at),
            Event::Opened(_) | Event::Kernel(_) | Event::Fact(_) => {}
        }
    }
    let ends = log.first().zip(concluded_at);
    LatencyMetrics {
        total_ms: ends.map_or(0.0, |(first, last)| last.since_ms(first.at) as f64),
        per_round_ms: rounds.into_values().map(|(_, ms)| ms).collect(),
        per_agent_ms,
    }
}

fn tool_calls(debate: &Debate<Roundtable>, log: &[Recorded<Roundtable>]) -> BTreeMap<Role, f64> {
    let mut calls = of_agents(debate);
    for recorded in log {
        if let Event::Kernel(KernelEvent::ToolStarted(started)) = &recorded.event
            && started.attempt == 1
            && let Some(count) = calls.get_mut(&started.call.role)
        {
            *count += 1.0;
        }
    }
    calls
}

fn of_agents(debate: &Debate<Roundtable>) -> BTreeMap<Role, f64> {
    debate.config().agents.iter().map(|agent| (agent.name.clone(), 0.0)).collect()
}

fn by_agent(all: &[Metrics], of: fn(&Metrics) -> &BTreeMap<Role, f64>) -> BTreeMap<Role, f64> {
    let mut sums: BTreeMap<Role, (f64, f64)> = BTreeMap::new();
    for (agent, value) in all.iter().flat_map(of) {
        let (sum, count) = sums.entry(agent.clone()).or_default();
        (*sum, *count) = (*sum + value, *count + 1.0);
    }
    sums.into_iter().map(|(agent, (sum, count))| (agent, sum / count)).collect()
}
