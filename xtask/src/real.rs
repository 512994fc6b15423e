//! `cargo xtask real`: every format and mode with small real models, on this machine alone.
//!
//! It installs a model server and the models below the target folder. Results are kept there too, one file for each
//! debate and model, so that a second run continues where the first one stopped.

pub(crate) mod child;
mod counts;
mod debate;
mod faults;
mod machine;
mod plan;
mod results;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::json;

use crate::cargo::Workspace;
use crate::peers::install;
use counts::Counts;
use debate::Debate;
use plan::{Extent, Fault, Planned};
use results::{DebateResult, Setting};
use server::{Installed, ModelServer};

/// The most time that one run of this command starts debates in.
const RUN_MAX: Duration = Duration::from_secs(90 * 60);

/// The models, by the names under which they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    Smollm2,
    Gemma,
    Both,
}

/// What is asked for on the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// One prediction and one roundtable, with SmolLM2 unless --model says otherwise
    #[arg(long)]
    quick: bool,
    /// The models that debate [default: both]
    #[arg(long, value_enum)]
    model: Option<Model>,
    /// Only the debate whose model server is killed for 15 s
    #[arg(long, conflicts_with_all = ["quick", "interrupt"])]
    outage: bool,
    /// Only the debate whose process is killed, and which is resumed
    #[arg(long, conflicts_with = "quick")]
    interrupt: bool,
    /// Threads of the model server, 0 for one per core; 1 is faster where other programs keep the cores busy
    #[arg(long, default_value_t = 0)]
    threads: u32,
    /// Forget the results of earlier runs of the same program
    #[arg(long)]
    fresh: bool,
    /// Write the results to docs/real-models.md
    #[arg(long)]
    record: bool,
    /// Print one JSON object as the last line
    #[arg(long)]
    json: bool,
}

/// A model of the lab.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    name: &'static str,
    /// Whether a fault of its debates fails the run. A base model is only reported.
    is_judged: bool,
    /// The deadline in the requests.
    deadline: Duration,
}

const SMOLLM2: Candidate =
    Candidate { name: "smollm2", is_judged: true, deadline: Duration::from_secs(60 * 60) };
const GEMMA: Candidate = Candidate { name: "gemma", is_judged: false, deadline: Duration::from_secs(45) };

/// Runs the debates and prints how each went.
///
/// # Errors
///
/// When something cannot be installed, built or started, or the time is over before every debate ran.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let lab = Lab::open(workspace, options)?;
    let todo = options.todo();
    let (started, mut results) = (Instant::now(), Vec::new());
    for (index, (candidate, debates)) in todo.iter().enumerate() {
        let done: usize = todo[..index].iter().map(|(_, debates)| debates.len()).sum();
        let total: usize = todo.iter().map(|(_, debates)| debates.len()).sum();
        results.extend(lab.run_all(*candidate, debates, [done, total], started)?);
    }
    let models: Vec<(&str, Vec<&DebateResult>)> = todo
        .iter()
        .map(|(candidate, _)| candidate.name)
        .map(|name| (name, results.iter().filter(|result| result.model == name).collect()))
        .collect();
    for (model, results) in &models {
        println!("\n{model}\n{}", results::table(results));
    }
    let date = results.iter().map(|result| result.date.clone()).max().unwrap_or_default();
    let setting = Setting {
        date,
        commit: machine::commit(workspace),
        machine: machine::describe(),
        options: options.command_line(),
    };
    if options.record {
        results::record(&workspace.root.join("docs/real-models.md"), &setting, &models)?;
    }
    let is_judged = |result: &&DebateResult| result.model == SMOLLM2.name;
    let failed: Vec<_> =
        results.iter().filter(is_judged).filter(|result| !result.faults.is_empty()).collect();
    println!();
    for result in &failed {
        println!("FAILED  {}: {}", result.debate, result.faults.join("; "));
    }
    let (ok, minutes) = (failed.is_empty(), started.elapsed().as_secs() / 60);
    println!("real {}: {} debates in {minutes} min", if ok { "passed" } else { "failed" }, results.len());
    if options.json {
        println!("{}", json!({ "task": "real", "ok": ok, "setting": setting, "results": results }));
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    /// Returns each model with its debates; disturbed debates are for the model that is judged, unless asked for.
    fn todo(&self) -> Vec<(Candidate, Vec<Planned>)> {
        let extent = match self {
            Self { quick: true, .. } => Extent::Quick,
            Self { outage: true, .. } => Extent::Faulty(Fault::Outage),
            Self { interrupt: true, .. } => Extent::Faulty(Fault::Interrupt),
            _ => Extent::Whole,
        };
        let default = if extent == Extent::Whole { Model::Both } else { Model::Smollm2 };
        let candidates: &[Candidate] = match self.model.unwrap_or(default) {
            Model::Smollm2 => &[SMOLLM2],
            Model::Gemma => &[GEMMA],
            Model::Both => &[SMOLLM2, GEMMA],
        };
        let debates = |candidate: &Candidate| {
            let mut debates = extent.debates();
            let takes_faults = candidate.is_judged || extent != Extent::Whole;
            debates.retain(|planned| takes_faults || planned.fault == Fault::None);
            debates
        };
        candidates.iter().map(|candidate| (*candidate, debates(candidate))).collect()
    }

    /// Returns the command without what only says where results go.
    fn command_line(&self) -> String {
        let flags = [("--quick", self.quick), ("--outage", self.outage), ("--interrupt", self.interrupt)];
        let mut command = "cargo xtask real".to_owned();
        for (flag, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            command.push_str(&format!(" {flag}"));
        }
        if self.threads > 0 {
            command.push_str(&format!(" --threads {}", self.threads));
        }
        if let Some(name) = self.model.and_then(|model| model.to_possible_value()) {
            command.push_str(&format!(" --model {}", name.get_name()));
        }
        command
    }
}

/// What every debate needs.
#[derive(Debug)]
struct Lab<'a> {
    workspace: &'a Workspace,
    installed: Installed<'a>,
    program: PathBuf,
    /// Where the results of this program are kept.
    folder: PathBuf,
}

impl<'a> Lab<'a> {
    fn open(workspace: &'a Workspace, options: &Options) -> Result<Self> {
        let folder = workspace.target.join("real");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let installed = Installed::install(workspace, &folder, options.threads)?;
        println!("building the program debate (release)");
        let program = install::rust_in(workspace, ".", "debate-cli", "debate")?;
        let folder = folder.join("results").join(machine::digest(&program)?);
        if options.fresh && folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        println!("results are kept in {}", folder.display());
        Ok(Self { workspace, installed, program, folder })
    }

    /// Runs the debates of one model that have no result yet, and returns the results of all.
    fn run_all(
        &self,
        candidate: Candidate,
        debates: &[Planned],
        [done, total]: [usize; 2],
        started: Instant,
    ) -> Result<Vec<DebateResult>> {
        let mut server = None;
        let mut results = Vec::new();
        for (index, planned) in debates.iter().enumerate() {
            let place = format!("[{}/{total}] {}: {}", done + index + 1, candidate.name, planned.name);
            let path = self.folder.join(candidate.name).join(planned.slug()).with_extension("json");
            let result = match read(&path)? {
                Some(result) => {
                    println!("{place} (from an earlier run)");
                    result
                }
                None if started.elapsed() > RUN_MAX => {
                    bail!(
                        "90 minutes are over after {} of {total} debates: run again to go on",
                        done + index
                    );
                }
                None => {
                    println!("{place}");
                    let server = ready(&mut server, &self.installed, candidate.name)?;
                    let result = self.run_one(candidate, planned, server)?;
                    fs::write(&path, serde_json::to_string_pretty(&result)?)
                        .with_context(|| format!("cannot write {}", path.display()))?;
                    result
                }
            };
            println!("    {}", result.line());
            results.push(result);
        }
        Ok(results)
    }

    fn run_one(
        &self,
        candidate: Candidate,
        planned: &Planned,
        server: &mut ModelServer<'_>,
    ) -> Result<DebateResult> {
        let deadline_ms = u64::try_from(candidate.deadline.as_millis())?;
        let request = planned.request(&self.workspace.root, deadline_ms)?;
        let started = Instant::now();
        let debate = Debate {
            program: &self.program,
            model: candidate.name,
            url: server.url(),
            folder: self.folder.join(candidate.name).join(planned.slug()),
            deadline: candidate.deadline,
            started,
        };
        let mut child = debate.run(&request)?;
        let disturbed = match planned.fault {
            Fault::None => debate.wait(&mut child, None).map(|_| None),
            Fault::Outage => faults::outage(&debate, &mut child, server).map(Some),
            Fault::Interrupt => faults::interrupt(&debate, child).map(Some),
        };
        let seconds = started.elapsed().as_secs();
        let log = debate.log().unwrap_or_default();
        let day = log.first().and_then(|event| event["at"].as_str()).and_then(|at| at.get(..10));
        let mut result = DebateResult {
            debate: planned.name.to_owned(),
            model: candidate.name.to_owned(),
            date: day.unwrap_or_default().to_owned(),
            seconds,
            counts: Counts::of(&log),
            verified: debate.verifies().unwrap_or(false),
            note: None,
            faults: Vec::new(),
        };
        match disturbed {
            Ok(cost) => {
                (result.note, result.faults) =
                    cost.map(|cost| (Some(cost.note), cost.faults)).unwrap_or_default();
            }
            Err(error) => result.faults.push(format!("{error:#}")),
        }
        result.judge(&debate.cause());
        Ok(result)
    }
}

/// Returns the server, started where it does not run.
fn ready<'a, 'b>(
    server: &'b mut Option<ModelServer<'a>>,
    installed: &'a Installed<'a>,
    model: &'static str,
) -> Result<&'b mut ModelServer<'a>> {
    match server {
        Some(server) => {
            if !server.is_running() {
                server.restart()?;
            }
            Ok(server)
        }
        None => Ok(server.insert(ModelServer::start(installed, model)?)),
    }
}

/// Returns the result of an earlier run.
fn read(path: &Path) -> Result<Option<DebateResult>> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(None) };
    let result = serde_json::from_str(&text);
    result.map(Some).with_context(|| format!("cannot read {}: run with --fresh", path.display()))
}
