//! Carrying out tools: each asks the caller's session, and says what it got.

use std::time::Duration;

use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::roundtable::agent::{Part, Perspective};
use debate_core::formats::roundtable::call::{Call, Kind};
use debate_core::formats::roundtable::mode::Mode;
use debate_core::formats::roundtable::outcome::RoundtableResult;
use debate_core::formats::roundtable::{Roundtable, evidence, markdown, strategy};
use debate_core::prose::Texts;
use debate_core::request::added::{AddedRounds, ROUNDS_ADDED_DEFAULT};
use debate_core::request::{Violation, Violations};
use debate_engine::Control;
use debate_grpc::refusal::Refusal;
use debate_grpc::tokens::Scope;
use debate_grpc::{Opening, TenantSession, debate_json, listed_json};
use debate_proto::v1;
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::following::{Follower, follow};
use crate::layers;
use crate::tools::{Act, Spec, WAIT_S_DEFAULT};

/// Runs a tool for a caller. `follower` receives the progress of a roundtable while the tool waits for it.
pub(crate) async fn carry_out(
    spec: &Spec,
    arguments: Arguments,
    session: &TenantSession,
    follower: Follower,
) -> Result<Value, Refusal> {
    session.check_scope(if spec.writes { Scope::Write } else { Scope::Read })?;
    let id = arguments.debate_id().to_owned();
    match spec.act {
        Act::Start => start(arguments, session, follower).await,
        Act::Continue => {
            let rounds = arguments.whole("rounds").and_then(|rounds| u32::try_from(rounds).ok());
            let rounds = rounds.unwrap_or(ROUNDS_ADDED_DEFAULT);
            let focus = arguments.text("focus").map(str::to_owned);
            roundtable(session, &id).await?;
            session.continue_debate(&id, AddedRounds { rounds, focus }).await?;
            waited(session, &id, &arguments, follower).await
        }
        Act::Control => {
            roundtable(session, &id).await?;
            let reason = || arguments.text("reason").unwrap_or("stopped by its client").to_owned();
            let control = match arguments.text("action") {
                Some("pause") => Control::Pause,
                Some("resume") => Control::Resume,
                Some(_) | None => Control::Cancel { reason: reason() },
            };
            Ok(standing(&session.control(&id, control).await?))
        }
        Act::Consensus => Ok(layers::consensus(&result(session, &id).await?)),
        Act::Agents => agents(session, &id).await,
        Act::List => list(session, &arguments).await,
        Act::Round => round(session, &id, arguments.round().unwrap_or_default()).await,
        Act::Response => {
            let result = said(session, &id, arguments.text("agent")).await?;
            Ok(layers::responses(&result, arguments.text("agent"), arguments.round()))
        }
        Act::Thoughts => {
            let result = said(session, &id, arguments.text("agent")).await?;
            Ok(layers::thoughts(&result, arguments.text("agent")))
        }
        Act::Citations => {
            let result = said(session, &id, arguments.text("agent")).await?;
            Ok(layers::citations(&result, arguments.text("agent"), arguments.round()))
        }
        Act::Synthesize => Ok(layers::synthesis(&result(session, &id).await?)),
        Act::Export => {
            let debate = roundtable(session, &id).await?;
            let format = arguments.text("format").unwrap_or("markdown");
            let document = match format {
                "json" => AnyDebate::Roundtable(debate).result_json(Texts::Shown),
                _ => markdown::document(&Roundtable::outcome(&debate, Texts::Shown)),
            };
            Ok(json!({ "debate_id": id, "format": format, "document": document }))
        }
    }
}

async fn start(
    mut arguments: Arguments,
    session: &TenantSession,
    follower: Follower,
) -> Result<Value, Refusal> {
    let request = arguments.request.take().ok_or_else(|| Refusal::field("topic", "is missing"))?;
    let request_id = arguments.text("request_id").unwrap_or_default().to_owned();
    let opening = Opening { request_id, id_field: "request_id", ..Opening::default() };
    // Of arguments that were read nothing is wrong; if anything were, it would not be passed over.
    let read = |violations: Vec<Violation>| match violations.is_empty() {
        true => Ok(request),
        false => Err(violations.into_iter().collect::<Violations>()),
    };
    let started = session.start(read, opening).await?;
    waited(session, &started.debate.to_string(), &arguments, follower).await
}

/// Waits for the end of a roundtable, as long as its caller has the time, and returns where it stands.
async fn waited(
    session: &TenantSession,
    id: &str,
    arguments: &Arguments,
    follower: Follower,
) -> Result<Value, Refusal> {
    let patience = Duration::from_secs(arguments.whole("wait_s").unwrap_or(WAIT_S_DEFAULT));
    let debate = roundtable(session, id).await?;
    follow(session, &debate, patience, follower).await?;
    Ok(standing(&session.debate(id, None).await?))
}

/// Returns where a roundtable stands; its rounds are asked for one by one.
fn standing(debate: &AnyDebate) -> Value {
    let result: Value = serde_json::from_str(&debate.result_json(Texts::Shown)).unwrap_or_default();
    let mut standing = json!({ "debate": debate_json(debate), "result": result });
    if let Some(evidence) = standing["result"]["evidence"].as_object_mut() {
        evidence.remove("rounds");
    }
    standing
}

async fn roundtable(session: &TenantSession, id: &str) -> Result<Box<Debate<Roundtable>>, Refusal> {
    match session.debate(id, None).await? {
        AnyDebate::Roundtable(debate) => Ok(debate),
        other @ (AnyDebate::Prediction(_)
        | AnyDebate::Deliberation(_)
        | AnyDebate::Review(_)
        | AnyDebate::Investigation(_)) => {
            Err(Refusal::field("debate_id", format!("is of format {}, not roundtable", other.format())))
        }
    }
}

async fn result(session: &TenantSession, id: &str) -> Result<(RoundtableResult, &'static str), Refusal> {
    let debate = roundtable(session, id).await?;
    Ok((Roundtable::outcome(&debate, Texts::Shown), debate.lifecycle().as_str()))
}

/// Returns the result of a roundtable at which an agent sits, where one is named.
async fn said(session: &TenantSession, id: &str, agent: Option<&str>) -> Result<RoundtableResult, Refusal> {
    let debate = roundtable(session, id).await?;
    let agents: Vec<&str> = debate.config().agents.iter().map(|agent| agent.name.as_str()).collect();
    if agent.is_some_and(|agent| !agents.contains(&agent)) {
        return Err(Refusal::field("agent", format!("must be one of {}", agents.join(", "))));
    }
    Ok(Roundtable::outcome(&debate, Texts::Shown))
}

async fn round(session: &TenantSession, id: &str, number: u32) -> Result<Value, Refusal> {
    let debate = roundtable(session, id).await?;
    let missing = || Refusal::NoPart { debate: debate.id(), part: format!("round {number} yet") };
    let entry = evidence::round(&debate, number, Texts::Shown).ok_or_else(missing)?;
    serde_json::to_value(entry).map_err(|error| Refusal::defect(&error))
}

async fn agents(session: &TenantSession, id: &str) -> Result<Value, Refusal> {
    let debate = if id.is_empty() { None } else { Some(roundtable(session, id).await?) };
    let agents = debate.iter().flat_map(|debate| {
        let config = debate.config();
        config.agents.iter().map(move |agent| {
            let asked = Call { kind: Kind::Respond, round: 1, agent: agent.name.clone() }.key();
            let spoke = |round: &u32| debate.state().standing(*round, &agent.name).is_some();
            let rounds: Vec<u32> = (1..=debate.state().rounds_spoken()).filter(spoke).collect();
            let is_anonymous = config.mode.strategy().is_anonymous();
            json!({
                "name": agent.name,
                "role": agent.part.map(Part::as_str),
                "shown_as": is_anonymous.then(|| strategy::label(agent)),
                "models": config.models(&asked),
                "rounds": rounds,
            })
        })
    });
    Ok(json!({
        "debate_id": debate.as_ref().map(|debate| debate.id()),
        "agents": agents.collect::<Vec<_>>(),
        "modes": Mode::ALL.map(Mode::as_str),
        "perspectives": Perspective::ALL.map(Perspective::as_str),
        "default_model": session.model_name(),
    }))
}

async fn list(session: &TenantSession, arguments: &Arguments) -> Result<Value, Refusal> {
    let state = arguments.text("state").map(|state| match state {
        "running" => v1::DebateState::Running,
        "paused" => v1::DebateState::Paused,
        "archived" => v1::DebateState::Archived,
        _ => v1::DebateState::Concluded,
    });
    let request = v1::ListDebatesRequest {
        format: Roundtable::NAME.to_owned(),
        page_size: arguments.whole("page_size").and_then(|size| u32::try_from(size).ok()).unwrap_or_default(),
        page_token: arguments.text("page_token").unwrap_or_default().to_owned(),
        states: state.into_iter().map(Into::into).collect(),
    };
    let page = session.page(&request).await?;
    let debates: Vec<Value> = page.debates.iter().map(listed_json).collect();
    let next = Some(page.next_page_token).filter(|token| !token.is_empty());
    Ok(json!({ "debates": debates, "next_page_token": next }))
}
