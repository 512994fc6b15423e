//! What a client's debates may still cost, and how many may run. The log says what they did cost, so no separate count is
//! kept, on any replica and after any restart. Replicas that open debates at the same moment may each spend what is left.

use debate_core::codec;
use debate_core::envelope::Envelope;
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Timestamp};
use debate_core::limits::Limits;
use debate_core::request::limits::COST_MICROS_MAX;
use debate_engine::{Engine, LIFECYCLE_KINDS};
use debate_store::{ListFilter, Listed};

use crate::access::{Grant, now};
use crate::refusal::Refusal;
use crate::to_proto::concluded;

/// The time over which the money of a day is counted, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// What one more debate may cost, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    debate: Option<u64>,
    /// What the day allows in all, and what is left of it.
    day: Option<(u64, u64)>,
}

/// Returns what one more debate of a client may cost, or one that is to go on, which is `apart` from what is counted; `None`
/// where its money is not limited.
pub(crate) async fn allowance(
    engine: &Engine,
    grant: &Grant,
    apart: Option<DebateId>,
) -> Result<Option<Allowance>, Refusal> {
    let debate = grant.limits.debate_cost_micros_max;
    let day = match grant.limits.day_cost_micros_max {
        Some(day) => {
            let since = Timestamp(now().0.saturating_sub(DAY_MS));
            let spent = spent_since(engine, grant, since, apart).await?;
            Some((day, day.saturating_sub(spent)))
        }
        None => None,
    };
    Ok((debate.is_some() || day.is_some()).then_some(Allowance { debate, day }))
}

impl Allowance {
    /// Checks that a debate with these limits, which cannot be lowered any more, costs no more than is allowed.
    ///
    /// # Errors
    /// It may cost more, or its cost is not limited.
    pub(crate) fn check(self, limits: &Limits) -> Result<(), Refusal> {
        let mut asked = Limits { cost_micros_max: limits.cost_micros_max.or(Some(u64::MAX)), ..*limits };
        self.apply(&mut asked)
    }

    /// Lowers what a debate may cost to what is allowed.
    ///
    /// # Errors
    /// It asks for more, or nothing is left.
    pub(crate) fn apply(self, limits: &mut Limits) -> Result<(), Refusal> {
        let asked = limits.cost_micros_max;
        if let Some(most) = self.debate.filter(|most| asked.is_some_and(|asked| asked > *most)) {
            return Err(Refusal::field(COST_MICROS_MAX, format!("must be at most {most} with this token")));
        }
        if let Some((day, left)) = self.day
            && (left == 0 || asked.is_some_and(|asked| asked > left))
        {
            return Err(Refusal::Spent { day, left });
        }
        let left = self.day.map(|(_, left)| left);
        limits.cost_micros_max = [asked, self.debate, left].into_iter().flatten().min();
        Ok(())
    }
}

/// Refuses one more running debate of a client that has as many as it may; one that is to go on is `apart`.
pub(crate) async fn check_running(
    engine: &Engine,
    grant: &Grant,
    apart: Option<DebateId>,
) -> Result<(), Refusal> {
    let Some(max) = grant.limits.debates_at_once else { return Ok(()) };
    let status = LIFECYCLE_KINDS.iter().filter(|kind| !["paused", "concluded"].contains(*kind));
    let status = Some(status.map(|kind| (*kind).to_owned()).collect());
    let mut running = 0;
    for listed in all(engine, ListFilter { status, ..filter_of(grant) }).await? {
        let last = listed.last_of_kinds.as_ref().unwrap_or(&listed.first);
        let is_its = [&listed.first.actor, &last.actor].contains(&&grant.name);
        running += u32::from(is_its && apart != Some(DebateId(listed.first.stream.id)));
    }
    if running < max.get() { Ok(()) } else { Err(Refusal::TooManyDebates { max: max.get() }) }
}

/// Returns what a client's debates may have cost: those that it opened or forked, and for others the part after the client
/// resumed them. A running debate counts as the most that it may cost. A debate without a cost limit counts once it has
/// ended.
async fn spent_since(
    engine: &Engine,
    grant: &Grant,
    since: Timestamp,
    apart: Option<DebateId>,
) -> Result<u64, Refusal> {
    let mut spent: u64 = 0;
    for listed in all(engine, ListFilter { touched_since: Some(since), ..filter_of(grant) }).await? {
        let id = DebateId(listed.first.stream.id);
        if apart != Some(id) {
            spent = spent.saturating_add(part_of(engine, grant, &listed, since).await?);
        }
    }
    Ok(spent)
}

/// Returns what a debate has cost, or may cost, from where a client opened it or let it go on.
async fn part_of(engine: &Engine, grant: &Grant, listed: &Listed, since: Timestamp) -> Result<u64, Refusal> {
    if listed.first.actor == grant.name && listed.first.at >= since {
        return cost_of(engine, listed).await;
    }
    let log = engine.log(DebateId(listed.first.stream.id), None).await?;
    let mut before = 0;
    for event in &log {
        let goes_on = ["continued", "resumed", "reopened"].contains(&event.kind.as_str());
        if goes_on && event.actor == grant.name && event.at >= since {
            return Ok(cost_of(engine, listed).await?.saturating_sub(before));
        }
        before = spent_by(event).unwrap_or(before);
    }
    Ok(0)
}

fn filter_of(grant: &Grant) -> ListFilter {
    ListFilter {
        tenant: Some(grant.tenant.clone()),
        lifecycle: LIFECYCLE_KINDS.map(str::to_owned).to_vec(),
        ..ListFilter::default()
    }
}

/// Returns all debates of a list.
async fn all(engine: &Engine, mut filter: ListFilter) -> Result<Vec<Listed>, Refusal> {
    let mut debates = Vec::new();
    loop {
        let page = engine.store().list(filter.clone()).await?;
        filter.before = page.last().map(|last| last.position);
        let is_last = page.len() < filter.limit as usize;
        debates.extend(page);
        if is_last {
            return Ok(debates);
        }
    }
}

/// Returns what a debate may have cost by an event that concluded it.
fn spent_by(event: &Envelope) -> Option<u64> {
    Some(concluded(event)?.spend?.cost_micros_bound())
}

async fn cost_of(engine: &Engine, listed: &Listed) -> Result<u64, Refusal> {
    if let Some(cost) = listed.last_of_kinds.as_ref().and_then(spent_by) {
        return Ok(cost);
    }
    let id = DebateId(listed.first.stream.id);
    let own = codec::forked(&listed.first).and_then(Result::ok).and_then(|forked| forked.limits);
    let limits = match own {
        Some(limits) => limits,
        None => {
            let eldest = engine.eldest(&listed.first).await?;
            let debate = AnyDebate::replay(std::slice::from_ref(&eldest));
            *debate.map_err(|error| Refusal::of_replay(id, &error))?.limits()
        }
    };
    Ok(limits.cost_micros_max.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use debate_core::call::Tokens;

    use super::*;

    fn limits(cost_micros_max: Option<u64>) -> Limits {
        Limits { cost_micros_max, ..Limits::for_calls(1, Tokens::default(), Tokens::default(), 1_000) }
    }

    #[test]
    fn k8_a_debate_costs_at_most_what_is_left() {
        for (debate, day, asked, applied) in [
            (Some(5), None, None, Ok(Some(5))),
            (Some(5), None, Some(3), Ok(Some(3))),
            (Some(5), Some((9, 2)), None, Ok(Some(2))),
            (None, Some((9, 2)), Some(2), Ok(Some(2))),
            (None, Some((9, 2)), Some(3), Err("MONEY_SPENT")),
            (None, Some((9, 0)), None, Err("MONEY_SPENT")),
            (Some(5), None, Some(6), Err("INVALID_REQUEST")),
        ] {
            let mut limits = limits(asked);
            let done = Allowance { debate, day }.apply(&mut limits);
            let done = done.map(|()| limits.cost_micros_max).map_err(|refusal| refusal.reason());
            assert_eq!(done, applied, "{debate:?} {day:?} {asked:?}");
        }
    }
}
