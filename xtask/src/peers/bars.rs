//! The ratios that are promised, from the same run as the tables, and whether they hold.

use serde_json::{Value, json};

use super::Row;
use super::flight::{Field, Flight, fly, fly_as, median};
use super::model_server::ModelServer;
use super::roster::{LANGGRAPH, LOG_FLOOR, OURS, Started};

/// A ratio and what it must not pass.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    /// The lowest and highest that single rounds give, where there are several.
    pub(crate) spread: Option<[f64; 2]>,
    pub(crate) bound: Bound,
}

/// What a value must keep to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    /// Tells whether the value keeps to its bound.
    pub(crate) fn holds(&self) -> bool {
        match self.bound {
            Bound::AtMost(most) => self.value <= most,
            Bound::AtLeast(least) => self.value >= least,
        }
    }

    /// Returns it as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let (bound, limit) = match self.bound {
            Bound::AtMost(most) => ("at_most", most),
            Bound::AtLeast(least) => ("at_least", least),
        };
        json!({
            "name": self.name, "value": self.value, "spread": self.spread, bound: limit, "holds": self.holds(),
        })
    }
}

/// Returns why the promises do not all hold: those that were passed, and those that could not be measured.
pub(crate) fn broken(bars: &[Bar], promised: &[&'static str]) -> Vec<String> {
    let failed = bars.iter().filter(|bar| !bar.holds()).map(|bar| format!("{} does not hold", bar.name));
    let missing = promised.iter().filter(|name| !bars.iter().any(|bar| bar.name == **name));
    failed.chain(missing.map(|name| format!("{name} was not measured"))).collect()
}

/// Returns every ratio that these peers allow; if ours is among them, runs it a few more times.
pub(crate) fn check(
    server: &ModelServer,
    started: &[Started],
    rows: &[Row],
    skipped: &mut Vec<(&'static str, String)>,
) -> Vec<Bar> {
    let mut bars: Vec<Bar> = COMPARED.iter().filter_map(|compared| compared.bar(rows)).collect();
    let Some(ours) = started.iter().find(|peer| peer.peer.name == OURS) else { return bars };
    for (name, bound, measure) in ALONE {
        eprintln!("{name}");
        match measure(server, ours) {
            Ok(value) => bars.push(Bar { name, value, spread: None, bound }),
            Err(error) => skipped.push((name, format!("{error:#}"))),
        }
    }
    bars
}

/// Returns the names of the ratios that these peers promise, each measured or not.
pub(crate) fn promised(takes: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let compared = COMPARED.iter().filter(|compared| takes(compared.above) && takes(compared.below));
    let alone = ALONE.iter().filter(|_| takes(OURS));
    compared.map(|compared| compared.name).chain(alone.map(|(name, ..)| *name)).collect()
}

/// A ratio of two peers with 100 debates in flight.
struct Compared {
    name: &'static str,
    above: &'static str,
    below: &'static str,
    of: fn(&Flight) -> f64,
    bound: Bound,
}

/// Every ratio of two peers.
const COMPARED: [Compared; 3] = [
    Compared {
        name: "100 in flight: CPU per debate, ours / floor with a log",
        above: OURS,
        below: LOG_FLOOR,
        of: |flight| flight.cpu_ms,
        bound: Bound::AtMost(2.0),
    },
    Compared {
        name: "100 in flight: CPU per debate, langgraph / ours",
        above: LANGGRAPH,
        below: OURS,
        of: |flight| flight.cpu_ms,
        bound: Bound::AtLeast(15.0),
    },
    Compared {
        name: "100 in flight: memory per extra debate, ours / floor with a log",
        above: OURS,
        below: LOG_FLOOR,
        of: |flight| flight.extra_kb.unwrap_or(f64::NAN),
        bound: Bound::AtMost(1.3),
    },
];

impl Compared {
    /// Returns the ratio, where both peers were measured.
    fn bar(&self, rows: &[Row]) -> Option<Bar> {
        let flights = |peer: &str| {
            let is_wanted = |row: &&Row| row.peer == peer && row.field.in_flight == 100;
            rows.iter().find(is_wanted).map(|row| row.flights.as_slice())
        };
        let (value, spread) = ratio(flights(self.above)?, flights(self.below)?, self.of);
        Some(Bar { name: self.name, value, spread: Some(spread), bound: self.bound })
    }
}

/// Returns the ratio of medians, and the lowest and highest ratio of two rounds.
fn ratio(above: &[Flight], below: &[Flight], of: fn(&Flight) -> f64) -> (f64, [f64; 2]) {
    let value = |flights: &[Flight]| median(flights.iter().map(of).collect());
    let pairs = || above.iter().flat_map(|one| below.iter().map(move |other| of(one) / of(other)));
    let (low, high) = (pairs().fold(f64::INFINITY, f64::min), pairs().fold(f64::NEG_INFINITY, f64::max));
    (value(above) / value(below), [low, high])
}

type Measure = fn(&ModelServer, &Started) -> anyhow::Result<f64>;

/// Ratios of ours alone. A strict debate takes eight calls of one second, a pipelined one six.
const ALONE: [(&str, Bound, Measure); 4] = [
    ("1 s a call: wall, pipelined / 6 s", Bound::AtMost(1.05), |server, ours| {
        Ok(fly(server, ours, at(1, 1_000.0))?.wall_ms(1.0) / 6_000.0)
    }),
    ("1 s a call: wall, strict / 8 s", Bound::AtMost(1.05), |server, ours| {
        Ok(fly_as(server, ours, at(1, 1_000.0), "barrier")?.wall_ms(1.0) / 8_000.0)
    }),
    ("log-normal, median 1 s, σ 0.5: wall / critical path", Bound::AtMost(1.03), |server, ours| {
        Ok(fly(server, ours, Field { sigma: 0.5, ..at(20, 1_000.0) })?.stretch)
    }),
    ("2 s a call: p99 of 1,000 in flight / one alone", Bound::AtMost(1.2), |server, ours| {
        let alone = fly(server, ours, at(1, 2_000.0))?.wall_ms(1.0);
        Ok(fly(server, ours, at(1_000, 2_000.0))?.wall_ms(0.99) / alone)
    }),
];

/// So many debates, all at once.
fn at(debates: u32, median_ms: f64) -> Field {
    Field { debates, in_flight: debates, median_ms, sigma: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(cpu_ms: f64) -> Flight {
        Flight {
            walls_ms: vec![1.0],
            stretch: 1.0,
            excess_ms: 0.0,
            cpu_ms,
            debates_a_second: 1.0,
            base_mb: 1.0,
            extra_kb: Some(100.0),
            verify_ms: None,
            versions: Value::Null,
        }
    }

    #[test]
    fn a_ratio_is_that_of_the_medians_and_tells_its_noise() {
        let (ours, floor) = ([8.0, 10.0, 9.0].map(flight), [5.0, 4.0, 6.0].map(flight));
        let (value, [low, high]) = ratio(&ours, &floor, |flight| flight.cpu_ms);
        assert_eq!((value, low, high), (1.8, 8.0 / 6.0, 2.5));
    }

    #[test]
    fn what_is_promised_follows_from_the_peers_that_are_asked_for() {
        assert_eq!(promised(|_| true).len(), COMPARED.len() + ALONE.len());
        assert_eq!(promised(|name| name == OURS).len(), ALONE.len());
        assert_eq!(promised(|name| name == OURS || name == LOG_FLOOR).len(), 2 + ALONE.len());
        assert!(promised(|name| name == LOG_FLOOR).is_empty());
    }

    #[test]
    fn a_promise_is_broken_where_its_bar_fails_or_is_missing() {
        let bar = |name, value| Bar { name, value, spread: None, bound: Bound::AtMost(2.0) };
        assert!(broken(&[bar("a", 2.0), bar("b", 1.0)], &["a", "b"]).is_empty());
        let why = broken(&[bar("a", 2.1)], &["a", "b"]);
        assert_eq!(why, ["a does not hold", "b was not measured"]);
    }

    #[test]
    fn a_bar_holds_at_its_bound() {
        let bar = |value, bound| Bar { name: "", value, spread: None, bound }.holds();
        assert!(bar(2.0, Bound::AtMost(2.0)) && !bar(2.1, Bound::AtMost(2.0)));
        assert!(bar(15.0, Bound::AtLeast(15.0)) && !bar(14.9, Bound::AtLeast(15.0)));
        assert!(!bar(f64::NAN, Bound::AtMost(2.0)));
    }
}
