//! Logs of roundtables as resources: `debate://ID/log`, a page of events at a time.

use debate_core::format::Format as _;
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::Seq;
use debate_grpc::refusal::Refusal;
use debate_grpc::tokens::Scope;
use debate_grpc::{TenantSession, event_json};
use debate_proto::v1;
use rmcp::model::{ListResourcesResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

const SCHEME: &str = "debate://";
const LOG: &str = "/log";
const AFTER: &str = "?after=";
const JSON: &str = "application/json";
/// Events on a page.
const EVENTS_MAX: u32 = 200;

/// Returns a page of the logs that a caller can read, the newest first.
pub(crate) async fn list(
    session: &TenantSession,
    cursor: Option<String>,
) -> Result<ListResourcesResult, Refusal> {
    session.check_scope(Scope::Read)?;
    // The log of an archived one cannot be read.
    let readable = [v1::DebateState::Running, v1::DebateState::Paused, v1::DebateState::Concluded];
    let request = v1::ListDebatesRequest {
        format: Roundtable::NAME.to_owned(),
        page_token: cursor.unwrap_or_default(),
        states: readable.map(Into::into).to_vec(),
        ..v1::ListDebatesRequest::default()
    };
    let page = session.page(&request).await?;
    let resources = page.debates.iter().map(|debate| {
        let name = if debate.title.is_empty() { &debate.id } else { &debate.title };
        Resource::new(format!("{SCHEME}{}{LOG}", debate.id), name.clone())
            .with_description("Everything that happened in this roundtable, event by event.")
            .with_mime_type(JSON)
    });
    let mut result = ListResourcesResult::with_all_items(resources.collect());
    result.next_cursor = Some(page.next_page_token).filter(|token| !token.is_empty());
    Ok(result)
}

/// Returns how the addresses of logs are made.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{debate_id}}{LOG}{{?after}}"), "log")
        .with_description(format!("The next {EVENTS_MAX} events of a roundtable after event `after`."))
        .with_mime_type(JSON)
}

/// Returns a page of a log, with the address of the next one.
pub(crate) async fn read(session: &TenantSession, uri: &str) -> Result<ResourceContents, Refusal> {
    session.check_scope(Scope::Read)?;
    let wrong = || Refusal::field("uri", format!("must be {SCHEME}ID{LOG} or {SCHEME}ID{LOG}{AFTER}NUMBER"));
    let (id, rest) = uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')).ok_or_else(wrong)?;
    let after = match rest.strip_prefix(&LOG[1..]).ok_or_else(wrong)? {
        "" => Seq::START,
        query => Seq(query.strip_prefix(AFTER).and_then(|after| after.parse().ok()).ok_or_else(wrong)?),
    };
    let (page, head) = session.log(id, after, EVENTS_MAX).await?;
    let events = page.iter().map(event_json).collect::<Result<Vec<_>, _>>();
    let events = events.map_err(|error| Refusal::defect(&error))?;
    let last = page.last().map_or(after, |last| last.seq);
    let next = (last < head).then(|| format!("{SCHEME}{id}{LOG}{AFTER}{last}"));
    let text = json!({ "events": events, "head_seq": head, "next": next }).to_string();
    Ok(ResourceContents::text(text, uri).with_mime_type(JSON))
}
