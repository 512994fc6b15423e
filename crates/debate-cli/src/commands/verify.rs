//! `debate verify`: checks stored debates.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use clap::builder::FalseyValueParser;
use debate_core::chain::ChainCheck;
use debate_core::envelope::{StreamId, StreamKind};
use debate_core::id::{DebateId, Seq};
use debate_engine::{Engine, Fault, LoadError, Verification};
use debate_store::{EventStore, Position, ReadError};
use serde::Serialize;

use crate::args::Options;
use crate::exit::End;
use crate::house::House;
use crate::plain::one_line;

/// Events looked at in one go.
const PAGE: u32 = 1_000;

/// Check stored debates: hashes, the fold, recorded outcomes against recomputed ones
///
/// A changed, removed, reordered or inserted event is found, and the first bad sequence number is named. Events cut
/// off the end leave no trace; only a signed checkpoint kept elsewhere shows them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate verify 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate verify --all
  debate verify --all --json | jq 'select(.ok | not)'")]
pub(crate) struct Verify {
    /// Which debate
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    id: Option<DebateId>,

    /// Check every debate of the store
    #[arg(long, env = "DEBATE_ALL", value_parser = FalseyValueParser::new())]
    all: bool,

    /// Print one JSON object in each line
    #[arg(long, env = "DEBATE_JSON", value_parser = FalseyValueParser::new())]
    json: bool,
}

/// One debate's check as `--json` shows it.
#[derive(Serialize)]
struct Entry {
    debate_id: String,
    ok: bool,
    events: u64,
    head_seq: u64,
    head_hash: String,
    outcomes: u64,
    redacted: u64,
    #[serde(skip_serializing_if = "is_zero")]
    unfinished_redactions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<&Verification> for Entry {
    fn from(found: &Verification) -> Self {
        let (seq, hash) = found.head;
        Self {
            debate_id: found.debate.to_string(),
            ok: found.fault.is_none(),
            events: found.events,
            head_seq: seq.0,
            head_hash: hash.to_string(),
            outcomes: found.outcomes,
            redacted: found.redacted,
            unfinished_redactions: found.unfinished,
            fault_seq: found.fault.as_ref().map(|fault| fault.seq.0),
            fault: found.fault.as_ref().map(|fault| one_line(&fault.why)),
        }
    }
}

impl Verify {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let house = House::open_existing(options).await?;
        let checked = self.check(&house).await;
        house.close().await?;
        checked
    }

    async fn check(&self, house: &House) -> anyhow::Result<End> {
        let (debates, unreadable) = match self.id {
            Some(id) => (BTreeSet::from([id]), None),
            None => debates(&**house.store.events()).await?,
        };
        let mut faults = usize::from(unreadable.is_some());
        for debate in &debates {
            let found = verify(&house.engine, *debate).await?;
            faults += usize::from(found.fault.is_some());
            self.tell(&found)?;
        }
        let mut stdout = io::stdout().lock();
        if let Some(what) = unreadable {
            writeln!(stdout, "FAULT  {}", one_line(&what))?;
        }
        if self.all && !self.json {
            writeln!(stdout, "{} debates checked, {faults} with a fault", debates.len())?;
        }
        Ok(if faults == 0 { End::Done } else { End::Fault })
    }

    fn tell(&self, found: &Verification) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        if self.json {
            return Ok(writeln!(stdout, "{}", serde_json::to_string(&Entry::from(found))?)?);
        }
        let id = found.debate;
        match &found.fault {
            Some(fault) => writeln!(stdout, "FAULT  {id}  at event {}: {}", fault.seq, one_line(&fault.why))?,
            None => {
                let (events, outcomes) = (found.events, found.outcomes);
                let redacted = redactions(found);
                let hash = found.head.1;
                writeln!(
                    stdout,
                    "ok     {id}  {events} events, {outcomes} outcomes recomputed{redacted}, head {hash}"
                )?;
            }
        }
        Ok(())
    }
}

/// Returns what there is to say of redactions, after a comma.
fn redactions(found: &Verification) -> String {
    let mut text = String::new();
    if found.redacted > 0 {
        text += &format!(", {} redacted", found.redacted);
    }
    if found.unfinished > 0 {
        text += &format!(", {} redactions unfinished: redact again", found.unfinished);
    }
    text
}

/// Checks one debate; a row that cannot even be read is a fault like any other.
async fn verify(engine: &Engine, debate: DebateId) -> Result<Verification, LoadError> {
    match engine.verify(debate).await {
        Err(LoadError::Read(ReadError::Corrupt { what, .. })) => {
            let seq = first_unreadable(&**engine.store(), debate).await?;
            let head = ChainCheck::new(debate.into()).head();
            let fault = Some(Fault { seq, why: what });
            Ok(Verification { events: seq.0 - 1, fault, ..Verification::new(debate, head) })
        }
        found => found,
    }
}

/// Returns the sequence number of the first event that cannot be read.
async fn first_unreadable(store: &dyn EventStore, debate: DebateId) -> Result<Seq, ReadError> {
    let stream = StreamId::from(debate);
    let mut after = Seq::START;
    loop {
        match store.read(stream, after, 1).await {
            Ok(page) => match page.last() {
                Some(last) => after = last.seq,
                None => return Ok(after.next()),
            },
            Err(ReadError::Corrupt { .. }) => return Ok(after.next()),
            Err(error) => return Err(error),
        }
    }
}

/// Returns every debate of which there is any event, also where its first one is gone; and what kept the rest of
/// the store from being read.
async fn debates(store: &dyn EventStore) -> Result<(BTreeSet<DebateId>, Option<String>), ReadError> {
    let (mut found, mut after, mut limit) = (BTreeSet::new(), Position::START, PAGE);
    let mut unreadable = None;
    loop {
        match store.read_all(after, limit).await {
            Ok(page) => {
                let Some((last, _)) = page.last() else { return Ok((found, unreadable)) };
                after = *last;
                let streams = page.iter().map(|(_, envelope)| envelope.stream);
                found.extend(streams.filter(|it| it.kind == StreamKind::Debate).map(|it| DebateId(it.id)));
            }
            // One by one up to the bad row, then on behind it.
            Err(ReadError::Corrupt { .. }) if limit > 1 => limit = 1,
            Err(ReadError::Corrupt { position, what }) => {
                unreadable.get_or_insert(format!("the event at position {position} cannot be read: {what}"));
                after = position.max(Position(after.0 + 1));
                limit = PAGE;
            }
            Err(error) => return Err(error),
        }
    }
}
