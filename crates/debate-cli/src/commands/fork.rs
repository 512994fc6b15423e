//! `debate fork`: goes on from a debate with one thing changed.

use std::io::{self, Write as _};
use std::thread;

use debate_core::fork::{Change, JudgeOrder};
use debate_core::id::{Role, Seq};
use debate_core::measures::pooling::Pooling;
use debate_engine::Fork as Wish;
use debate_prompts::tokens;

use super::ACTOR;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::holding::Holding;
use crate::model::ModelChoice;
use crate::own_prompts;

/// Go on from a debate with one thing changed
///
/// Earlier events stay in the parent's log and are not paid for again. Calls that the change makes void run again, such
/// as those that saw a removed role. A change of pooling calls no model. Another model answers what is asked after
/// the event where the debates part, so name an early one; without --at they part at the parent's end. The same
/// holds for another text of a prompt; the log then has a mark behind the version of each prompt of that format.
/// "debate diff" shows where a fork and its parent differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate fork 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --without optimist
  debate fork 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --pooling log_odds
  debate fork 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --judge-order reversed
  debate fork 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --at 40 --set model=openai:gpt-5-mini
  debate fork 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --at 40 --set model.roles.judge=openai:gpt-5-mini
  debate fork 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --at 40 --set prompt.prediction/persona=mine.txt
  debate fork 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --at 40 --seed 7")]
pub(crate) struct Fork {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// The last event that both share; moved forward where it would part an answer from what it came to
    #[arg(long, value_name = "EVENT", value_parser = clap::value_parser!(u64).range(1..))]
    at: Option<u64>,

    #[command(flatten)]
    wanted: Wanted,

    #[command(flatten)]
    holding: Holding,
}

/// The one thing that differs; nothing does where none is given.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Wanted {
    /// Ask another model what is asked from there on: model=MODEL, model.PURPOSE=MODEL or model.roles.ROLE=MODEL,
    /// purposes and roles as in a request's options.models, MODEL as in --model; or ask it with another text:
    /// prompt.NAME=FILE, names as in "debate prompts list"
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Option<String>,

    /// Remove a role, as if it had never taken part
    #[arg(long, value_name = "ROLE")]
    without: Option<String>,

    /// Show the judge the arguments in another order: reversed, or drawn from a seed
    #[arg(long, value_name = "ORDER", value_parser = judge_order)]
    judge_order: Option<JudgeOrder>,

    /// Pool the roles another way: linear, log_odds, extremised or trimmed
    #[arg(long, value_name = "NAME", value_parser = pooling)]
    pooling: Option<Pooling>,
}

fn judge_order(text: &str) -> Result<JudgeOrder, String> {
    let drawn = || text.parse().map(JudgeOrder::Drawn).map_err(|_| "write reversed, or a seed".to_owned());
    if text == "reversed" { Ok(JudgeOrder::Reversed) } else { drawn() }
}

fn pooling(text: &str) -> Result<Pooling, String> {
    let names = || Pooling::ALL.map(Pooling::as_str).join(", ");
    Pooling::named(text).ok_or_else(|| format!("write one of {}", names()))
}

impl Wanted {
    /// Returns the change, with the model that it names.
    fn change(&self) -> anyhow::Result<(Change, Option<ModelChoice>)> {
        if let Some(set) = &self.set {
            if let Some(prompt) = set.strip_prefix("prompt.") {
                own_prompts::take_one(prompt)?;
                return Ok((Change::Nothing, None));
            }
            let change = set.parse().map_err(|error| Failure::bad_input(format!("--set: {error}")))?;
            let Change::Model { choice, model } = change else {
                return Err(Failure::bad_input(
                    "--set: only models and prompts are set; see the other options",
                ));
            };
            let asked: ModelChoice =
                model.parse().map_err(|error| Failure::bad_input(format!("--set: {error}")))?;
            return Ok((Change::Model { choice, model: asked.name() }, Some(asked)));
        }
        let without = self.without.as_deref().map(|role| Change::Without(Role::from(role)));
        let order = self.judge_order.map(Change::JudgeOrder);
        let pooling = self.pooling.map(Change::Pooling);
        Ok((without.or(order).or(pooling).unwrap_or(Change::Nothing), None))
    }
}

impl Fork {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        thread::spawn(tokens::warm_up);
        let (change, model) = self.wanted.change()?;
        let mut options = options.clone();
        options.offer.extend(model);
        let settings = options.settings();
        let app = AppContext::forking(&options, settings).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let wish = Wish { parent: id, at: self.at.map(Seq), change, actor: ACTOR.to_owned() };
        let forked = match app.engine.fork(wish).await {
            Ok(forked) => forked,
            Err(error) => {
                app.close().await;
                return Err(error.into());
            }
        };
        if self.at.is_some_and(|at| at < forked.at.0) {
            writeln!(io::stderr(), "forked at event {}, behind what an answer came to", forked.at)?;
        }
        let debate = forked.debate.ok_or_else(|| anyhow::anyhow!("the fork has no name"))?;
        self.holding.hold(&options, app, debate, Seq::START).await
    }
}
