//! `debate doctor`: whether store and model can be used, and how fast the model really is.

mod advice;
mod machine;
mod models;
mod openings;
mod probe;
mod stores;

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::json;

use self::advice::Found;
use self::models::Ready;
use self::probe::Measured;
use super::print;
use crate::args::Options;
use crate::exit::End;
use crate::plain::one_line;

/// Check store, machine and model, and measure the model
///
/// The store is opened as a server would open it: the schema is brought up to date, where this login may do that. Of a
/// server's own options, from the environment and --config, the files of TLS are checked.
///
/// A real model is asked one small question, and then for the five opening arguments of an example at once, with the
/// limits of a debate; how many tokens that takes at most is said before. From the answers follow how long a debate
/// takes, and which settings help. A simulated model is not measured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate doctor
  OPENAI_API_KEY=… debate doctor --model openai:gpt-5-mini
  OPENAI_BASE_URL=http://localhost:11434/v1 debate doctor --model openai:llama3.2 --json | jq .estimate")]
pub(crate) struct Doctor {
    /// Print what was found as one JSON object
    #[arg(long)]
    json: bool,
}

/// Asks a model, and adds what there is to say of its answers; returns them, that to the small question first.
async fn measure(options: &Options, ready: &Ready, report: &mut Report) -> anyhow::Result<Vec<Measured>> {
    let (openings, time) = (openings::openings()?, options.settings().call_time);
    let (name, tokens) = (ready.model.name().to_owned(), probe::tokens_max(&openings));
    let at_once = openings.len();
    writeln!(
        io::stderr(),
        "asking {name} a small question, then {at_once} openings of a debate at once: at most {tokens} tokens, \
         and what it thinks"
    )?;
    let (check, hello) = probe::hello(ready, time).await;
    report.add(check)?;
    // What is wrong with the small question is wrong with the others.
    let Ok(hello) = hello else { return Ok(Vec::new()) };
    let (mut measured, mut failed) = (vec![hello], Vec::new());
    for (check, answered) in probe::at_once(ready, &openings, time).await {
        report.add(check)?;
        match answered {
            Ok(found) => measured.push(found),
            Err(error) => failed.push(error.kind),
        }
    }
    let found = Found {
        provider: ready.provider,
        answers: &measured[1..],
        failed: &failed,
        output_tokens_max: openings.iter().map(openings::Opening::output_tokens_max).max().unwrap_or(0),
        window: ready.model.window().await,
    };
    for check in found.checks() {
        report.add(check)?;
    }
    Ok(measured)
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// All is well.
    Ok,
    /// It works, and there is something to know.
    Warn,
    /// It does not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: String,
    verdict: Verdict,
    text: String,
    /// What a person can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Check {
    fn new(name: &str, verdict: Verdict, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), verdict, text: text.into(), remedy: None }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    fn line(&self) -> String {
        let verdict = match self.verdict {
            Verdict::Ok => "ok  ",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        let remedy = self.remedy.as_ref().map_or_else(String::new, |remedy| format!("; {remedy}"));
        format!("{verdict}  {:<7} {}", self.name, one_line(&format!("{}{remedy}", self.text)))
    }
}

/// What was found so far; lines are printed as they come, unless all is to be one object.
struct Report {
    json: bool,
    checks: Vec<Check>,
}

impl Report {
    fn add(&mut self, check: Check) -> io::Result<()> {
        if !self.json {
            let mut stdout = io::stdout().lock();
            writeln!(stdout, "{}", check.line())?;
            stdout.flush()?;
        }
        self.checks.push(check);
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.checks.iter().any(|check| check.verdict == Verdict::Fail)
    }
}

impl Doctor {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let mut report = Report { json: self.json, checks: Vec::new() };
        for check in stores::check(options).await {
            report.add(check)?;
        }
        for check in machine::check() {
            report.add(check)?;
        }
        let (checks, model) = models::check(options);
        for check in checks.into_iter().chain(models::searching(options)) {
            report.add(check)?;
        }
        let measured = match model {
            Some(model) => measure(options, &model, &mut report).await?,
            None => Vec::new(),
        };
        let estimate = advice::estimate(measured.get(1..).unwrap_or_default());
        if self.json {
            let found = json!({
                "ok": !report.has_failed(),
                "model": options.model.name(),
                "simulated": options.model.is_simulated(),
                "checks": report.checks,
                "calls": measured.iter().map(Measured::json).collect::<Vec<_>>(),
                "estimate": estimate,
            });
            print(&format!("{found}\n"))?;
        }
        Ok(if report.has_failed() { End::Unavailable } else { End::Done })
    }
}
