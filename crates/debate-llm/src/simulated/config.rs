//! The settings of a simulated model, and how they are written: `simulated:seed=7,latency=200ms,malformed=0.1`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::draw::Draw;

/// The longest latency that can be set.
const LATENCY_MAX: Duration = Duration::from_secs(3600);

/// The settings of a simulated model; the default has seed 0, no latency and no faults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SimulatedConfig {
    /// What all draws start from.
    pub seed: u64,
    /// The time to the first piece of an answer; to the whole answer when no token rate is set.
    pub latency: LatencyDist,
    /// How fast an answer is streamed, above 0; at once when absent.
    pub tokens_per_second: Option<f64>,
    /// How often what goes wrong.
    pub faults: FaultRates,
}

/// How long a call takes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum LatencyDist {
    /// No time at all; no timer is made.
    #[default]
    Zero,
    /// Always the same.
    Fixed(Duration),
    /// Log-normal: median · exp(sigma · z), z standard normal.
    LogNormal {
        /// The median.
        median: Duration,
        /// The standard deviation of the logarithm, above 0 and at most 3.
        sigma: f64,
    },
}

impl LatencyDist {
    /// Returns the latency of one call.
    pub(super) fn draw(self, draw: &mut Draw) -> Duration {
        match self {
            Self::Zero => Duration::ZERO,
            Self::Fixed(latency) => latency,
            Self::LogNormal { median, sigma } => {
                Duration::try_from_secs_f64(median.as_secs_f64() * libm::exp(sigma * draw.normal()))
                    .unwrap_or(LATENCY_MAX)
                    .min(LATENCY_MAX)
            }
        }
    }
}

/// How often what goes wrong; each rate is a probability per call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultRates {
    /// 429 that outlasts the wire retries.
    pub rate_limited: f64,
    /// 500 that outlasts the wire retries.
    pub server_error: f64,
    /// No answer within the request's time; at zero latency the time is not waited for.
    pub timeout: f64,
    /// The stream breaks, or the output limit cuts the answer.
    pub truncated: f64,
    /// The answer has not the shape that was asked for.
    pub malformed: f64,
    /// The model declines.
    pub refused: f64,
    /// An argument is weak (P6).
    pub weak_argument: f64,
    /// Precedents are missing (P12).
    pub missing_precedents: f64,
    /// Citations are missing (P11).
    pub missing_citation: f64,
    /// An unknown outcome is named (P7).
    pub unknown_outcome: f64,
    /// Roles that decline every time (P16).
    pub absent_roles: Vec<String>,
}

impl FaultRates {
    /// Returns the settable rates by name; the first six exclude each other.
    fn rates(&self) -> [(&'static str, f64); 10] {
        [
            ("rate_limited", self.rate_limited),
            ("server_error", self.server_error),
            ("timeout", self.timeout),
            ("truncated", self.truncated),
            ("malformed", self.malformed),
            ("refused", self.refused),
            ("weak_argument", self.weak_argument),
            ("missing_precedents", self.missing_precedents),
            ("missing_citation", self.missing_citation),
            ("unknown_outcome", self.unknown_outcome),
        ]
    }

    fn rate_mut(&mut self, name: &str) -> Option<&mut f64> {
        match name {
            "rate_limited" => Some(&mut self.rate_limited),
            "server_error" => Some(&mut self.server_error),
            "timeout" => Some(&mut self.timeout),
            "truncated" => Some(&mut self.truncated),
            "malformed" => Some(&mut self.malformed),
            "refused" => Some(&mut self.refused),
            "weak_argument" => Some(&mut self.weak_argument),
            "missing_precedents" => Some(&mut self.missing_precedents),
            "missing_citation" => Some(&mut self.missing_citation),
            "unknown_outcome" => Some(&mut self.unknown_outcome),
            _ => None,
        }
    }
}

/// Settings that cannot be read; every bad field is named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the simulated model's settings: {}", problems.join("; "))]
pub struct SimulatedConfigError {
    /// One line for each bad field, beginning with its name.
    pub problems: Vec<String>,
}

impl FromStr for SimulatedConfig {
    type Err = SimulatedConfigError;

    /// Reads `simulated`, `simulated:7`, or `simulated:seed=7,latency=200ms,sigma=0.5,malformed=0.1,…`; the word
    /// before the colon may be left out.
    ///
    /// Fields: `seed`, `latency` (`200ms`, `1.5s`), `sigma`, `tokens_per_second`, the rates of [`FaultRates`], and
    /// `absent_role` (several joined by `+`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let settings = match text.strip_prefix("simulated") {
            Some(rest) => rest.strip_prefix(':').unwrap_or(rest),
            None => text,
        };
        let mut reader = Reader::default();
        if let Ok(seed) = settings.parse() {
            reader.config.seed = seed;
        } else {
            settings
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .for_each(|part| reader.take(part));
        }
        reader.finish()
    }
}

impl fmt::Display for SimulatedConfig {
    /// Writes `simulated:7`, or all settings that are not the default, in a form that reads back as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        match self.latency {
            LatencyDist::Zero => {}
            LatencyDist::Fixed(latency) => parts.push(format!("latency={}ms", ms(latency))),
            LatencyDist::LogNormal { median, sigma } => {
                parts.push(format!("latency={}ms,sigma={sigma}", ms(median)));
            }
        }
        parts.extend(self.tokens_per_second.map(|rate| format!("tokens_per_second={rate}")));
        let rates = self.faults.rates().into_iter().filter(|(_, rate)| *rate > 0.0);
        parts.extend(rates.map(|(name, rate)| format!("{name}={rate}")));
        if !self.faults.absent_roles.is_empty() {
            parts.push(format!("absent_role={}", self.faults.absent_roles.join("+")));
        }
        if parts.is_empty() {
            write!(f, "simulated:{}", self.seed)
        } else {
            write!(f, "simulated:seed={},{}", self.seed, parts.join(","))
        }
    }
}

/// Reads field after field and gathers what is wrong.
#[derive(Default)]
struct Reader {
    config: SimulatedConfig,
    latency: Duration,
    sigma: Option<f64>,
    seen: Vec<String>,
    problems: Vec<String>,
}

impl Reader {
    fn take(&mut self, part: &str) {
        let Some((name, value)) = part.split_once('=') else {
            self.problems.push(format!("{part}: it has no value; write {part}=…"));
            return;
        };
        let (name, value) = (name.trim(), value.trim());
        if self.seen.iter().any(|seen| seen == name) {
            self.problems.push(format!("{name}: it is set twice"));
            return;
        }
        self.seen.push(name.to_owned());
        if let Err(why) = self.set(name, value) {
            self.problems.push(format!("{name}: {why}"));
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "seed" => {
                self.config.seed =
                    value.parse().map_err(|_| format!("{value:?} is not a whole number from 0 to 2^64-1"))?;
            }
            "latency" => self.latency = duration(value)?,
            "sigma" => self.sigma = Some(number(value, 0.0, 3.0)?),
            "tokens_per_second" => self.config.tokens_per_second = Some(number(value, 0.1, 1e6)?),
            "absent_role" => {
                let roles = value.split('+').map(str::trim).filter(|role| !role.is_empty());
                self.config.faults.absent_roles = roles.map(str::to_owned).collect();
                if self.config.faults.absent_roles.is_empty() {
                    return Err("it names no role".to_owned());
                }
            }
            _ => {
                let rate = self.config.faults.rate_mut(name).ok_or("there is no such field")?;
                *rate = number(value, 0.0, 1.0)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<SimulatedConfig, SimulatedConfigError> {
        let sigma = self.sigma.unwrap_or(0.0);
        if sigma > 0.0
            && self.latency.is_zero()
            && !self.problems.iter().any(|line| line.starts_with("latency"))
        {
            self.problems.push("sigma: it needs a latency".to_owned());
        }
        let rates = self.config.faults.rates();
        let exclusive = &rates[..6];
        let sum: f64 = exclusive.iter().map(|(_, rate)| rate).sum();
        if sum > 1.0 + 1e-9 {
            let names: Vec<&str> =
                exclusive.iter().filter(|(_, rate)| *rate > 0.0).map(|(name, _)| *name).collect();
            self.problems.push(format!("{}: together they are {sum}, more than 1", names.join(" + ")));
        }
        if !self.problems.is_empty() {
            return Err(SimulatedConfigError { problems: self.problems });
        }
        self.config.latency = match (self.latency, sigma) {
            (latency, _) if latency.is_zero() => LatencyDist::Zero,
            (latency, 0.0) => LatencyDist::Fixed(latency),
            (median, sigma) => LatencyDist::LogNormal { median, sigma },
        };
        Ok(self.config)
    }
}

fn number(value: &str, min: f64, max: f64) -> Result<f64, String> {
    let parsed = value.parse::<f64>().ok().filter(|number| (min..=max).contains(number));
    parsed.ok_or_else(|| format!("{value:?} is not a number from {min} to {max}"))
}

fn duration(value: &str) -> Result<Duration, String> {
    let (number, unit) = match (value.strip_suffix("ms"), value.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (if value == "0" { value } else { "" }, 1.0),
    };
    let parsed = number.trim().parse::<f64>().ok().and_then(|n| Duration::try_from_secs_f64(n * unit).ok());
    parsed.filter(|duration| *duration <= LATENCY_MAX).ok_or_else(|| {
        format!("{value:?} is not a time up to {} s; write 200ms or 1.5s", LATENCY_MAX.as_secs())
    })
}

fn ms(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_back_as_they_are_written() {
        for (text, want) in [
            ("simulated", "simulated:0"),
            ("simulated:7", "simulated:7"),
            ("", "simulated:0"),
            ("seed=7,latency=0", "simulated:7"),
            ("simulated:latency=1.5s", "simulated:seed=0,latency=1500ms"),
            (
                "simulated: seed = 7 , latency=200ms,sigma=0.5,tokens_per_second=80,malformed=0.1",
                "simulated:seed=7,latency=200ms,sigma=0.5,tokens_per_second=80,malformed=0.1",
            ),
            (
                "timeout=0.5,refused=0.5,weak_argument=1,absent_role=historian+judge",
                "simulated:seed=0,timeout=0.5,refused=0.5,weak_argument=1,absent_role=historian+judge",
            ),
        ] {
            let config: SimulatedConfig = text.parse().unwrap();
            assert_eq!(config.to_string(), want);
            assert_eq!(want.parse::<SimulatedConfig>().unwrap(), config);
        }
    }

    #[test]
    fn all_bad_fields_are_named_at_once() {
        let text = "simulated:seed=-1,latency=200,sigma=9,malformd=0.1,refused=1.5,timeout=nan,seed=2,fast,absent_role=";
        let error = text.parse::<SimulatedConfig>().unwrap_err();
        let fields: Vec<&str> =
            error.problems.iter().filter_map(|line| line.split_once(": ")).map(|(name, _)| name).collect();
        assert_eq!(
            fields,
            ["seed", "latency", "sigma", "malformd", "refused", "timeout", "seed", "fast", "absent_role"]
        );
        let error = "timeout=0.6,refused=0.6".parse::<SimulatedConfig>().unwrap_err();
        assert_eq!(error.problems, ["timeout + refused: together they are 1.2, more than 1"]);
        let error = "sigma=0.5".parse::<SimulatedConfig>().unwrap_err();
        assert_eq!(error.problems, ["sigma: it needs a latency"]);
    }

    #[test]
    fn a_log_normal_latency_has_its_median_and_spread() {
        let median = Duration::from_millis(100);
        let dist = LatencyDist::LogNormal { median, sigma: 0.5 };
        let mut draw = Draw::new(3);
        let mut drawn: Vec<Duration> = (0..20_001).map(|_| dist.draw(&mut draw)).collect();
        drawn.sort_unstable();
        let at = |share: f64| drawn[(20_000.0 * share) as usize].as_secs_f64() / median.as_secs_f64();
        assert!((at(0.5) - 1.0).abs() < 0.02, "{}", at(0.5));
        assert!((at(0.95) - 2.28).abs() < 0.08, "{}", at(0.95));
    }
}
