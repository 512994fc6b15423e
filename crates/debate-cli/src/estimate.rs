//! What debates are expected to take: they are run in virtual time with made-up replies before any model is asked.

use std::time::Duration;

use debate_core::event::CallStarted;
use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::prediction::config::Schedule;
use debate_core::id::DebateId;
use debate_core::prices::Prices;
use debate_core::record::{Body as _, decode_body};
use debate_rehearsal::{Held, Latencies, Recorded, Rehearsal, RoundtableTools, Way};
use debate_store::ListFilter;

use crate::app_context::AppContext;
use crate::args::Options;
use crate::model;
use crate::page::{span, thousands};
use crate::plain::one_line;
use crate::prices::dollars;
use crate::search::Search;

/// How many of the latest debates are looked at for how fast a model is.
const DEBATES_READ_MAX: u32 = 10;
/// The median latency of a call where nothing is known of a model, as for backtests.
const MEDIAN_ASSUMED: Duration = Duration::from_secs(5);
/// The spread of that.
const SIGMA_ASSUMED: f64 = 0.5;
/// How often the debate is run to see how long it takes; the middle one counts.
const RUNS: usize = 3;

/// The seed where none is given.
const SEED_DEFAULT: u64 = 1;

/// Runs each request once in virtual time, its calls answered by `model`, each after as long as `latencies` say.
///
/// # Errors
/// A debate cannot be opened, or breaks off.
pub(crate) async fn run(
    options: &Options,
    model: &str,
    requests: Vec<AcceptedRequest>,
    latencies: &Latencies,
) -> anyhow::Result<Vec<Held>> {
    let hedging = options.hedging();
    let rehearsals: Vec<(Rehearsal, Way)> = requests
        .into_iter()
        .map(|mut request| {
            // Money is not limited here: nothing has a price.
            request.limits_mut().cost_micros_max = None;
            let way = Way { schedule: schedule(&request), hedge: hedging.after };
            let rehearsal = Rehearsal {
                request,
                model: model.to_owned(),
                latencies: latencies.clone(),
                hedge_share_max: hedging.share_max,
                debates: 1,
                seed: options.seed.unwrap_or(SEED_DEFAULT),
                tools: RoundtableTools(Search::Simulated.tools()),
            };
            (rehearsal, way)
        })
        .collect();
    let run = move || {
        let held = rehearsals.iter().map(|(rehearsal, way)| rehearsal.hold(*way, &|| ()));
        held.collect::<Result<Vec<_>, _>>()
    };
    Ok(tokio::task::spawn_blocking(run).await??.into_iter().flatten().collect())
}

fn schedule(request: &AcceptedRequest) -> Option<Schedule> {
    match request {
        AcceptedRequest::Prediction(accepted) => Some(accepted.config.schedule),
        AcceptedRequest::Deliberation(_)
        | AcceptedRequest::Roundtable(_)
        | AcceptedRequest::Review(_)
        | AcceptedRequest::Investigation(_) => None,
    }
}

/// What a debate with a real model is expected to take.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Estimate {
    model: String,
    held: Held,
    wall: Duration,
    /// Whether latencies are those of earlier debates with this model.
    is_measured: bool,
    deadline: Option<Duration>,
    /// What it costs and the most that it can, in millionths of a US dollar.
    costs: Option<[u64; 2]>,
}

impl Estimate {
    /// Estimates one debate that asks the model of `options` wherever its request names none.
    ///
    /// # Errors
    /// The store cannot be read, or the request needs what is not there in virtual time.
    pub(crate) async fn of(
        options: &Options,
        app: &AppContext,
        prices: &Prices,
        request: &AcceptedRequest,
    ) -> anyhow::Result<Self> {
        let model = options.model.name();
        let measured = measured(app, &model).await?;
        let is_measured = measured.is_some();
        let assumed = Latencies::LogNormal { median: MEDIAN_ASSUMED, sigma: SIGMA_ASSUMED };
        let latencies = measured.map_or(assumed, Latencies::Recorded);
        let limits = *request.limits();
        let concurrency = model::concurrency(options, &options.model);
        let mut held = run(options, &model, vec![request.clone(); RUNS], &latencies).await?;
        held.sort_by_key(|held| wall(held, concurrency));
        let middle = held.len() / 2;
        anyhow::ensure!(middle < held.len(), "no debate was run");
        let held = held.swap_remove(middle);
        let names_models = !request.models_named().is_empty();
        let price = prices.get(&model).filter(|_| !names_models);
        Ok(Self {
            wall: wall(&held, concurrency),
            costs: price.map(|price| [held.used, held.reserved].map(|tokens| price.most(tokens))),
            deadline: limits.has_deadline().then(|| Duration::from_millis(limits.deadline_ms)),
            model,
            held,
            is_measured,
        })
    }

    /// Returns one line for people, and a warning where the time is too short.
    pub(crate) fn lines(&self) -> (String, Option<String>) {
        let Held { calls, used, reserved, .. } = &self.held;
        let ms = |time: Duration| span(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let cost = match self.costs {
            Some([about, most]) => format!("about {}, at most {}", dollars(about), dollars(most)),
            None => "cost unknown (see --prices)".to_owned(),
        };
        let speed = if self.is_measured {
            "as fast as in earlier debates".to_owned()
        } else {
            format!("if a call takes {}", ms(MEDIAN_ASSUMED))
        };
        let deadline = self
            .deadline
            .map_or_else(|| "no deadline".to_owned(), |deadline| format!("deadline after {}", ms(deadline)));
        let line = format!(
            "expected: {} calls of {}; {} tokens in, {} out, at most {} in and {} out without thinking; {cost}; \
             {} {speed}; {deadline}",
            thousands(*calls),
            one_line(&self.model),
            thousands(used.input),
            thousands(used.output),
            thousands(reserved.input),
            thousands(reserved.output),
            ms(self.wall),
        );
        let late = self.deadline.filter(|deadline| *deadline < self.wall);
        let warning = late.map(|deadline| {
            format!(
                "warning: {} is more than the deadline of {}, so the debate may end with a partial result; \
                 --deadline gives it more time",
                ms(self.wall),
                ms(deadline)
            )
        });
        (line, warning)
    }
}

/// Returns the latencies of a model in the latest debates of the store, where it was asked in any.
async fn measured(app: &AppContext, model: &str) -> anyhow::Result<Option<Recorded>> {
    let (mut recorded, mut timed) = (Recorded::default(), 0);
    let filter = ListFilter { limit: DEBATES_READ_MAX, ..ListFilter::default() };
    for listed in app.store.events().list(filter).await? {
        let log = app.engine.log(DebateId(listed.first.stream.id), None).await?;
        let asked = log.iter().filter(|envelope| envelope.kind == CallStarted::KIND);
        let of_model = |started: CallStarted| started.model == model;
        let is_of_model = asked.into_iter().any(|envelope| {
            decode_body::<CallStarted>(envelope.version, &envelope.body, None).is_ok_and(of_model)
        });
        if is_of_model {
            timed += recorded.add(&log)?;
        }
    }
    Ok((timed > 0).then_some(recorded))
}

/// Returns how long a debate takes where no more than `concurrency` of its calls are under way at once.
pub(crate) fn wall(held: &Held, concurrency: Option<u32>) -> Duration {
    let all: Duration = held.latencies.iter().map(|(_, latency)| *latency).sum();
    concurrency.map_or(held.wall, |at_once| held.wall.max(all / at_once.max(1)))
}

#[cfg(test)]
mod tests {
    use debate_core::call::CallKey;

    use super::*;

    #[test]
    fn k22_wall_grows_where_few_calls_run_at_once() {
        let call = |round| (CallKey::new("argue", round, "a".into()), Duration::from_secs(10));
        let held =
            Held { wall: Duration::from_secs(20), latencies: (1..=6).map(call).collect(), ..Held::default() };
        let seconds = |concurrency| wall(&held, concurrency).as_secs();
        assert_eq!([seconds(None), seconds(Some(1)), seconds(Some(2)), seconds(Some(6))], [20, 60, 30, 20]);
    }
}
