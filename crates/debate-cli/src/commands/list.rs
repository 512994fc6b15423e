//! `debate list`: the debates of a store.

use std::collections::BTreeSet;

use clap::ValueEnum;
use debate_core::codec;
use debate_core::debate::Lifecycle;
use debate_core::envelope::Envelope;
use debate_core::event::Concluded;
use debate_core::formats::any::{AnyDebate, FORMATS, format_of};
use debate_core::id::{DebateId, Timestamp};
use debate_core::record::Body as _;
use debate_core::spend::Cost;
use debate_engine::{Engine, Env, LIFECYCLE_KINDS};
use debate_store::{Archived, ListFilter, Listed, Position};
use serde::Serialize;

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::exit::{End, one_line as one_line_of};
use crate::page::{Column, Page};
use crate::plain::one_line;
use crate::prices::dollars;
use crate::shown;
use crate::terminal::Terminal;

/// Characters of an id that a list shows at least, and those of a whole one.
const ID_CHARS_MIN: usize = 8;
const ID_CHARS: usize = 36;

/// List debates, the newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate list
  debate list --status running
  debate list --status interrupted --json | jq -r .debate_id | xargs -n 1 debate resume
  debate list --format deliberation --limit 5
  debate list --json | jq -r .debate_id")]
pub(crate) struct List {
    /// Only debates that are in this state
    #[arg(long, value_name = "STATE", value_enum)]
    status: Option<Status>,

    /// Only debates of this format
    #[arg(long, value_name = "NAME", value_parser = FORMATS)]
    format: Option<String>,

    /// The most debates to list
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,

    /// Print one JSON object in each line
    #[arg(long)]
    json: bool,
}

/// Where a debate is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Status {
    /// A process drives it
    Running,
    /// It runs in the log, but no process drives it: `debate resume` does
    Interrupted,
    /// Nothing new starts
    Paused,
    /// The outcome stands
    Concluded,
    /// It was moved into an archive
    Archived,
}

impl Status {
    /// Returns the kinds of events that lead into this state.
    fn kinds(self) -> Vec<String> {
        // What is interrupted shows in no event.
        let in_log = if self == Self::Interrupted { Self::Running } else { self };
        let is_it = |kind: &&str| Self::after(kind) == in_log;
        LIFECYCLE_KINDS.iter().copied().filter(is_it).map(str::to_owned).collect()
    }

    /// Returns the state after the latest of the lifecycle events.
    fn after(kind: &str) -> Self {
        match kind {
            "concluded" => Self::Concluded,
            "paused" => Self::Paused,
            _ => Self::Running,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Running => Lifecycle::Running.as_str(),
            Self::Interrupted => "interrupted",
            Self::Paused => Lifecycle::Paused { remaining_ms: 0 }.as_str(),
            Self::Concluded => Lifecycle::Concluded.as_str(),
            Self::Archived => "archived",
        }
    }
}

/// One debate as `--json` shows it.
#[derive(Debug, Serialize)]
struct Entry {
    debate_id: String,
    format: String,
    status: &'static str,
    /// Empty unless it has concluded.
    completeness: String,
    opened_at: String,
    events: u64,
    /// Absent unless it is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<Origin>,
    /// Absent unless it has concluded and some of its cost is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    /// Absent unless it is archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<String>,
    /// Who drives it; absent unless a process does.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    title: String,
    /// How long ago it was opened, for people.
    #[serde(skip)]
    age: String,
    /// What it concluded, in a few characters; for people.
    #[serde(skip)]
    answer: String,
}

/// What a fork was forked from.
#[derive(Debug, Serialize)]
struct Origin {
    debate_id: String,
    at: u64,
    change: String,
}

impl Entry {
    /// Describes a debate; the `eldest` event is the one that says what it is about, of a fork its first parent's.
    fn of(listed: &Listed, (status, driver): (Status, Option<String>), eldest: &Envelope) -> Self {
        let last = listed.last_of_kinds.as_ref();
        let title = AnyDebate::replay(std::slice::from_ref(eldest)).ok().and_then(|debate| debate.title());
        let forked = codec::forked(&listed.first).and_then(Result::ok);
        let concluded = last.filter(|last| last.kind == Concluded::KIND);
        let concluded: Option<Concluded> = concluded.and_then(|last| serde_json::from_str(&last.body).ok());
        let completeness = concluded.as_ref().map(|found| found.completeness.as_str().to_owned());
        Self {
            debate_id: listed.first.stream.id.to_string(),
            format: format_of(&listed.first).unwrap_or_else(|| "unknown".to_owned()),
            status: status.as_str(),
            completeness: completeness.unwrap_or_default(),
            opened_at: listed.first.at.to_string(),
            events: listed.head.0,
            forked_from: forked.map(|forked| Origin {
                debate_id: forked.parent.to_string(),
                at: forked.at.0,
                change: one_line(&forked.change),
            }),
            cost: concluded.and_then(|found| found.spend).and_then(|spend| spend.cost),
            bundle: None,
            driver,
            title: title.unwrap_or_else(|| debate_core::prose::REDACTED.to_owned()),
            age: age(listed.first.at),
            answer: "-".to_owned(),
        }
    }
}

impl Entry {
    /// Sets the answer of a debate that has concluded; one whose log cannot be folded keeps none.
    async fn find_answer(&mut self, engine: &Engine) {
        let Ok(id) = self.debate_id.parse() else { return };
        if self.status == Status::Concluded.as_str()
            && let Ok(log) = engine.history(id, None).await
            && let Ok(debate) = AnyDebate::replay(&log)
        {
            self.answer = shown::answer(&debate);
        }
    }
}

impl From<Archived> for Entry {
    fn from(archived: Archived) -> Self {
        Self {
            debate_id: archived.stream.id.to_string(),
            format: archived.format.unwrap_or_else(|| "unknown".to_owned()),
            status: Status::Archived.as_str(),
            completeness: String::new(),
            opened_at: archived.opened_at.to_string(),
            events: archived.head.seq.0,
            forked_from: None,
            cost: None,
            title: format!("in {}", one_line(&archived.bundle)),
            bundle: Some(archived.bundle),
            driver: None,
            age: age(archived.opened_at),
            answer: "-".to_owned(),
        }
    }
}

impl List {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::reading(options).await?;
        let mut entries = self.entries(&app).await;
        if !self.json {
            for entry in entries.iter_mut().flatten() {
                entry.find_answer(&app.engine).await;
            }
        }
        app.close().await;
        let entries = entries?;
        if self.json {
            let lines = entries.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
            print(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        } else {
            print(&table(&entries, Terminal::stdout(options.ascii)))?;
        }
        Ok(End::Done)
    }

    /// Returns what is in the store and what is archived, in one order.
    async fn entries(&self, app: &AppContext) -> anyhow::Result<Vec<Entry>> {
        let store = app.store.events();
        let mut entries =
            if self.status == Some(Status::Archived) { Vec::new() } else { self.in_store(app).await? };
        if matches!(self.status, None | Some(Status::Archived)) {
            let archived = store.list_archived(self.filter()).await?;
            entries.extend(archived.into_iter().map(|archived| (archived.position, archived.into())));
        }
        entries.sort_by_key(|(position, _)| std::cmp::Reverse(*position));
        entries.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        Ok(entries.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Returns what is in the store, with its position.
    async fn in_store(&self, app: &AppContext) -> anyhow::Result<Vec<(Position, Entry)>> {
        let (mut filter, mut entries) = (self.filter(), Vec::new());
        loop {
            let page = app.store.events().list(filter.clone()).await?;
            let is_last = page.len() < self.limit as usize;
            filter.before = page.last().map(|listed| listed.position);
            for (listed, status) in with_status(app, page).await {
                if self.status.is_none_or(|wanted| wanted == status.0) {
                    let eldest = app.engine.eldest(&listed.first).await?;
                    entries.push((listed.position, Entry::of(&listed, status, &eldest)));
                }
            }
            if is_last || entries.len() >= self.limit as usize {
                return Ok(entries);
            }
        }
    }

    fn filter(&self) -> ListFilter {
        ListFilter {
            tenant: None,
            format: self.format.clone(),
            lifecycle: LIFECYCLE_KINDS.map(str::to_owned).to_vec(),
            status: self.status.map(Status::kinds),
            touched_since: None,
            before: None,
            limit: self.limit,
        }
    }
}

/// Returns debates with their state and who drives them: one that runs in the log is interrupted if no process does.
async fn with_status(app: &AppContext, page: Vec<Listed>) -> Vec<(Listed, (Status, Option<String>))> {
    let in_log = |listed: &Listed| {
        Status::after(listed.last_of_kinds.as_ref().map_or("opened", |last| last.kind.as_str()))
    };
    let id = |listed: &Listed| DebateId(listed.first.stream.id);
    let running: Vec<DebateId> =
        page.iter().filter(|listed| in_log(listed) == Status::Running).map(id).collect();
    let driven = app.store.driven(&running).await.map_err(|error| {
        let error = one_line_of(&error);
        tracing::warn!(error, "cannot see which debates are driven; those that run are listed as running");
    });
    let with_status = |listed: Listed| {
        let status = match (in_log(&listed), &driven) {
            (Status::Running, Ok(driven)) => match driven.get(&id(&listed)) {
                Some(driver) => (Status::Running, Some(driver.clone())),
                None => (Status::Interrupted, None),
            },
            (status, _) => (status, None),
        };
        (listed, status)
    };
    page.into_iter().map(with_status).collect()
}

/// Returns how long ago a debate was opened.
fn age(opened_at: Timestamp) -> String {
    let seconds = Env::real().now().since_ms(opened_at) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Returns how many characters of the ids tell these debates apart.
fn id_chars(entries: &[Entry]) -> usize {
    let ids: BTreeSet<&str> = entries.iter().map(|entry| entry.debate_id.as_str()).collect();
    let tell_apart = |chars: &usize| {
        let beginnings: BTreeSet<&str> = ids.iter().filter_map(|id| id.get(..*chars)).collect();
        beginnings.len() == ids.len()
    };
    (ID_CHARS_MIN..).take(ID_CHARS).find(tell_apart).unwrap_or(ID_CHARS)
}

/// Returns the known part of a cost, marked where there is more to it.
fn sum(cost: Cost) -> String {
    let more = if cost.complete { "" } else { "+" };
    format!("{}{more}", dollars(cost.cost_micros))
}

fn table(entries: &[Entry], terminal: Terminal) -> String {
    let mut page = Page::new(terminal);
    if entries.is_empty() {
        page.line("no debates");
        return page.into_text();
    }
    let has_cost = entries.iter().any(|entry| entry.cost.is_some());
    let mut head = vec![
        ("debate", Column::Left),
        ("age", Column::Right),
        ("status", Column::Left),
        ("answer", Column::Left),
        ("cost", Column::Right),
        ("title", Column::Left),
    ];
    head.retain(|(name, _)| has_cost || *name != "cost");
    let chars = id_chars(entries);
    let row = |entry: &Entry| {
        let whole = matches!(entry.completeness.as_str(), "" | "full");
        let status = match &entry.driver {
            Some(driver) => format!("{} ({})", entry.status, one_line(driver)),
            None if whole => entry.status.to_owned(),
            None => entry.completeness.to_uppercase(),
        };
        let title = one_line(&entry.title);
        let title = entry.forked_from.as_ref().map_or_else(
            || title.clone(),
            |origin| {
                let parent = origin.debate_id.get(..chars).unwrap_or_default();
                format!("fork of {parent} at {}, {}: {title}", origin.at, origin.change)
            },
        );
        let cost = has_cost.then(|| entry.cost.map_or_else(|| "-".to_owned(), sum));
        let id = entry.debate_id.get(..chars).unwrap_or_default().to_owned();
        let row = [id, entry.age.clone(), status, one_line(&entry.answer)];
        row.into_iter().chain(cost).chain([title]).collect()
    };
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    page.table(0, &head, &rows);
    page.into_text()
}
