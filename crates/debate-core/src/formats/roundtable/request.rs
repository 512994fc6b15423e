//! A request for a roundtable, made valid once: JSON to rules, subject and limits, or all violations (rule K12).
//!
//! Fields are spelled in snake case, or as the seed's interfaces spell them (`perspectiveConfig`, `minCalls`). Flags of
//! the environment are not known here: the edge [admits](super::flags::Flags::admitted) those of the request with them.

mod schema;

use serde_json::Value;

use super::agent::{Agent, Assignment, Part, Perspective};
use super::call::Kind;
use super::config::{AGENTS_MIN, Brief, Config, DEADLINE_MS_DEFAULT, Haste, LIGHT, ROUNDS_DEFAULT};
use super::flags::Flags;
use super::mode::Mode;
use super::tool::Tool;
use crate::id::{Digest, Role};
use crate::limits::Limits;
use crate::measures::shuffle::permutation;
use crate::measures::similarity::Similarity;
use crate::models::ModelPlan;
use crate::request::limits::AskedLimits;
use crate::request::sizes::{PARTICIPANTS_MAX, RESPONSE_TOKENS, ROUNDTABLE_ROUNDS, TOPIC_CHARS_MAX};
use crate::request::{Complaints, Field, Fields, Violation, Violations, models};

pub use schema::schema;

/// The fields of a request, in both spellings.
pub const KNOWN: [&str; 13] = [
    "format",
    "topic",
    "mode",
    "agents",
    "rounds",
    "perspective_config",
    "perspectiveConfig",
    "flags",
    "sequential",
    "native_web_search",
    "nativeWebSearch",
    "tools",
    "options",
];

/// Makes rules, subject and limits of a request.
///
/// # Errors
/// Everything that is wrong with the request.
pub(in crate::formats) fn accept(
    request: &Value,
    complaints: Complaints,
) -> Result<(Config, Brief, Limits), Violations> {
    let fields = Fields::of_request(request, &KNOWN, &complaints);
    let topic = fields.required("topic").words(TOPIC_CHARS_MAX).unwrap_or_default().to_owned();
    let mode = fields.field("mode").choice(&Mode::ALL, Mode::as_str).unwrap_or_default();
    let seats = seats(&fields.required("agents"));
    let rounds = fields.field("rounds").whole(ROUNDTABLE_ROUNDS);
    let options = fields.field("options").object(&["seed", "similarity", "models", "limits"]);
    let seed = options.field("seed").whole(0..=u64::MAX);
    let seed = seed.unwrap_or_else(|| drawn_seed(&topic, mode, &seats));
    let perspectives = fields.either("perspective_config", "perspectiveConfig");
    let agents = agents(mode, &seats, &perspectives, seed);
    let flags = Flags::of_session(&fields.field("flags"));
    if let Err(Violation { field, reason }) = flags.check_session(mode) {
        complaints.add(&field, reason);
    }
    let mut config = Config {
        mode,
        rounds: rounds.map_or(ROUNDS_DEFAULT, |rounds| u32::try_from(rounds).unwrap_or(u32::MAX)),
        flags: flags.resolved(mode),
        sequential: haste(&fields.field("sequential")),
        similarity: options
            .field("similarity")
            .choice(&Similarity::ALL, Similarity::as_str)
            .unwrap_or_default(),
        native_web_search: fields.either("native_web_search", "nativeWebSearch").truth().unwrap_or_default(),
        tools: tools(&fields.field("tools")),
        models: ModelPlan::default(),
        agents,
    };
    config.models = asked_models(&options.field("models"), &config);
    let asked =
        AskedLimits::read(&options.field("limits"), config.limits(DEADLINE_MS_DEFAULT).closing_tokens);
    let deadline_ms = asked.deadline_ms().unwrap_or(DEADLINE_MS_DEFAULT);
    let limits = asked.on_top_of(config.limits(deadline_ms));
    complaints.finish((config, Brief { topic }, limits))
}

/// A place at the table as it is asked for.
struct Seat<'a> {
    name: Role,
    perspective: Option<Perspective>,
    field: Field<'a>,
}

/// Reads who sits at the table.
fn seats<'a>(list: &Field<'a>) -> Vec<Seat<'a>> {
    let items = list.items(PARTICIPANTS_MAX);
    if matches!(list.value(), Some(Value::Array(given)) if given.len() < AGENTS_MIN) {
        list.refuse(format_args!("must name at least {AGENTS_MIN} agents"));
    }
    let mut seats: Vec<Seat<'a>> = Vec::with_capacity(items.len());
    for item in items {
        let Some(seat) = seat(item) else { continue };
        let name = seat.name.as_str();
        if seats.iter().any(|known| known.name.as_str().eq_ignore_ascii_case(name)) {
            seat.field.refuse(format_args!("{name:?} is given more than once"));
        } else {
            seats.push(seat);
        }
    }
    seats
}

/// Reads an agent, written as a name or as an object.
fn seat(item: Field<'_>) -> Option<Seat<'_>> {
    if matches!(item.value(), Some(Value::String(_))) {
        return Some(Seat { name: item.name()?.into(), perspective: None, field: item });
    }
    let agent = item.object(&["name", "perspective"]);
    let perspective = agent.field("perspective").choice(&Perspective::ALL, Perspective::as_str);
    let field = agent.required("name");
    Some(Seat { name: field.name()?.into(), perspective, field: item })
}

/// Gives every agent its number and its part (rules T1, T2, T7).
fn agents(mode: Mode, seats: &[Seat<'_>], perspectives: &Field<'_>, seed: u64) -> Vec<Agent> {
    let experts = match mode {
        Mode::ExpertPanel => experts(seats, perspectives, seed),
        Mode::Collaborative
        | Mode::Adversarial
        | Mode::Socratic
        | Mode::DevilsAdvocate
        | Mode::Delphi
        | Mode::RedTeamBlueTeam => {
            let only = "is for the mode expert-panel alone";
            if perspectives.value().is_some() {
                perspectives.refuse(only);
            }
            let asking = seats.iter().filter(|seat| seat.perspective.is_some());
            asking.for_each(|seat| seat.field.refuse(format_args!("has a perspective, which {only}")));
            Vec::new()
        }
    };
    let numbers = permutation(seed, seats.len());
    let seated = seats.iter().zip(numbers).enumerate();
    let agent = |(place, (seat, number)): (usize, (&Seat<'_>, usize))| Agent {
        name: seat.name.clone(),
        number: u32::try_from(number + 1).unwrap_or(u32::MAX),
        part: experts.get(place).copied().flatten().or_else(|| mode.strategy().agent_part(place)),
    };
    seated.map(agent).collect()
}

/// Returns the perspective of every seat.
fn experts(seats: &[Seat<'_>], config: &Field<'_>, seed: u64) -> Vec<Option<Part>> {
    let fields = config.object(&["perspectives", "assignment_strategy", "assignmentStrategy"]);
    let list = fields.field("perspectives");
    let mut known: Vec<Perspective> = Vec::new();
    for item in list.items(Perspective::ALL.len()) {
        match item.choice(&Perspective::ALL, Perspective::as_str) {
            Some(perspective) if known.contains(&perspective) => {
                item.refuse(format_args!("{:?} is given more than once", perspective.as_str()));
            }
            Some(perspective) => known.push(perspective),
            None => {}
        }
    }
    if list.value().is_none() || known.is_empty() {
        known = Perspective::ALL.to_vec();
    }
    let assignment = fields.either("assignment_strategy", "assignmentStrategy");
    let assignment = assignment.choice(&Assignment::ALL, Assignment::as_str).unwrap_or_default();
    let order = match assignment {
        Assignment::RoundRobin | Assignment::Explicit => (0..seats.len()).collect(),
        Assignment::Random => permutation(seed, seats.len()),
    };
    let given = seats.iter().zip(order).map(|(seat, place)| match assignment {
        Assignment::Explicit => {
            if seat.perspective.is_none() {
                seat.field.refuse("needs a perspective, since perspectives are assigned explicitly");
            }
            seat.perspective
        }
        Assignment::RoundRobin | Assignment::Random => {
            if seat.perspective.is_some() {
                seat.field.refuse("has a perspective, which only assignment_strategy explicit gives");
            }
            Some(known[place % known.len()])
        }
    });
    given.map(|perspective| perspective.map(Part::Expert)).collect()
}

/// Returns the seed of a request that gives none: it follows from what is asked, not from how it is run.
fn drawn_seed(topic: &str, mode: Mode, seats: &[Seat<'_>]) -> u64 {
    let names = seats.iter().map(|seat| seat.name.as_str());
    let parts: Vec<&[u8]> = [topic, mode.as_str()].into_iter().chain(names).map(str::as_bytes).collect();
    Digest::of_parts(parts).as_seed()
}

/// Reads what shortens sequential modes (rule T8).
fn haste(field: &Field<'_>) -> Haste {
    let fields = field.object(&[
        "use_light_model",
        "useLightModel",
        "max_tokens",
        "maxTokens",
        "cache_tool_results",
        "cacheToolResults",
    ]);
    let tokens = fields.either("max_tokens", "maxTokens").whole(RESPONSE_TOKENS);
    Haste {
        use_light_model: fields.either("use_light_model", "useLightModel").truth().unwrap_or_default(),
        max_tokens: tokens.and_then(|tokens| u32::try_from(tokens).ok()),
        cache_tool_results: fields.either("cache_tool_results", "cacheToolResults").truth(),
    }
}

/// Reads which tools agents may ask for, each once (rules D9, T4).
fn tools(field: &Field<'_>) -> Vec<Tool> {
    let items = field.items(Tool::ALL.len());
    let mut tools = Vec::new();
    for tool in items.iter().filter_map(|item| item.choice(&Tool::ALL, Tool::as_str)) {
        if tools.contains(&tool) {
            field.refuse(format_args!("names {:?} more than once", tool.as_str()));
        } else {
            tools.push(tool);
        }
    }
    tools
}

/// Reads which models are asked, by kind of question and by agent.
fn asked_models(field: &Field<'_>, config: &Config) -> ModelPlan {
    let is_agent = |name: &str| config.agents.iter().any(|agent| agent.name.as_str() == name);
    let kinds = [Kind::Respond.as_str(), Kind::Repoll.as_str(), LIGHT];
    let plan = models::read(field, &kinds, is_agent, "agents");
    if config.sequential.use_light_model && !plan.purposes.contains_key(LIGHT) {
        field.refuse("must name a model under light, since sequential.use_light_model asks for it");
    }
    plan
}

#[cfg(test)]
mod tests;
