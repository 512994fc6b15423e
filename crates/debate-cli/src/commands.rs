//! The commands, one file each; a file's doc comment on its arguments is the command's help.

mod archive;
mod backtest;
mod bench;
mod calibration;
mod cancel;
mod checkpoint;
mod completions;
mod config;
mod continuing;
mod diff;
mod doctor;
mod export;
mod flags;
mod fork;
mod golden;
pub(crate) mod help;
mod import;
mod influence;
mod keys;
mod list;
mod log;
mod mcp;
mod policy;
mod prompts;
mod redact;
mod replay;
mod report;
mod resolve;
mod restore;
mod resume;
mod review;
mod run;
mod serve;
mod show;
mod token;
mod verify;
mod watch;

use std::io::{self, Write as _};

use clap::Subcommand;

use crate::args::Args;
use crate::exit::End;

/// Who starts, forks, cancels and is recorded as having done so.
pub(crate) const ACTOR: &str = "cli";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Run),
    Review(review::Review),
    Serve(Box<serve::Serve>),
    Mcp(mcp::Mcp),
    Token(token::Token),
    List(list::List),
    Show(show::Show),
    Watch(watch::Watch),
    Log(log::Log),
    Replay(replay::Replay),
    Verify(verify::Verify),
    Report(report::Report),
    Checkpoint(checkpoint::Checkpoint),
    Export(export::Export),
    Import(import::Import),
    Archive(archive::Archive),
    Restore(restore::Restore),
    Keys(keys::Keys),
    Cancel(cancel::Cancel),
    Resolve(resolve::Resolve),
    Resume(resume::Resume),
    Continue(continuing::Continue),
    Fork(fork::Fork),
    Diff(diff::Diff),
    Calibration(calibration::Calibration),
    Backtest(backtest::Backtest),
    Influence(influence::Influence),
    Redact(redact::Redact),
    Policy(policy::Policy),
    Prompts(prompts::Prompts),
    Golden(golden::Golden),
    Flags(flags::Flags),
    Config(config::Config),
    Doctor(doctor::Doctor),
    Bench(bench::Bench),
    Completions(completions::Completions),
    Help(help::Help),
}

/// Carries out a command.
pub(crate) async fn run(args: Args) -> anyhow::Result<End> {
    let options = &args.options;
    match args.command {
        Command::Run(run) => run.run(options).await,
        Command::Review(review) => review.run(options).await,
        Command::Serve(serve) => serve.run(options).await,
        Command::Mcp(mcp) => mcp.run(options).await,
        Command::Token(token) => token.run(),
        Command::List(list) => list.run(options).await,
        Command::Show(show) => show.run(options).await,
        Command::Watch(watch) => watch.run(options).await,
        Command::Log(log) => log.run(options).await,
        Command::Replay(replay) => replay.run(options).await,
        Command::Verify(verify) => verify.run(options).await,
        Command::Report(report) => report.run(options).await,
        Command::Checkpoint(checkpoint) => checkpoint.run(options).await,
        Command::Export(export) => export.run(options).await,
        Command::Import(import) => import.run(options).await,
        Command::Archive(archive) => archive.run(options).await,
        Command::Restore(restore) => restore.run(options).await,
        Command::Keys(keys) => keys.run(),
        Command::Cancel(cancel) => cancel.run(options).await,
        Command::Resolve(resolve) => resolve.run(options).await,
        Command::Resume(resume) => resume.run(options).await,
        Command::Continue(more) => more.run(options).await,
        Command::Fork(fork) => fork.run(options).await,
        Command::Diff(diff) => diff.run(options).await,
        Command::Calibration(calibration) => calibration.run(options).await,
        Command::Backtest(backtest) => backtest.run(options).await,
        Command::Influence(influence) => influence.run(options).await,
        Command::Redact(redact) => redact.run(options).await,
        Command::Policy(policy) => policy.run(options).await,
        Command::Prompts(prompts) => prompts.run(options),
        Command::Golden(golden) => golden.run(),
        Command::Flags(flags) => flags.run(options),
        Command::Config(config) => config.run(options),
        Command::Doctor(doctor) => doctor.run(options).await,
        Command::Bench(bench) => bench.run(options).await,
        Command::Completions(completions) => completions.run(),
        Command::Help(help) => help.run(),
    }
}

/// Prints a whole text to stdout.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
