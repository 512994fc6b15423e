//! A request for a roundtable, made valid once: JSON to rules, subject and limits, or all violations (rule K12).
//!
//! Fields are spelled in snake case, or as the seed's interfaces spell them (`perspectiveConfig`, `minCalls`). Flags of
//! the environment are not known here: the edge [admits](super::flags::Flags::admitted) those of the request with them.

mod schema;

use serde_json::Value;

use super::agent::{Agent, Assignment, Part, Perspective};
use super::call::Kind;
use super::config::{AGENTS_MIN, Brief, Config, DEADLINE_MS_DEFAULT, Haste, LIGHT, ROUNDS_DEFAULT, RULES};
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
    let named = fields.field("mode");
    let known_mode = named.value().map_or(Some(Mode::default()), |_| named.choice(&Mode::ALL, Mode::as_str));
    let mode = known_mode.unwrap_or_default();
    let seats = seats(&fields.required("agents"));
    let rounds = fields.field("rounds").whole(ROUNDTABLE_ROUNDS);
    let options = fields.field("options").object(&[
        "seed",
        "similarity",
        "models",
        "effort",
        "output_tokens",
        "language",
        "as_of",
        "limits",
    ]);
    let seed = options.field("seed").whole(0..=u64::MAX);
    let seed = seed.unwrap_or_else(|| drawn_seed(&topic, mode, &seats));
    let perspectives = fields.either("perspective_config", "perspectiveConfig");
    let agents = agents(known_mode, &seats, &perspectives, seed);
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
        tools_missing: Vec::new(),
        models: ModelPlan::default(),
        rules: RULES,
        agents,
    };
    config.models = asked_models(&options, &config);
    let asked =
        AskedLimits::read(&options.field("limits"), config.limits(DEADLINE_MS_DEFAULT).closing_tokens);
    let deadline_ms = asked.deadline_ms().unwrap_or(DEADLINE_MS_DEFAULT);
    let limits = asked.on_top_of(config.limits(deadline_ms));
    complaints.finish((config, Brief { topic }, limits))
}

/// A place at the table as it is asked for. What was refused of it is left out; the complaints tell.
struct Seat<'a> {
    name: Option<Role>,
    perspective: Option<Perspective>,
    /// Whether it has a perspective, also where that was refused.
    asks_perspective: bool,
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
        let is_named = |known: &Seat<'_>, name: &Role| {
            known.name.as_ref().is_some_and(|known| known.as_str().eq_ignore_ascii_case(name.as_str()))
        };
        if let Some(name) = &seat.name
            && seats.iter().any(|known| is_named(known, name))
        {
            seat.field.refuse(format_args!("{:?} is given more than once", name.as_str()));
        }
        seats.push(seat);
    }
    seats
}

/// Reads an agent, written as a name or as an object; of one whose name is refused the rest is looked at, too.
fn seat(item: Field<'_>) -> Option<Seat<'_>> {
    if matches!(item.value(), Some(Value::String(_))) {
        let name = item.name().map(Role::from);
        return Some(Seat { name, perspective: None, asks_perspective: false, field: item });
    }
    let agent = item.object(&["name", "perspective"]);
    let perspective = agent.field("perspective").choice(&Perspective::ALL, Perspective::as_str);
    let name = agent.required("name").name().map(Role::from);
    let asks_perspective = item.has("perspective");
    let is_read = matches!(item.value(), Some(Value::Object(_)));
    is_read.then_some(Seat { name, perspective, asks_perspective, field: item })
}

/// Gives every agent its number and its part (rules T1, T2, T7); the mode is none where it was refused.
fn agents(mode: Option<Mode>, seats: &[Seat<'_>], perspectives: &Field<'_>, seed: u64) -> Vec<Agent> {
    let experts = match mode {
        None | Some(Mode::ExpertPanel) => experts(mode, seats, perspectives, seed),
        Some(
            Mode::Collaborative
            | Mode::Adversarial
            | Mode::Socratic
            | Mode::DevilsAdvocate
            | Mode::Delphi
            | Mode::RedTeamBlueTeam,
        ) => {
            let only = "is for the mode expert-panel alone";
            if perspectives.value().is_some() {
                perspectives.refuse(only);
            }
            let asking = seats.iter().filter(|seat| seat.asks_perspective);
            asking.for_each(|seat| seat.field.refuse(format_args!("has a perspective, which {only}")));
            Vec::new()
        }
    };
    let strategy = mode.unwrap_or_default().strategy();
    let numbers = permutation(seed, seats.len());
    let seated = seats.iter().zip(numbers).enumerate();
    let agent = |(place, (seat, number)): (usize, (&Seat<'_>, usize))| {
        Some(Agent {
            name: seat.name.clone()?,
            number: u32::try_from(number + 1).unwrap_or(u32::MAX),
            part: experts.get(place).copied().flatten().or_else(|| strategy.agent_part(place)),
        })
    };
    seated.filter_map(agent).collect()
}

/// Returns the perspective of every seat; none if their assignment is unknown.
///
/// Where the mode was refused, only that is which would be wrong in any.
fn experts(mode: Option<Mode>, seats: &[Seat<'_>], config: &Field<'_>, seed: u64) -> Vec<Option<Part>> {
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
    let Some(assignment) = assignment(config, &fields) else { return Vec::new() };
    let order = match assignment {
        Assignment::RoundRobin | Assignment::Explicit => (0..seats.len()).collect(),
        Assignment::Random => permutation(seed, seats.len()),
    };
    let given = seats.iter().zip(order).map(|(seat, place)| match assignment {
        Assignment::Explicit => {
            if mode.is_some() && !seat.asks_perspective {
                seat.field.refuse("needs a perspective, since perspectives are assigned explicitly");
            }
            seat.perspective
        }
        Assignment::RoundRobin | Assignment::Random => {
            if seat.asks_perspective {
                seat.field.refuse("has a perspective, which only assignment_strategy explicit gives");
            }
            Some(known[place % known.len()])
        }
    });
    given.map(|perspective| perspective.map(Part::Expert)).collect()
}

/// Returns how perspectives are assigned; none where that was refused.
fn assignment(config: &Field<'_>, fields: &Fields<'_>) -> Option<Assignment> {
    let stated = fields.either("assignment_strategy", "assignmentStrategy");
    match (config.value(), stated.value()) {
        (_, Some(_)) => stated.choice(&Assignment::ALL, Assignment::as_str),
        (None | Some(Value::Object(_)), None) => Some(Assignment::default()),
        (Some(_), None) => None,
    }
}

/// Returns the seed of a request that gives none: it follows from what is asked, not from how it is run.
fn drawn_seed(topic: &str, mode: Mode, seats: &[Seat<'_>]) -> u64 {
    let names = seats.iter().filter_map(|seat| seat.name.as_ref()).map(Role::as_str);
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
fn asked_models(options: &Fields<'_>, config: &Config) -> ModelPlan {
    let field = &options.field("models");
    let is_agent = |name: &str| config.agents.iter().any(|agent| agent.name.as_str() == name);
    let kinds = [Kind::Respond.as_str(), Kind::Repoll.as_str(), LIGHT];
    let mut plan = models::read(field, &kinds, is_agent, "agents");
    models::read_asking(&mut plan, options, &kinds[..2], is_agent, "agents");
    plan.as_of = options.field("as_of").moment();
    if config.sequential.use_light_model && !models::is_named(field, LIGHT) {
        field.refuse("must name a model under light, since sequential.use_light_model asks for it");
    }
    plan
}

#[cfg(test)]
mod tests;
