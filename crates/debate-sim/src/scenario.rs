//! What happens in one world: everything is drawn from its seed, nothing else.

use std::collections::BTreeMap;

use debate_core::id::Seq;
use debate_llm::SimulatedConfig;
use debate_llm::simulated::{Draw, FaultRates};

use crate::model::ModelPlan;
use crate::store::{CrashAt, StoreFault};

/// Which format is debated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The format for tests.
    Probe,
    /// Predictions.
    Prediction,
    /// Deliberations.
    Deliberation,
    /// Roundtables.
    Roundtable,
    /// Reviews.
    Review,
    /// Investigations.
    Investigation,
}

/// Something that people do to a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Pauses it.
    Pause {
        /// Milliseconds after the step before.
        after_ms: u64,
    },
    /// Lets it go on.
    Resume {
        /// Milliseconds after the step before.
        after_ms: u64,
    },
    /// Ends it.
    Cancel {
        /// Milliseconds after the step before.
        after_ms: u64,
    },
    /// Adds rounds once it has concluded.
    Continue {
        /// How many.
        rounds: u32,
    },
    /// Says what happened once it has concluded.
    Resolve,
}

/// How a process comes to its end before its work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Milliseconds after the life began.
    pub after_ms: u64,
    /// Whether it shuts down properly; else it is killed.
    pub is_graceful: bool,
}

/// What a debate may spend in a world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tightness {
    /// Milliseconds to the deadline; far away when absent.
    pub deadline_ms: Option<u64>,
    /// Requests to models; plenty when absent.
    pub calls_max: Option<u64>,
    /// Tokens written; plenty when absent.
    pub output_max: Option<u64>,
    /// Starts of one call; plenty when absent.
    pub starts_max: Option<u32>,
    /// Money beyond what is kept for closing, in millionths; unlimited when absent.
    pub cost_micros: Option<u64>,
}

/// What goes wrong around the engines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weather {
    /// Crashes when certain events are to be stored.
    pub crashes: Vec<CrashAt>,
    /// Ends of lives at certain times, each of one life.
    pub endings: Vec<Ending>,
    /// Faults of the store by the number of the operation.
    pub store: BTreeMap<u64, StoreFault>,
    /// Appends take up to so many milliseconds.
    pub slowness_ms: Option<u64>,
    /// A second engine takes up all debates so many milliseconds after each life began.
    pub rival_after_ms: Option<u64>,
    /// Reading the clock takes time.
    pub has_ticks: bool,
}

/// What happens in one world.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The seed it was drawn from.
    pub seed: u64,
    /// Which format is debated.
    pub kind: Kind,
    /// How many debates at once.
    pub debates: usize,
    /// How many of them are driven at once.
    pub driven_max: usize,
    /// What people do to each debate, in order.
    pub script: Vec<Step>,
    /// What a debate may spend.
    pub tightness: Tightness,
    /// How the model behaves.
    pub model: ModelPlan,
    /// What goes wrong around the engines.
    pub weather: Weather,
}

impl Scenario {
    /// Draws a scenario.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut draw = Draw::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1CE);
        let kind = match draw.below(40) {
            0..30 => Kind::Probe,
            30 => Kind::Investigation,
            31 => Kind::Review,
            32..38 => Kind::Prediction,
            38 => Kind::Deliberation,
            _ => Kind::Roundtable,
        };
        let is_tight = draw.chance(0.25);
        let debates = if draw.chance(0.08) { 2 + draw.below(3) } else { 1 };
        Self {
            seed,
            kind,
            debates,
            driven_max: if draw.chance(0.2) { 1 } else { 8 },
            script: script(&mut draw, is_tight),
            tightness: if is_tight { tightness(&mut draw) } else { Tightness::default() },
            model: model(seed, &mut draw),
            weather: weather(&mut draw),
        }
    }

    /// Returns the same debates in fair weather: what they come to must not depend on the weather.
    #[must_use]
    pub fn calm(&self) -> Self {
        let lasting =
            |step: &&Step| matches!(step, Step::Continue { .. } | Step::Resolve | Step::Cancel { .. });
        Self {
            script: self.script.iter().filter(lasting).copied().collect(),
            weather: Weather::default(),
            model: ModelPlan { order: 0, ..self.model.clone() },
            ..self.clone()
        }
    }

    /// Returns whether the outcome follows from the questions and answers alone, and not from time and spend.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        let is_cancelled = self.script.iter().any(|step| matches!(step, Step::Cancel { .. }));
        !is_cancelled && self.tightness == Tightness::default()
    }
}

fn ms(draw: &mut Draw, max: usize) -> u64 {
    draw.below(max) as u64
}

fn script(draw: &mut Draw, is_tight: bool) -> Vec<Step> {
    let mut script = Vec::new();
    if draw.chance(0.3) {
        script.push(Step::Pause { after_ms: ms(draw, 4_000) });
        script.push(Step::Resume { after_ms: ms(draw, 6_000) });
    }
    if is_tight && draw.chance(0.3) {
        script.push(Step::Cancel { after_ms: ms(draw, 4_000) });
    }
    if draw.chance(0.25) {
        let rounds = if draw.chance(0.7) { 1 } else { 2 };
        script.push(Step::Continue { rounds });
    }
    if draw.chance(0.3) {
        script.push(Step::Resolve);
    }
    if draw.chance(0.05) {
        script.push(Step::Continue { rounds: 1 });
    }
    script
}

fn tightness(draw: &mut Draw) -> Tightness {
    let mut tightness = Tightness::default();
    while tightness == Tightness::default() {
        tightness.deadline_ms = draw.chance(0.4).then(|| 500 + ms(draw, 10_000));
        tightness.calls_max = draw.chance(0.3).then(|| 1 + ms(draw, 40));
        tightness.output_max = draw.chance(0.3).then(|| 200 + ms(draw, 4_000));
        tightness.cost_micros = draw.chance(0.3).then(|| 100 + ms(draw, 4_000));
        tightness.starts_max = draw.chance(0.4).then(|| 1 + u32::try_from(draw.below(5)).unwrap_or(0));
    }
    tightness
}

fn model(seed: u64, draw: &mut Draw) -> ModelPlan {
    let scale = if draw.chance(0.3) { 0.0 } else { draw.between(0.0, 0.12) };
    let mut rate = || if draw.chance(0.5) { draw.unit() * scale } else { 0.0 };
    let faults = FaultRates {
        rate_limited: rate(),
        server_error: rate(),
        timeout: rate(),
        truncated: rate(),
        malformed: rate(),
        refused: rate(),
        weak_argument: rate() * 2.0,
        missing_precedents: rate() * 2.0,
        missing_citation: rate() * 2.0,
        unknown_outcome: rate(),
        ..FaultRates::default()
    };
    ModelPlan {
        simulated: SimulatedConfig { seed, faults, ..SimulatedConfig::default() },
        latency_ms: 20 + ms(draw, 700),
        order: draw.next_u64(),
        denied: if draw.chance(0.2) { 0.03 } else { 0.0 },
        usage_unknown: if draw.chance(0.3) { 0.2 } else { 0.0 },
    }
}

fn weather(draw: &mut Draw) -> Weather {
    let mut crashes = Vec::new();
    if draw.chance(0.7) {
        let span = 10 + draw.below(60);
        for _ in 0..=draw.below(4) {
            crashes.push(CrashAt { seq: Seq(1 + draw.below(span) as u64), stored: draw.chance(0.5) });
        }
    }
    let mut endings = Vec::new();
    if draw.chance(0.4) {
        for _ in 0..=draw.below(3) {
            endings.push(Ending { after_ms: ms(draw, 5_000), is_graceful: draw.chance(0.3) });
        }
    }
    Weather {
        crashes,
        endings,
        store: store_faults(draw),
        slowness_ms: draw.chance(0.3).then(|| 1 + ms(draw, 200)),
        rival_after_ms: draw.chance(0.3).then(|| ms(draw, 4_000)),
        has_ticks: draw.chance(0.5),
    }
}

fn store_faults(draw: &mut Draw) -> BTreeMap<u64, StoreFault> {
    let mut faults = BTreeMap::new();
    if draw.chance(0.5) {
        for _ in 0..=draw.below(5) {
            let first = 1 + ms(draw, 120);
            let length = 1 + ms(draw, 4);
            for operation in first..first + length {
                let fault = match draw.below(5) {
                    0 | 1 => StoreFault::Refused,
                    2 | 3 => StoreFault::Unheard,
                    _ => StoreFault::Slow(1 + ms(draw, 4_000)),
                };
                faults.insert(operation, fault);
            }
        }
    }
    faults
}
