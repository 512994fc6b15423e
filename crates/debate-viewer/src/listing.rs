//! The list of debates: found by words, format, state, completeness and time, the newest first.

use debate_core::codec;
use debate_core::debate::Lifecycle;
use debate_core::envelope::Envelope;
use debate_core::event::Concluded;
use debate_core::formats::any::{AnyDebate, FORMATS, format_of};
use debate_core::id::{DebateId, Seq, Timestamp};
use debate_core::spend::Spend;
use debate_engine::{LIFECYCLE_KINDS, Tenant};
use debate_store::{ListFilter, Listed, Position};
use serde::{Deserialize, Serialize};

use crate::debate_page::Origin;
use crate::log_cache::LogCache;
use crate::refused::Refused;
use crate::said::read;
use crate::wording::spent;

/// Debates of one page.
const PAGE: usize = 50;
/// Debates looked at for one page; behind them the page says where to look on.
const LOOKED_AT_MAX: usize = 2_000;
/// Debates fetched at once.
const FETCHED: u32 = 200;
/// The states that can be looked for.
const STATES: [&str; 3] = ["running", "paused", "concluded"];
/// How whole a debate can be.
const COMPLETENESS: [&str; 3] = ["full", "partial", "void"];
/// Events in which the first requests of a debate stand.
const BEGINNING: u32 = 16;

/// What is looked for; what is absent or empty does not matter.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Wanted {
    /// Words of the title or the beginning of the id, in any case.
    #[serde(default)]
    search: String,
    #[serde(default)]
    format: String,
    /// `running`, `paused` or `concluded`.
    #[serde(default)]
    state: String,
    /// `full`, `partial` or `void`; only concluded debates are any of these.
    #[serde(default)]
    completeness: String,
    /// Opened at this moment or later, ISO 8601.
    #[serde(default)]
    since: String,
    /// Opened before this moment, ISO 8601.
    #[serde(default)]
    until: String,
    /// Where the page before ended.
    before: Option<u64>,
}

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ListPage {
    debates: Vec<Entry>,
    /// Where to go on; null at the end.
    before: Option<u64>,
}

/// One debate on the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Entry {
    debate_id: String,
    format: String,
    state: &'static str,
    /// Null unless it has concluded.
    completeness: Option<&'static str>,
    opened_at: String,
    head_seq: u64,
    forked_from: Option<Origin>,
    /// Null where the words were redacted.
    title: Option<String>,
    /// Whether a simulated model is among the first that were asked.
    simulated: bool,
    /// What it has used; null where a log of old does not say.
    spend: Option<Spend>,
    /// The same in words.
    spent: Option<String>,
    /// Null unless it is under way.
    progress: Option<Progress>,
}

/// How far a debate is that is under way.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Progress {
    phase: Option<String>,
    round: Option<u32>,
    calls_expected: u64,
}

struct Sieve {
    words: Vec<String>,
    completeness: String,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// Returns a page of the list of a tenant's debates.
pub(crate) async fn list(
    log_cache: &LogCache,
    tenant: &Tenant,
    wanted: &Wanted,
) -> Result<ListPage, Refused> {
    let (mut filter, sieve) = (filter(tenant, wanted)?, Sieve::of(wanted)?);
    let (mut debates, mut looked_at) = (Vec::new(), 0);
    loop {
        let page = log_cache.engine().store().list(filter.clone()).await?;
        let is_last = page.len() < FETCHED as usize;
        for listed in page {
            looked_at += 1;
            filter.before = Some(listed.position);
            // They come the newest first, so nothing behind this one is young enough.
            if sieve.since.is_some_and(|since| listed.first.at < since) {
                return Ok(ListPage { debates, before: None });
            }
            if let Some(entry) = entry(log_cache, &listed, &sieve).await? {
                debates.push(entry);
            }
            if debates.len() == PAGE || looked_at == LOOKED_AT_MAX {
                return Ok(ListPage { debates, before: Some(listed.position.0) });
            }
        }
        if is_last {
            return Ok(ListPage { debates, before: None });
        }
    }
}

fn filter(tenant: &Tenant, wanted: &Wanted) -> Result<ListFilter, Refused> {
    one_of("format", &wanted.format, &FORMATS)?;
    let status = match wanted.state.as_str() {
        "" => None,
        state => {
            let kinds = LIFECYCLE_KINDS.iter().filter(|kind| state_after(kind) == state);
            one_of("state", state, &STATES)?;
            Some(kinds.map(|kind| (*kind).to_owned()).collect())
        }
    };
    Ok(ListFilter {
        tenant: Some(tenant.0.clone()),
        format: Some(wanted.format.clone()).filter(|format| !format.is_empty()),
        lifecycle: LIFECYCLE_KINDS.map(str::to_owned).to_vec(),
        status,
        touched_since: None,
        before: wanted.before.map(Position),
        limit: FETCHED,
    })
}

/// Returns a word that is one of those known, or empty.
fn one_of(field: &'static str, word: &str, known: &[&str]) -> Result<String, Refused> {
    if word.is_empty() || known.contains(&word) {
        return Ok(word.to_owned());
    }
    Err(Refused::Field { field, reason: format!("must be one of {}", known.join(", ")) })
}

/// Returns the state that a lifecycle event leads into.
fn state_after(kind: &str) -> &'static str {
    match kind {
        "concluded" => Lifecycle::Concluded.as_str(),
        "paused" => Lifecycle::Paused { remaining_ms: 0 }.as_str(),
        _ => Lifecycle::Running.as_str(),
    }
}

impl Sieve {
    fn of(wanted: &Wanted) -> Result<Self, Refused> {
        let moment = |field, text: &str| match text {
            "" => Ok(None),
            text => {
                let reason = "must be a moment such as 2026-11-21T00:00:00Z".to_owned();
                text.parse::<Timestamp>().map(Some).map_err(|_| Refused::Field { field, reason })
            }
        };
        Ok(Self {
            words: wanted.search.to_lowercase().split_whitespace().map(str::to_owned).collect(),
            completeness: one_of("completeness", &wanted.completeness, &COMPLETENESS)?,
            since: moment("since", &wanted.since)?,
            until: moment("until", &wanted.until)?,
        })
    }

    fn takes(&self, entry: &Entry) -> bool {
        let title = entry.title.as_deref().unwrap_or_default().to_lowercase();
        let is_found = |word: &String| title.contains(word) || entry.debate_id.starts_with(word.as_str());
        let is_as_whole =
            self.completeness.is_empty() || entry.completeness == Some(self.completeness.as_str());
        is_as_whole && self.words.iter().all(is_found)
    }
}

async fn entry(log_cache: &LogCache, listed: &Listed, sieve: &Sieve) -> Result<Option<Entry>, Refused> {
    if sieve.until.is_some_and(|until| listed.first.at >= until) {
        return Ok(None);
    }
    let eldest = log_cache.engine().eldest(&listed.first).await?;
    let entry = describe(listed, &eldest);
    if !sieve.takes(&entry) {
        return Ok(None);
    }
    if entry.state == Lifecycle::Concluded.as_str() {
        let beginning = log_cache.engine().store().read(eldest.stream, Seq::START, BEGINNING).await?;
        let simulated = AnyDebate::replay(&beginning).is_ok_and(|debate| debate.is_simulated());
        return Ok(Some(Entry { simulated, ..entry }));
    }
    // A log that does not fold is on the list all the same; its own page says what is wrong with it.
    let Ok(log) = log_cache.log(DebateId(listed.first.stream.id)).await else { return Ok(Some(entry)) };
    let Ok(debate) = log.at(log.head().0) else { return Ok(Some(entry)) };
    let phase = debate.phase();
    let progress = Progress {
        phase: phase.map(|(name, _)| name.to_owned()),
        round: phase.map(|(_, round)| round),
        calls_expected: debate.calls_expected(),
    };
    let (simulated, spend) = (debate.is_simulated(), debate.spend());
    let spent = Some(spent(&spend));
    Ok(Some(Entry { simulated, spend: Some(spend), spent, progress: Some(progress), ..entry }))
}

/// Describes a debate; the `eldest` event is the one that says what it is about, of a fork its first parent's.
fn describe(listed: &Listed, eldest: &Envelope) -> Entry {
    let last = listed.last_of_kinds.as_ref();
    let concluded = last.and_then(read::<Concluded>);
    let forked = codec::forked(&listed.first).and_then(Result::ok);
    Entry {
        debate_id: listed.first.stream.id.to_string(),
        format: format_of(&listed.first).unwrap_or_else(|| "unknown".to_owned()),
        state: last.map_or(Lifecycle::Running.as_str(), |last| state_after(&last.kind)),
        completeness: concluded.as_ref().map(|found| found.completeness.as_str()),
        opened_at: listed.first.at.to_string(),
        head_seq: listed.head.0,
        forked_from: forked.as_ref().map(Origin::from),
        title: AnyDebate::replay(std::slice::from_ref(eldest)).ok().and_then(|debate| debate.title()),
        simulated: false,
        spent: concluded.as_ref().and_then(|found| found.spend.as_ref()).map(spent),
        spend: concluded.and_then(|found| found.spend),
        progress: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_led_into_by_a_lifecycle_event_and_no_other_word_is_one() {
        let tenant = Tenant::default();
        let kinds = |state: &str| filter(&tenant, &Wanted { state: state.to_owned(), ..Wanted::default() });
        for state in STATES {
            assert!(kinds(state).unwrap().status.is_some_and(|kinds| !kinds.is_empty()), "{state}");
        }
        assert!(kinds("").unwrap().status.is_none());
        assert!(matches!(kinds("over"), Err(Refused::Field { field: "state", .. })));
    }
}
