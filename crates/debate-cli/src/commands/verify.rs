//! `debate verify`: checks stored debates.

pub(super) mod bundle;
pub(super) mod fold;
pub(super) mod forks;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::PathBuf;

use debate_core::chain::ChainCheck;
use debate_core::codec::{self, MISSING_PROSE};
use debate_core::counted::counted;
use debate_core::envelope::{Envelope, StreamId, StreamKind};
use debate_core::id::{DebateId, Seq};
use debate_core::policy::proposal_log::ProposalLog;
use debate_engine::verify::{archived_otherwise, readable};
use debate_engine::{Engine, Fault, LoadError, Verification};
use debate_store::{Archived, EventStore, Position, ReadError};
use serde::Serialize;

use self::record::Record;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::End;
use crate::plain::one_line;
use crate::proof::{archive, keys};

/// Events looked at in one go.
const PAGE: u32 = 1_000;

/// Check stored debates: hashes, fold and outcomes
///
/// A changed, removed, reordered or inserted event is found, and the first bad sequence number is named. Events cut
/// off the end and whole debates that are gone leave no trace of their own: --checkpoint shows them. Archived debates are
/// checked in the archive. --bundle checks a bundle, without any store.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate verify 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate verify --all --json | jq 'select(.ok | not)'
  debate verify --checkpoint proof --key audit.pub
  debate verify --all --archive archive
  debate verify --bundle all.bundle --key audit.pub --since seen-in-march")]
pub(crate) struct Verify {
    /// Which debate
    #[arg(
        value_name = "ID",
        required_unless_present_any = ["all", "checkpoint", "bundle"],
        conflicts_with_all = ["all", "bundle"]
    )]
    id: Option<DebateRef>,

    /// Check every debate of the store
    #[arg(long)]
    all: bool,

    /// Check also that every debate is what a checkpoint says, and that none is missing; a folder of checkpoints, for its
    /// latest, or a file
    #[arg(long, value_name = "PATH", requires = "key", conflicts_with = "bundle")]
    checkpoint: Option<PathBuf>,

    /// File of the leaves that the checkpoint covers; by default next to the checkpoint
    #[arg(long, value_name = "FILE", requires = "checkpoint")]
    leaves: Option<PathBuf>,

    /// Folder of the archive, from which archived debates are read
    #[arg(long, env = "DEBATE_ARCHIVE", value_name = "FOLDER", conflicts_with = "bundle")]
    archive: Option<PathBuf>,

    /// Check a bundle instead of the store
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,

    /// Public key, or a file with it, that must have signed the checkpoint
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// An older checkpoint that the bundle's must continue
    #[arg(long, value_name = "PATH", requires_all = ["bundle", "key"])]
    since: Option<PathBuf>,

    /// Print one JSON object in each line
    #[arg(long)]
    json: bool,
}

/// One debate's check as `--json` shows it.
#[derive(Serialize)]
struct Entry {
    debate_id: String,
    ok: bool,
    events: u64,
    /// Events shared with parents; 0 unless it is a fork.
    inherited: u64,
    head_seq: u64,
    head_hash: String,
    outcomes: u64,
    redacted: u64,
    #[serde(skip_serializing_if = "is_zero")]
    unfinished_redactions: u64,
    /// The last event that the checkpoint covers; 0 where it covers none.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Entry {
    fn of(name: &str, found: &Verification, signed: Option<Covered>) -> Self {
        let (seq, hash) = found.head;
        Self {
            debate_id: name.to_owned(),
            signed_seq: signed.map(|Covered(seq)| seq.map_or(0, |seq| seq.0)),
            ok: found.fault.is_none(),
            events: found.events,
            inherited: found.inherited,
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
        let key = self.key.as_deref().map(keys::verifier).transpose()?;
        if let Some(path) = &self.bundle {
            let since = match (&self.since, &key) {
                (Some(path), Some(key)) => Some(bundle::since(path, key)?),
                (Some(_) | None, _) => None,
            };
            let checked = bundle::check(path, key, since).await?;
            checked.tell(self.json)?;
            return Ok(if checked.is_sound() { End::Done } else { End::Fault });
        }
        let record = match (&self.checkpoint, &key) {
            (Some(path), Some(key)) => Some(Record::read(path, self.leaves.as_deref(), key)?),
            (Some(_) | None, _) => None,
        };
        let app = AppContext::with_archive(options, self.archive.as_deref()).await?;
        let checked = self.check(&app, record.as_ref()).await;
        app.close().await;
        checked
    }

    async fn check(&self, app: &AppContext, record: Option<&Record>) -> anyhow::Result<End> {
        let store = &**app.store.events();
        let (streams, wrong) = match &self.id {
            Some(id) => (BTreeSet::from([StreamId::from(id.find(store).await?)]), None),
            None => streams(store).await?,
        };
        let mut all: BTreeSet<StreamId> = streams;
        let archived = if self.id.is_none() { archive::all(store).await? } else { BTreeMap::new() };
        all.extend(archived.keys());
        let mut faults = usize::from(wrong.is_some());
        if let Some(record) = record {
            faults += usize::from(record.fault().is_some());
            record.tell(self.json)?;
            if self.id.is_none() {
                all.extend(record.leaves().streams());
            }
        }
        for stream in &all {
            let mut found = match archived.get(stream).filter(|_| self.archive.is_none()) {
                Some(archived) if store.head(*stream).await?.is_none() => not_looked_at(archived),
                Some(_) | None => verify(&app.engine, *stream, record.is_some()).await?,
            };
            let signed = match record {
                Some(record) => Some(record.compare(store, *stream, &mut found).await?),
                None => None,
            };
            if found.events == 0 && found.fault.is_none() {
                return Err(LoadError::NotFound(found.debate).into());
            }
            faults += usize::from(found.fault.is_some());
            tell(&stream_name(*stream), &found, signed, self.json)?;
        }
        let mut stdout = io::stdout().lock();
        if let Some(what) = wrong {
            writeln!(stdout, "FAULT  {}", one_line(&what))?;
        }
        if self.id.is_none() && !self.json {
            let debates = all.iter().filter(|stream| is_debate(stream)).count();
            let others = match all.len() - debates {
                0 => String::new(),
                others => format!(" and {}", counted(others, "log of proposals", "logs of proposals")),
            };
            let debates = counted(debates, "debate", "debates");
            writeln!(stdout, "{debates}{others} checked, {faults} with a fault")?;
        }
        Ok(if faults == 0 { End::Done } else { End::Fault })
    }
}

/// How far a checkpoint covers a debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Covered(Option<Seq>);

fn is_debate(stream: &StreamId) -> bool {
    stream.kind == StreamKind::Debate
}

/// Returns how people name a stream: a debate by its id.
fn stream_name(stream: StreamId) -> String {
    if is_debate(&stream) { stream.id.to_string() } else { stream.to_string() }
}

fn tell(name: &str, found: &Verification, signed: Option<Covered>, json: bool) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    if json {
        return Ok(writeln!(stdout, "{}", serde_json::to_string(&Entry::of(name, found, signed))?)?);
    }
    match &found.fault {
        Some(fault) => writeln!(stdout, "FAULT  {name}  at event {}: {}", fault.seq, one_line(&fault.why))?,
        None => {
            let events = counted(found.events, "event", "events");
            let outcomes = counted(found.outcomes, "outcome", "outcomes");
            let redacted = redactions(found);
            let inherited = if found.inherited > 0 {
                format!(" behind {} of parents", found.inherited)
            } else {
                String::new()
            };
            let signed = match signed {
                Some(Covered(Some(seq))) if seq == found.head.0 => ", signed".to_owned(),
                Some(Covered(Some(seq))) => format!(", signed up to event {seq}"),
                Some(Covered(None)) => ", not signed yet".to_owned(),
                None => String::new(),
            };
            writeln!(
                stdout,
                "ok     {name}  {events}{inherited}, {outcomes} recomputed{redacted}{signed}, head {hash}",
                hash = found.head.1
            )?;
        }
    }
    Ok(())
}

/// Returns what is found of an archived debate where the archive is not given.
fn not_looked_at(archived: &Archived) -> Verification {
    let nothing = Verification::new(DebateId(archived.stream.id), ChainCheck::new(archived.stream).head());
    let why = format!("missing here: it is archived in {}; give --archive", archived.bundle);
    Verification { fault: Some(Fault { seq: Seq(1), why }), ..nothing }
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

/// Checks one stream. A stream that is not there is one without events, where it `may_be_gone`.
async fn verify(engine: &Engine, stream: StreamId, may_be_gone: bool) -> Result<Verification, LoadError> {
    let debate = DebateId(stream.id);
    let nothing = Verification::new(debate, ChainCheck::new(stream).head());
    if !is_debate(&stream) {
        return Ok(check_proposals(&**engine.store(), stream, nothing).await?);
    }
    match engine.verify(debate).await {
        Err(LoadError::NotFound(_)) if may_be_gone => Ok(nothing),
        found => found,
    }
}

/// Checks the log of proposals for a reviewer: its hashes, that all of it can have happened, and that its words are there:
/// nothing records that they were deleted.
async fn check_proposals(
    store: &dyn EventStore,
    stream: StreamId,
    mut found: Verification,
) -> Result<Verification, ReadError> {
    found.fault = archived_otherwise(store, stream).await?;
    if found.fault.is_some() {
        return Ok(found);
    }
    let mut chain = ChainCheck::new(stream);
    let mut log: Vec<Envelope> = Vec::new();
    let broken = 'log: loop {
        let page = match readable(store, stream, chain.head().0).await? {
            Ok(page) => page,
            Err(fault) => break 'log Some(fault),
        };
        for envelope in page.events {
            if let Err(broken) = chain.push(&envelope) {
                break 'log Some(broken.into());
            }
            log.push(envelope);
        }
        if page.is_last {
            break 'log None;
        }
    };
    found.events = log.len() as u64;
    found.redacted = log.iter().filter(|envelope| envelope.is_redacted()).count() as u64;
    found.head = chain.head();
    let wrong =
        ProposalLog::replay(&log).err().map(|wrong| Fault { seq: wrong.seq(), why: wrong.to_string() });
    let taken = codec::taken(&log).map(|seq| Fault { seq, why: MISSING_PROSE.to_owned() });
    found.fault = [broken, wrong, taken].into_iter().flatten().min_by_key(|fault| fault.seq);
    Ok(found)
}

/// Returns every stream of which there is any event, also where its first one is gone; and the first thing that is wrong
/// with the store as a whole.
async fn streams(store: &dyn EventStore) -> Result<(BTreeSet<StreamId>, Option<String>), ReadError> {
    let (mut found, mut after, mut limit) = (BTreeMap::new(), Position::START, PAGE);
    let mut wrong = None;
    loop {
        match store.read_all(after, limit).await {
            Ok(page) => {
                let Some((last, _)) = page.last() else { return Ok((found.into_keys().collect(), wrong)) };
                after = *last;
                for (position, Envelope { stream, seq, .. }) in &page {
                    let before = found.insert(*stream, *seq).unwrap_or(Seq::START);
                    if before >= *seq {
                        wrong.get_or_insert(format!(
                            "the order of the store was changed: event {seq} of {stream}, at position {position}, stands \
                             after event {before}"
                        ));
                    }
                }
            }
            // One by one up to the bad row, then on behind it.
            Err(ReadError::Corrupt { .. }) if limit > 1 => limit = 1,
            Err(ReadError::Corrupt { position, what }) => {
                wrong.get_or_insert(format!("the event at position {position} cannot be read: {what}"));
                after = position.max(Position(after.0 + 1));
                limit = PAGE;
            }
            Err(error) => return Err(error),
        }
    }
}
