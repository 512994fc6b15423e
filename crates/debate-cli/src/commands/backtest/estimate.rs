//! What a backtest will take, before anybody is asked: a few of its debates are rehearsed in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use debate_core::call::Tokens;
use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::prediction::backtest::Question;
use debate_core::prices::{Price, Prices};
use debate_llm::simulated::LatencyDist;
use debate_rehearsal::{Held, Latencies};
use serde_json::{Value, json};

use super::holding::Plan;
use crate::args::Options;
use crate::commands::bench::wishes;
use crate::estimate;
use crate::model::ModelChoice;
use crate::page::{Page, span, thousands};
use crate::plain::one_line;
use crate::prices::dollars;
use crate::terminal::Terminal;

/// The most debates that are rehearsed.
const REHEARSED_MAX: usize = 8;

/// What is to be expected of the debates that are still to be held.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Estimate {
    /// The model asked.
    model: String,
    /// Whether a program makes up its replies.
    is_simulated: bool,
    /// Requests.
    calls: u64,
    /// What they and their replies use, as long as made-up replies are.
    used: Tokens,
    /// The most that they can use.
    reserved: Tokens,
    /// What the model's tokens cost.
    price: Option<Price>,
    /// From the first to the last.
    wall: Duration,
    /// How many are held at once.
    parallel: u16,
}

/// Returns how long calls are taken to last.
///
/// # Errors
/// The options cannot be used.
pub(super) fn latencies(
    options: &Options,
    median: Option<&str>,
    sigma: Option<&str>,
) -> anyhow::Result<Latencies> {
    let ModelChoice::Simulated(config) = &options.model else { return wishes::log_normal(median, sigma) };
    if median.is_some() || sigma.is_some() {
        return wishes::log_normal(median, sigma);
    }
    let (median, sigma) = match config.latency {
        LatencyDist::Zero => (Duration::ZERO, 0.0),
        LatencyDist::Fixed(median) => (median, 0.0),
        LatencyDist::LogNormal { median, sigma } => (median, sigma),
    };
    Ok(Latencies::LogNormal { median, sigma })
}

impl Estimate {
    /// Rehearses a few of the debates of a plan and reckons from them to all.
    ///
    /// # Errors
    /// A rehearsal broke off.
    pub(super) async fn of(
        plan: &Plan,
        options: &Options,
        latencies: Latencies,
        prices: &Prices,
        parallel: u16,
    ) -> anyhow::Result<Self> {
        let to_do = plan.to_do();
        let every = to_do.len().div_ceil(REHEARSED_MAX).max(1);
        let model = plan.model().to_owned();
        let request = |question: &&Question| AcceptedRequest::Prediction(Box::new(question.request.clone()));
        let requests = to_do.iter().step_by(every).map(request).collect();
        let rehearsed = estimate::run(options, &model, requests, &latencies).await?;
        let like = |place: usize| &rehearsed[place / every];
        let all = || (0..to_do.len()).map(like);
        let sum = |part: fn(&Held) -> Tokens| all().map(part).fold(Tokens::default(), Tokens::plus);
        Ok(Self {
            is_simulated: options.is_simulated(),
            calls: all().map(|held| held.calls).sum(),
            used: sum(|held| held.used),
            reserved: sum(|held| held.reserved),
            price: prices.get(&model),
            wall: side_by_side(all().map(|held| held.wall), parallel),
            model,
            parallel,
        })
    }

    /// Lays the estimate out, with what the plan has found.
    pub(super) fn page(&self, plan: &Plan, terminal: Terminal) -> String {
        let mut page = Page::new(terminal);
        if self.is_simulated {
            page.warning("SIMULATED: a program makes up every reply; that says nothing about the world");
        }
        let (held, cut, new) = plan.counts();
        let open = plan.open();
        let left_out =
            if open > 0 { format!("; {open} more are not resolved and left out") } else { String::new() };
        page.line(&format!(
            "{} resolved questions{left_out}: {new} to be debated, {cut} to go on, {held} concluded before",
            held + cut + new
        ));
        if cut + new == 0 {
            return page.into_text();
        }
        let Tokens { input, output } = self.used;
        page.line(&format!(
            "about {} calls of {}, {} tokens in, {} out; at most {} in, {} out",
            thousands(self.calls),
            one_line(&self.model),
            thousands(input),
            thousands(output),
            thousands(self.reserved.input),
            thousands(self.reserved.output),
        ));
        page.line(&match (self.price, self.is_simulated) {
            (Some(_), _) => {
                let [about, most] = self.costs().map(|micros| dollars(micros.unwrap_or_default()));
                format!("about {about}, at most {most}, were every question asked once")
            }
            (None, true) => "costs nothing: the model is simulated".to_owned(),
            (None, false) => format!("cost unknown: {} has no price; see --prices", one_line(&self.model)),
        });
        let wall = span(u64::try_from(self.wall.as_millis()).unwrap_or(u64::MAX));
        let at_once = self.parallel;
        page.line(&if self.wall.is_zero() {
            "this model answers at once".to_owned()
        } else {
            format!("about {wall}, {at_once} debates at once")
        });
        page.into_text()
    }

    /// Returns the estimate for programs.
    pub(super) fn json(&self) -> Value {
        let tokens = |tokens: Tokens| json!({"input": tokens.input, "output": tokens.output});
        let [about, most] = self.costs();
        json!({
            "calls": self.calls,
            "tokens": tokens(self.used),
            "tokens_max": tokens(self.reserved),
            "cost_micros": about,
            "cost_micros_max": most,
            "duration_s": self.wall.as_secs_f64(),
            "parallel": self.parallel,
        })
    }

    /// Returns what is likely to be paid and the most, in millionths of a US dollar; none without a price.
    fn costs(&self) -> [Option<u64>; 2] {
        [self.used, self.reserved].map(|tokens| self.price.map(|price| price.most(tokens)))
    }
}

/// Returns how long debates take together, so many at once, each begun when there is room.
fn side_by_side(walls: impl Iterator<Item = Duration>, parallel: u16) -> Duration {
    let mut free: BinaryHeap<Reverse<Duration>> = (0..parallel).map(|_| Reverse(Duration::ZERO)).collect();
    let mut last = Duration::ZERO;
    for wall in walls {
        let Reverse(begun) = free.pop().unwrap_or_default();
        last = last.max(begun + wall);
        free.push(Reverse(begun + wall));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debate_begins_when_there_is_room() {
        let walls = [4, 1, 1, 1, 5].map(Duration::from_secs);
        let together = |parallel| side_by_side(walls.into_iter(), parallel).as_secs();
        assert_eq!((together(1), together(2), together(5)), (12, 8, 5));
        assert_eq!(side_by_side(std::iter::empty(), 3), Duration::ZERO);
    }
}
