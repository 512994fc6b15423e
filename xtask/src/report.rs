//! A run of named steps: progress while it runs, a count and a plain closing line at its end.

use std::fmt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

/// How a step ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    Passed,
    /// What is missing, in words that a newcomer can act on.
    Skipped(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Passed,
    Skipped(String),
    Failed,
}

/// Steps that have run, in order; a failed step does not stop the next one.
#[derive(Debug)]
pub(crate) struct Report {
    task: &'static str,
    started: Instant,
    steps: Vec<(String, Verdict, Duration)>,
}

impl Report {
    pub(crate) fn new(task: &'static str) -> Self {
        Self { task, started: Instant::now(), steps: Vec::new() }
    }

    /// Runs one step and remembers how it ended.
    pub(crate) fn step(&mut self, name: &str, run: impl FnOnce() -> Result<Ended>) {
        println!("\n==> {} {}: {name}", self.task, self.steps.len() + 1);
        let started = Instant::now();
        let verdict = match run() {
            Ok(Ended::Passed) => Verdict::Passed,
            Ok(Ended::Skipped(why)) => {
                println!("skipped: {why}");
                Verdict::Skipped(why)
            }
            Err(error) => {
                println!("failed: {error:#}");
                Verdict::Failed
            }
        };
        self.steps.push((name.to_owned(), verdict, started.elapsed()));
    }

    /// Prints what happened and returns the exit code: failure when any step failed.
    pub(crate) fn close(self) -> ExitCode {
        println!("\n{self}");
        if self.count(|verdict| *verdict == Verdict::Failed) == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn count(&self, counts: impl Fn(&Verdict) -> bool) -> usize {
        self.steps.iter().filter(|(_, verdict, _)| counts(verdict)).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, verdict, took) in &self.steps {
            let seconds = took.as_secs_f64();
            match verdict {
                Verdict::Passed => writeln!(f, "  passed   {name} ({seconds:.1} s)")?,
                Verdict::Skipped(why) => writeln!(f, "  skipped  {name}: {why}")?,
                Verdict::Failed => writeln!(f, "  FAILED   {name} ({seconds:.1} s)")?,
            }
        }
        let passed = self.count(|verdict| *verdict == Verdict::Passed);
        let skipped = self.count(|verdict| matches!(verdict, Verdict::Skipped(_)));
        let failed = self.count(|verdict| *verdict == Verdict::Failed);
        let word = if failed == 0 { "passed" } else { "failed" };
        write!(
            f,
            "{} {word}: {passed} passed, {skipped} skipped, {failed} failed, in {} s",
            self.task,
            self.started.elapsed().as_secs()
        )
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_skip_is_counted_and_a_failure_stops_nothing() {
        let mut report = Report::new("test");
        report.step("one", || Ok(Ended::Passed));
        report.step("two", || bail!("broken"));
        report.step("three", || Ok(Ended::Skipped("node is not installed".to_owned())));
        let text = report.to_string();
        assert!(text.contains("skipped  three: node is not installed"), "{text}");
        assert!(text.contains("test failed: 1 passed, 1 skipped, 1 failed"), "{text}");
    }

    #[test]
    fn skips_alone_do_not_fail_a_run() {
        let mut report = Report::new("test");
        report.step("one", || Ok(Ended::Skipped("python3 is not installed".to_owned())));
        assert!(report.to_string().contains("test passed: 0 passed, 1 skipped, 0 failed"));
    }
}
