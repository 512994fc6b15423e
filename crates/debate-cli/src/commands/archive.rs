//! `debate archive`: moves finished debates out of the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use debate_core::codec;
use debate_core::counted::counted;
use debate_core::envelope::StreamId;
use debate_core::id::{DebateId, Timestamp};
use debate_engine::{Env, LIFECYCLE_KINDS, LoadError};
use debate_store::{ArchiveError, Head, ListFilter, ReadError};
use serde_json::json;

use super::verify::bundle;
use super::{export, print};
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{self, End, Failure};
use crate::plain::one_line;
use crate::proof::archive::{bundle_name, bundle_path};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Move finished debates out of the store into bundles
///
/// A debate's bundle is written, read back and verified; only then its events leave the store, which keeps that it is
/// archived, where, and how it ended. `debate restore` brings it back to the byte. Debates that have not concluded stay,
/// and those that were forked stay as long as their forks do. Interrupted anywhere, nothing is lost: archive again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate archive 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --to archive
  debate archive --older-than 90 --to /mnt/archive
  debate archive --older-than 90 --to archive --json | jq -r 'select(.archived | not).why'")]
pub(crate) struct Archive {
    /// Which debates
    #[arg(value_name = "ID", required_unless_present = "older_than", conflicts_with = "older_than")]
    ids: Vec<DebateRef>,

    /// Every debate that concluded more than so many days ago
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    older_than: Option<u32>,

    /// Folder of the archive; it is made where there is none
    #[arg(long, env = "DEBATE_ARCHIVE", value_name = "FOLDER")]
    to: PathBuf,

    /// Print one JSON object in each line
    #[arg(long)]
    json: bool,
}

/// What became of a debate.
enum Moved {
    /// It is in a bundle, with so many events.
    Archived { bundle: String, events: u64 },
    /// It stays, and why.
    Kept(String),
}

impl Archive {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        fs::create_dir_all(&self.to)
            .map_err(|error| Failure::bad_input(format!("cannot use {}: {error}", self.to.display())))?;
        let app = AppContext::open_existing(options).await?;
        let archived = self.archive_all(&app).await;
        app.close().await;
        archived
    }

    async fn archive_all(&self, app: &AppContext) -> anyhow::Result<End> {
        let debates = match self.older_than {
            Some(days) => concluded(app, days).await?,
            None => found(&self.ids, app).await?,
        };
        let mut forks = forks(app).await?;
        let mut kept = 0;
        for debate in debates {
            let moved = self.archive(app, debate, &forks).await;
            let moved = moved.or_else(|error| why_kept(&error).map(Moved::Kept).ok_or(error))?;
            if matches!(moved, Moved::Archived { .. }) {
                // What it was forked from may go now.
                forks.values_mut().for_each(|forks| forks.retain(|fork| *fork != debate));
            }
            kept += usize::from(matches!(moved, Moved::Kept(_)));
            self.tell(debate, &moved)?;
        }
        // Who asks for all that is old takes what there is.
        Ok(if kept > 0 && self.older_than.is_none() { End::BadInput } else { End::Done })
    }

    /// Moves a debate out. Its events are removed last, once they were read back from the bundle.
    async fn archive(
        &self,
        app: &AppContext,
        debate: DebateId,
        forks: &BTreeMap<DebateId, Vec<DebateId>>,
    ) -> anyhow::Result<Moved> {
        let stream = StreamId::from(debate);
        if let Some(archived) = app.store.events().find_archived(stream).await? {
            let path = bundle_path(&self.to, &archived)?;
            let bundle = archived.bundle;
            if !path.exists() {
                let folder = self.to.display();
                return Ok(Moved::Kept(format!("it was archived in {bundle}, which is not in {folder}")));
            }
            return Ok(Moved::Archived { bundle, events: archived.head.seq.0 });
        }
        if let Some(fork) = forks.get(&debate).and_then(|forks| forks.first()) {
            return Ok(Moved::Kept(format!("debate {fork} was forked from it, and is in the store")));
        }
        let log = app.engine.log(debate, None).await?;
        let lifecycle = log.iter().rev().find(|event| LIFECYCLE_KINDS.contains(&event.kind.as_str()));
        let (Some(last), Some("concluded")) = (log.last(), lifecycle.map(|event| event.kind.as_str())) else {
            return Ok(Moved::Kept("it has not concluded".to_owned()));
        };
        let head = Head { seq: last.seq, hash: last.hash };
        let name = bundle_name(stream, head.seq);
        let path = self.to.join(&name);
        export::one(&**app.store.events(), stream, &path).await?;
        let checked = bundle::check(&path, None, None).await?;
        if !checked.is_sound() || checked.head(stream) != Some(head) {
            return Ok(Moved::Kept(format!("its bundle does not verify; see debate verify {debate}")));
        }
        let now = Env::real().now();
        match app.store.archive()?.archive(stream, head, &name, now).await {
            Ok(()) => Ok(Moved::Archived { bundle: name, events: head.seq.0 }),
            Err(error @ (ArchiveError::Moved { .. } | ArchiveError::Elsewhere { .. })) => {
                Ok(Moved::Kept(error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn tell(&self, debate: DebateId, moved: &Moved) -> anyhow::Result<()> {
        let id = debate.to_string();
        let line = match (moved, self.json) {
            (Moved::Archived { bundle, events }, true) => {
                json!({ "debate_id": id, "archived": true, "bundle": bundle, "events": events }).to_string()
            }
            (Moved::Kept(why), true) => {
                json!({ "debate_id": id, "archived": false, "why": one_line(why) }).to_string()
            }
            (Moved::Archived { bundle, events }, false) => {
                format!("archived  {id}  {} in {}", counted(*events, "event", "events"), one_line(bundle))
            }
            (Moved::Kept(why), false) => format!("kept      {id}  {}", one_line(why)),
        };
        Ok(print(&format!("{line}\n"))?)
    }
}

/// Returns why a debate stays while others may go, where an error is of this one alone: it cannot be read, or is too large to be
/// read back.
fn why_kept(error: &anyhow::Error) -> Option<String> {
    let is_corrupt = matches!(error.downcast_ref(), Some(LoadError::Read(ReadError::Corrupt { .. })));
    (is_corrupt || exit::end_of(error) == End::Fault).then(|| exit::one_line(error))
}

/// Returns the debates with these names.
async fn found(names: &[DebateRef], app: &AppContext) -> anyhow::Result<Vec<DebateId>> {
    let mut debates = Vec::new();
    for name in names {
        debates.push(name.find(&**app.store.events()).await?);
    }
    Ok(debates)
}

/// Returns the debates that concluded more than so many days ago, the newest first: forks before what they were forked from.
async fn concluded(app: &AppContext, days: u32) -> anyhow::Result<Vec<DebateId>> {
    let latest = Timestamp(Env::real().now().0 - i64::from(days) * DAY_MS);
    let mut filter = ListFilter {
        lifecycle: LIFECYCLE_KINDS.map(str::to_owned).to_vec(),
        status: Some(vec!["concluded".to_owned()]),
        ..ListFilter::default()
    };
    let mut debates = Vec::new();
    loop {
        let page = app.store.events().list(filter.clone()).await?;
        let Some(last) = page.last() else { return Ok(debates) };
        filter.before = Some(last.position);
        let old =
            page.iter().filter(|listed| listed.last_of_kinds.as_ref().is_some_and(|it| it.at <= latest));
        debates.extend(old.map(|listed| DebateId(listed.first.stream.id)));
    }
}

/// Returns the forks that are in the store, by what they were forked from.
async fn forks(app: &AppContext) -> anyhow::Result<BTreeMap<DebateId, Vec<DebateId>>> {
    let mut forks: BTreeMap<DebateId, Vec<DebateId>> = BTreeMap::new();
    for listed in app.engine.find_with_event_kind("forked", None, None).await? {
        if let Some(forked) = codec::forked(&listed.first) {
            forks.entry(forked?.parent).or_default().push(DebateId(listed.first.stream.id));
        }
    }
    Ok(forks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debate_whose_bundle_is_too_large_to_be_read_back_keeps_no_other() {
        let too_large = Failure::fault("one.bundle is damaged: a line is cut off or too long");
        assert!(why_kept(&too_large).unwrap().ends_with("too long"));
        for others in [Failure::bad_input("no room is left"), Failure::unavailable("the store is gone")] {
            assert_eq!(why_kept(&others), None);
        }
    }
}
