//! The command `debate`: run, serve, list, show, watch, log, replay, verify and cancel debates.
//!
//! The only place that picks a store and a model. It knows how things look, never what they mean.

mod admission;
mod app_context;
mod args;
mod asking;
mod believed_file;
mod bounded;
mod commands;
mod config;
mod debate_ref;
mod estimate;
mod event_line;
mod exit;
mod failures;
mod first_prompts;
mod flags;
mod follow;
mod handles;
mod holding;
mod lines;
mod live;
mod logging;
mod model;
mod own_prompts;
mod page;
mod plain;
mod prices;
mod private_file;
mod proof;
mod remote;
mod request_file;
mod search;
mod shown;
mod skills;
mod store;
mod telemetry;
mod terminal;
mod time_span;
mod workspace;

use std::process::ExitCode;

use crate::args::Args;
use crate::exit::End;
use crate::telemetry::Telemetry;

/// Debates make and drop many small texts; the system allocator takes a quarter longer over them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let argv: Vec<_> = std::env::args_os().collect();
    let ended = config::parse(&argv).and_then(runtime);
    match ended {
        Ok(end) => end.into(),
        Err(error) => {
            let end = exit::end_of(&error);
            if end != End::Done {
                eprintln!("error: {}", exit::one_line(&error));
            }
            end.into()
        }
    }
}

fn runtime(args: Args) -> anyhow::Result<End> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let telemetry = {
        let _within = runtime.enter();
        Telemetry::open(&args)?
    };
    logging::begin(&args.options, &telemetry)?;
    args.options.prompts.as_deref().map_or(Ok(()), own_prompts::take)?;
    let ended = runtime.block_on(commands::run(args));
    telemetry.close();
    // A second Ctrl-C or a blocked disk must not keep the process alive.
    runtime.shutdown_background();
    ended
}
