//! What `debate bench latency` is asked for, read as a whole: all that is wrong with it is said at once.

use std::time::Duration;

use debate_core::id::DebateId;
use debate_rehearsal::Latencies;

use crate::exit::Failure;
use crate::plain::one_line;

/// The longest median.
const MEDIAN_MAX: Duration = Duration::from_secs(600);
/// The widest spread.
const SIGMA_MAX: f64 = 3.0;
/// The most debates in each way.
const DEBATES_MAX: usize = 10_000;

/// Returns the latencies of a log-normal distribution, by its options as they were written.
///
/// # Errors
/// All options that cannot be used.
pub(crate) fn log_normal(median: Option<&str>, sigma: Option<&str>) -> anyhow::Result<Latencies> {
    let written = Written { median, sigma, from: &[], all: false, debates: "1" };
    match written.accept()?.source {
        Source::LogNormal { median, sigma } => Ok(Latencies::LogNormal { median, sigma }),
        Source::Debates(_) | Source::Store => anyhow::bail!("latencies of no debate were asked for"),
    }
}

/// Options as they were written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) median: Option<&'a str>,
    pub(super) sigma: Option<&'a str>,
    pub(super) from: &'a [String],
    pub(super) all: bool,
    pub(super) debates: &'a str,
}

/// Where latencies come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// A distribution.
    LogNormal { median: Duration, sigma: f64 },
    /// Some debates of the store.
    Debates(Vec<DebateId>),
    /// All debates of the store.
    Store,
}

/// Options that can be used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wishes {
    pub(super) source: Source,
    pub(super) debates: usize,
}

impl Written<'_> {
    /// Reads the options, or builds the error that names all of them that cannot be used.
    pub(super) fn accept(&self) -> anyhow::Result<Wishes> {
        self.read().map_err(|problems| {
            let lines = problems.iter().map(|problem| format!("\n  {}", one_line(problem)));
            Failure::bad_input(format!("these options cannot be used:{}", lines.collect::<String>()))
        })
    }

    /// Reads the options.
    ///
    /// # Errors
    /// One line for each that cannot be used, beginning with its name.
    pub(super) fn read(&self) -> Result<Wishes, Vec<String>> {
        let mut problems = Vec::new();
        let mut take = |name: &str, why: String| problems.push(format!("{name}: {why}"));
        let median = span(self.median.unwrap_or("5s"));
        let sigma = number(self.sigma.unwrap_or("0.5"));
        let ids = self.from.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
        let (known, unknown): (Vec<_>, Vec<_>) =
            ids.map(|text| text.parse().map_err(|_| text)).partition(Result::is_ok);
        for bad in unknown.into_iter().filter_map(Result::<DebateId, _>::err) {
            take("--from", format!("{bad:?} is not the id of a debate"));
        }
        let debates = self.debates.trim().parse().ok().filter(|count| (1..=DEBATES_MAX).contains(count));
        if debates.is_none() {
            take("--debates", format!("{:?} is not a whole number from 1 to {DEBATES_MAX}", self.debates));
        }
        if let Err(why) = &median {
            take("--median", why.clone());
        }
        if let Err(why) = &sigma {
            take("--sigma", why.clone());
        }
        let is_read = self.all || !self.from.is_empty();
        for (name, given) in [("--median", self.median), ("--sigma", self.sigma)] {
            if is_read && given.is_some() {
                take(
                    name,
                    "it cannot be used with --from or --all, which read latencies from debates".into(),
                );
            }
        }
        if self.all && !self.from.is_empty() {
            take("--from", "it cannot be used with --all".to_owned());
        }
        match (median, sigma, debates) {
            (Ok(median), Ok(sigma), Some(debates)) if problems.is_empty() => {
                let source = if self.all {
                    Source::Store
                } else if is_read {
                    Source::Debates(known.into_iter().filter_map(Result::ok).collect())
                } else {
                    Source::LogNormal { median, sigma }
                };
                Ok(Wishes { source, debates })
            }
            _ => Err(problems),
        }
    }
}

fn span(text: &str) -> Result<Duration, String> {
    let (number, unit) = match (text.trim().strip_suffix("ms"), text.trim().strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, Some(number)) => (number, 1.0),
        (None, None) => ("", 1.0),
    };
    let parsed = number.trim().parse::<f64>().ok().and_then(|n| Duration::try_from_secs_f64(n * unit).ok());
    parsed.filter(|span| (Duration::from_millis(1)..=MEDIAN_MAX).contains(span)).ok_or_else(|| {
        format!("{text:?} is not a time from 1ms to {} s; write 800ms or 5s", MEDIAN_MAX.as_secs())
    })
}

fn number(text: &str) -> Result<f64, String> {
    let parsed = text.trim().parse().ok().filter(|number| (0.0..=SIGMA_MAX).contains(number));
    parsed.ok_or_else(|| format!("{text:?} is not a number from 0 to {SIGMA_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Written<'_> =
        Written { median: None, sigma: None, from: &[], all: false, debates: "1000" };
    const ID: &str = "00000000-0000-4000-8000-000000000000";

    #[test]
    fn latencies_come_from_a_distribution_unless_debates_are_named() {
        let source = |written: Written<'_>| written.read().unwrap().source;
        let drawn = Source::LogNormal { median: Duration::from_secs(5), sigma: 0.5 };
        assert_eq!(source(NOTHING), drawn);
        let chosen = Written { median: Some("800ms"), sigma: Some("0"), ..NOTHING };
        assert_eq!(source(chosen), Source::LogNormal { median: Duration::from_millis(800), sigma: 0.0 });
        let from = [ID.to_owned()];
        assert_eq!(source(Written { from: &from, ..NOTHING }), Source::Debates(vec![ID.parse().unwrap()]));
        assert_eq!(source(Written { all: true, ..NOTHING }), Source::Store);
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let named = |written: Written<'_>| {
            let problems = written.read().unwrap_err();
            problems.iter().filter_map(|line| Some(line.split_once(": ")?.0.to_owned())).collect::<Vec<_>>()
        };
        let from = ["x".to_owned(), ID.to_owned(), "y".to_owned()];
        let bad = Written { median: Some("5"), sigma: Some("-1"), from: &from, all: false, debates: "0" };
        let all = ["--from", "--from", "--debates", "--median", "--sigma", "--median", "--sigma"];
        assert_eq!(named(bad), all);
        let both = [ID.to_owned()];
        assert_eq!(named(Written { from: &both, all: true, ..NOTHING }), ["--from"]);
        for median in ["", "0s", "5m", "-1s", "nans", "1e9s"] {
            assert_eq!(named(Written { median: Some(median), ..NOTHING }), ["--median"], "{median}");
        }
        for sigma in ["", "nan", "3.1", "x"] {
            assert_eq!(named(Written { sigma: Some(sigma), ..NOTHING }), ["--sigma"], "{sigma}");
        }
    }
}
