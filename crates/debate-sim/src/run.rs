//! One seed, one run: the drawn world, and where its outcome must not depend on the weather the same debates in fair
//! weather.

use std::collections::BTreeMap;
use std::fmt;

use debate_core::id::{Digest, Seq};

use crate::difference;
use crate::scenario::{Kind, Scenario, Weather};
use crate::store::CrashAt;
use crate::subject::{Deliberations, Investigations, Predictions, Probes, Reviews, Roundtables};
use crate::world::{self, WorldReport};

/// What a run came to.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Events of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// Calls started for each cause.
    pub causes: BTreeMap<String, u64>,
    /// Debates stopped for each budget.
    pub budgets: BTreeMap<String, u64>,
    /// The digest of all logs of the last run.
    pub digest: Digest,
    /// Runs.
    pub runs: u64,
    /// Runs whose outcome was compared with that in fair weather.
    pub compared: u64,
    /// Events in all.
    pub events: u64,
    /// Lives of the process.
    pub lives: u32,
    /// Questions asked.
    pub asked: u64,
}

/// A run broke something that must stay true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The arguments of `cargo xtask sim` that repeat it.
    pub arguments: String,
    /// The seed.
    pub seed: u64,
    /// What broke, one line each.
    pub findings: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: cargo xtask sim {}", self.seed, self.arguments)?;
        self.findings.iter().try_for_each(|finding| writeln!(f, "  {finding}"))
    }
}

/// Runs the world of a seed.
///
/// # Errors
/// What broke.
pub fn run(seed: u64, traced: bool) -> Result<Report, Failure> {
    run_scenario(&Scenario::of(seed), &seed.to_string(), traced)
}

/// Runs the first debate of a seed with one crash and nothing else: when the event `seq` is to be stored, before or
/// after it is.
///
/// # Errors
/// What broke.
pub fn run_with_crash(seed: u64, crash: CrashAt, traced: bool) -> Result<Report, Failure> {
    run_scenario(&crashing(seed, crash), &crash_arguments(seed, crash), traced)
}

/// Runs the first debate of a seed once for each of its events and once more, crashed before or after it was stored.
///
/// # Errors
/// What broke first.
pub fn crash_everywhere(seed: u64) -> Result<Report, Failure> {
    let calm = Scenario { debates: 1, ..Scenario::of(seed).calm() };
    let calm =
        run_world(&calm, false).map_err(|findings| failure(seed, format!("{seed} --calm"), findings))?;
    let mut all = Report::default();
    for seq in (1..=calm.events).map(Seq) {
        for stored in [false, true] {
            let crash = CrashAt { seq, stored };
            let failed = |findings| failure(seed, crash_arguments(seed, crash), findings);
            let world = run_world(&crashing(seed, crash), false).map_err(failed)?;
            let mut found = differences(&world, &calm);
            if world.lives != 2 {
                found.push(format!("{} lives instead of two", world.lives));
            }
            if !found.is_empty() {
                return Err(failed(found));
            }
            all.add(&Report::of(world, true));
        }
    }
    Ok(all)
}

fn crashing(seed: u64, crash: CrashAt) -> Scenario {
    let weather = Weather { crashes: vec![crash], ..Weather::default() };
    Scenario { weather, debates: 1, ..Scenario::of(seed).calm() }
}

fn crash_arguments(seed: u64, crash: CrashAt) -> String {
    format!("{seed} --crash-at {}{}", crash.seq, if crash.stored { " --stored" } else { "" })
}

/// Runs the debates of a seed in fair weather.
///
/// # Errors
/// What broke.
pub fn run_calm(seed: u64, traced: bool) -> Result<Report, Failure> {
    run_scenario(&Scenario::of(seed).calm(), &format!("{seed} --calm"), traced)
}

fn run_scenario(scenario: &Scenario, arguments: &str, traced: bool) -> Result<Report, Failure> {
    let failed = |findings| failure(scenario.seed, arguments.to_owned(), findings);
    let world = run_world(scenario, traced).map_err(failed)?;
    let is_compared = scenario.is_comparable();
    if is_compared {
        let calm = run_world(&scenario.calm(), false).map_err(|findings| {
            failed(findings.into_iter().map(|it| format!("in fair weather: {it}")).collect())
        })?;
        let differences = differences(&world, &calm);
        if !differences.is_empty() {
            return Err(failed(differences));
        }
    }
    Ok(Report::of(world, is_compared))
}

fn run_world(scenario: &Scenario, traced: bool) -> Result<WorldReport, Vec<String>> {
    match scenario.kind {
        Kind::Probe => world::run::<Probes>(scenario, traced),
        Kind::Prediction => world::run::<Predictions>(scenario, traced),
        Kind::Deliberation => world::run::<Deliberations>(scenario, traced),
        Kind::Roundtable => world::run::<Roundtables>(scenario, traced),
        Kind::Review => world::run::<Reviews>(scenario, traced),
        Kind::Investigation => world::run::<Investigations>(scenario, traced),
    }
}

fn failure(seed: u64, arguments: String, findings: Vec<String>) -> Failure {
    Failure { arguments, seed, findings }
}

/// Returns how the outcomes of two runs differ.
fn differences(world: &WorldReport, calm: &WorldReport) -> Vec<String> {
    let mut found = Vec::new();
    for (number, (outcome, calm)) in world.outcomes.iter().zip(&calm.outcomes).enumerate() {
        let places = difference::places(outcome, calm);
        if !places.is_empty() {
            found.push(format!("debate {number} came to another outcome than in fair weather:"));
            found.extend(places);
        }
    }
    found
}

/// Runs the worlds of many seeds and stops at the first that fails.
///
/// # Panics
/// With the failing seed and the command that repeats it.
pub fn run_all(seeds: impl IntoIterator<Item = u64>) -> Report {
    let mut all = Report::default();
    for seed in seeds {
        match run(seed, false) {
            Ok(report) => all.add(&report),
            Err(failure) => panic!("{failure}"),
        }
    }
    all
}

impl Report {
    fn of(world: WorldReport, is_compared: bool) -> Self {
        let WorldReport { kinds, causes, budgets, digest, events, lives, asked, .. } = world;
        let compared = u64::from(is_compared);
        Self { kinds, causes, budgets, digest, runs: 1, compared, events, lives, asked }
    }

    /// Adds what another run came to.
    pub fn add(&mut self, other: &Self) {
        let counts = [
            (&mut self.kinds, &other.kinds),
            (&mut self.causes, &other.causes),
            (&mut self.budgets, &other.budgets),
        ];
        for (mine, others) in counts {
            for (name, count) in others {
                *mine.entry(name.clone()).or_default() += count;
            }
        }
        self.digest = other.digest;
        self.runs += other.runs;
        self.compared += other.compared;
        self.events += other.events;
        self.lives += other.lives;
        self.asked += other.asked;
    }
}
