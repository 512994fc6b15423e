//! How a command names a debate: by its id, the beginning of its id, `@` for the newest, or the address of its page.

use std::fmt;
use std::str::FromStr;

use debate_core::envelope::{StreamId, StreamKind};
use debate_core::id::DebateId;
use debate_store::{EventStore, ListFilter};
use uuid::Uuid;

use crate::exit::Failure;

/// The fewest characters of the beginning of an id.
const PREFIX_CHARS_MIN: usize = 4;
/// Archived debates that are read at once.
const ARCHIVED_PAGE: u32 = 1_000;

/// A debate as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DebateRef(String);

impl FromStr for DebateRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let page = text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let name = page.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let is_prefix = name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if name == "@" || DebateId::from_str(&name).is_ok() || (is_prefix && name.len() >= PREFIX_CHARS_MIN) {
            return Ok(Self(name));
        }
        Err(format!(
            "must be the id of a debate, at least {PREFIX_CHARS_MIN} characters of its beginning, @ for the newest \
             debate, or the address of its page"
        ))
    }
}

impl fmt::Display for DebateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl DebateRef {
    /// Returns the id, where the name is a whole one.
    pub(crate) fn whole(&self) -> anyhow::Result<DebateId> {
        let id = self.0.parse();
        id.map_err(|_| {
            Failure::bad_input(format!("{self}: a server takes whole ids only; see `debate list`"))
        })
    }

    /// Returns the debate of a store that has this name.
    ///
    /// # Errors
    /// No debate has it, or several have it.
    pub(crate) async fn find(&self, store: &dyn EventStore) -> anyhow::Result<DebateId> {
        if let Ok(id) = self.0.parse() {
            return Ok(id);
        }
        if self.0 == "@" {
            let newest = store.list(ListFilter { limit: 1, ..ListFilter::default() }).await?;
            let newest = newest.first().map(|listed| DebateId(listed.first.stream.id));
            return newest.ok_or_else(|| Failure::not_found("the store has no debates"));
        }
        let found = self.matching(store).await?;
        match found[..] {
            [id] => Ok(id),
            [] => {
                Err(Failure::not_found(format!("the id of no debate begins with {self}; see `debate list`")))
            }
            [one, other, ..] => Err(Failure::bad_input(format!(
                "several ids begin with {self}: {one}, {other}; add characters"
            ))),
        }
    }

    /// Returns debates whose id begins with the name; at most two of those that are not archived.
    async fn matching(&self, store: &dyn EventStore) -> anyhow::Result<Vec<DebateId>> {
        let digits = self.0.replace('-', "");
        let is_it = |id: &DebateId| id.0.as_simple().to_string().starts_with(&digits);
        let first = u128::from_str_radix(&format!("{digits:0<32.32}"), 16)?;
        let before =
            first.checked_sub(1).map(|id| StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(id) });
        let heads = store.heads(before, 2).await?.into_iter().map(|(stream, _)| stream);
        let debates = heads.filter(|stream| stream.kind == StreamKind::Debate);
        let mut found: Vec<DebateId> = debates.map(|stream| DebateId(stream.id)).filter(is_it).collect();
        let mut filter = ListFilter { limit: ARCHIVED_PAGE, ..ListFilter::default() };
        loop {
            let page = store.list_archived(filter.clone()).await?;
            found.extend(page.iter().map(|archived| DebateId(archived.stream.id)).filter(is_it));
            match page.last() {
                Some(last) if page.len() == ARCHIVED_PAGE as usize => filter.before = Some(last.position),
                Some(_) | None => return Ok(found),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4d774f2b-da6e-4094-8a5c-947d33e0f807";

    #[test]
    fn ids_prefixes_and_addresses_of_pages_name_debates() {
        for (text, name) in [
            (ID, ID),
            ("4D77", "4d77"),
            ("4d774f2b-da", "4d774f2b-da"),
            ("@", "@"),
            (&format!("http://localhost:50051/viewer/debates/{ID}?at=7#top"), ID),
            (&format!("/viewer/debates/{ID}/"), ID),
        ] {
            assert_eq!(text.parse(), Ok(DebateRef(name.to_owned())), "{text}");
        }
        for text in ["", "4d7", "newest", "@1", "4d774f2g", "http://localhost:50051/viewer/"] {
            assert!(text.parse::<DebateRef>().is_err(), "{text}");
        }
    }
}
