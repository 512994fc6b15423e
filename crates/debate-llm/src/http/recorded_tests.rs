//! Recorded responses of real providers, split anywhere, against what the official SDK made of the same bytes.
//!
//! Where the records hold no reading of an SDK, the test reads the whole body itself, without streaming.

mod expected;
mod shapes;

use std::collections::BTreeMap;
use std::path::Path;

use http::header::HeaderMap;
use serde_json::Value;

use self::expected::Expected;
use super::answer::Answer;
use super::decode::Decoder;
use super::failure;
use crate::{Ending, ModelError, ModelErrorKind, Provider};

/// How many ways each body is split.
const SPLITS: u64 = 12;

/// The records whose protocol is spoken, as the index counts them.
const SPOKEN: [(Provider, usize); 4] = [
    (Provider::Anthropic, 120),
    (Provider::Gemini, 41),
    (Provider::OpenAi, 155),
    (Provider::OpenAiResponses, 95),
];

/// The records whose protocol no adapter supports, by provider and interface.
const UNSPOKEN: [(&str, &str, usize); 5] = [
    ("bedrock", "other", 4),
    ("cohere", "other", 6),
    ("gemini", "other", 1),
    ("ollama", "other", 3),
    ("openai", "completion", 1),
];

/// All records.
const RECORDS: usize = 426;

struct Record {
    index: Value,
    body: Vec<u8>,
}

impl Record {
    fn text(&self, field: &str) -> &str {
        self.index[field].as_str().unwrap_or_default()
    }

    /// Returns whose protocol the body speaks.
    fn protocol(&self) -> Option<Provider> {
        match self.text("api") {
            "messages" => Some(Provider::Anthropic),
            "generateContent" => Some(Provider::Gemini),
            "chat" => Some(Provider::OpenAi),
            "responses" => Some(Provider::OpenAiResponses),
            // An error is written alike, whatever was asked for.
            "other" if self.status() != 200 => match self.text("provider") {
                "gemini" => Some(Provider::Gemini),
                "deepseek" | "groq" | "openai" => Some(Provider::OpenAi),
                _ => None,
            },
            _ => None,
        }
    }

    fn status(&self) -> u16 {
        u16::try_from(self.index["status"].as_u64().unwrap()).unwrap()
    }

    fn is_stream(&self) -> bool {
        self.text("format") != "json"
    }

    /// Returns the data of each event, as the file holds them.
    fn events(&self) -> Vec<&str> {
        let text = std::str::from_utf8(&self.body).unwrap();
        let lines = text.split('\n').map(str::trim_end);
        match self.text("format") {
            "chunks-jsonl" => lines.filter(|line| !line.is_empty()).collect(),
            "sse" => lines.filter_map(|line| line.strip_prefix("data:").map(str::trim_start)).collect(),
            _ => vec![text],
        }
    }

    /// Returns the bytes as they were on the wire.
    fn wire(&self) -> Vec<u8> {
        match self.text("format") {
            "chunks-jsonl" => {
                let events = self.events().into_iter().map(|data| format!("data: {data}\n\n"));
                events.collect::<String>().into_bytes()
            }
            _ => self.body.clone(),
        }
    }
}

fn records() -> Vec<Record> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/sse");
    let Ok(index) = std::fs::read_to_string(folder.join("index.jsonl")) else {
        eprintln!("skipped: ../shared/data/sse is absent");
        return Vec::new();
    };
    let rows = index.split('\n').filter(|line| !line.is_empty());
    rows.map(|line| {
        let index: Value = serde_json::from_str(line).unwrap();
        let body = std::fs::read(folder.join(index["file"].as_str().unwrap())).unwrap();
        Record { index, body }
    })
    .collect()
}

/// Decodes `body` in pieces of 1 to 2ⁿ bytes drawn from `seed`; seed 0 takes it whole.
fn decode(provider: Provider, body: &[u8], seed: u64) -> (Result<Answer, ModelError>, String) {
    let mut streamed = String::new();
    let mut chunks = |delta: &str| streamed.push_str(delta);
    let mut decoder = Decoder::new(provider.protocol().events(), 4 << 20);
    let mut state = seed;
    let mut rest = body;
    let mut result = Ok(());
    while !rest.is_empty() && result.is_ok() && !decoder.is_done() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = if seed == 0 { rest.len() } else { 1 + (state >> 33) as usize % (1 << (seed % 10)) };
        let (piece, after) = rest.split_at(size.min(rest.len()));
        result = decoder.push(piece, &mut chunks);
        rest = after;
    }
    let answer = result.and_then(|()| decoder.finish(&mut chunks));
    (answer, streamed)
}

/// Returns a stream that says the same in other bytes: other line ends, comments, unknown fields, pings.
fn disguised(provider: Provider, wire: &[u8], seed: u64) -> Vec<u8> {
    let text = std::str::from_utf8(wire).unwrap().replace("\r\n", "\n");
    let noise = match provider {
        Provider::Anthropic => {
            ": keep-alive\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nid: 7\nretry: 9\n\n"
        }
        Provider::Gemini | Provider::OpenAi | Provider::OpenAiResponses => {
            ": keep-alive\n\n:\nid: 7\nretry: 9\n\n"
        }
    };
    match seed % 4 {
        0 => text.into_bytes(),
        1 => text.replace('\n', "\r\n").into_bytes(),
        2 => text.replace("\n\n", &format!("\n\n{noise}")).into_bytes(),
        _ => text.replace("\n\n", &format!("\n\n{noise}")).replace('\n', "\r\n").into_bytes(),
    }
}

/// Returns the events of each response where a file holds several, one after another.
fn responses(record: &Record) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = Vec::new();
    for data in record.events() {
        let ends = |last: &Vec<&str>| last.last().is_some_and(|data| data.contains("\"message_stop\""));
        match all.last_mut().filter(|last| !ends(last)) {
            Some(last) => last.push(data),
            None => all.push(vec![data]),
        }
    }
    all
}

fn check(record: &Record, provider: Provider) {
    let id = record.text("id");
    let several = if provider == Provider::Anthropic { responses(record) } else { Vec::new() };
    if several.len() > 1 {
        for (at, events) in several.iter().enumerate() {
            let is_last = at + 1 == several.len();
            let expected = expected::message_among_others(events, is_last, &record.index["derived_by_sdk"]);
            let wire: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
            for seed in 0..SPLITS {
                let bytes = disguised(provider, wire.as_bytes(), seed);
                let (answer, streamed) = decode(provider, &bytes, seed);
                expected.check(answer, &streamed, &format!("{id}, response {at}, split {seed}"));
            }
        }
        return;
    }
    let wire = record.wire();
    let expected = Expected::of(record, provider);
    for seed in 0..SPLITS {
        let bytes = if record.is_stream() { disguised(provider, &wire, seed) } else { wire.clone() };
        let (answer, streamed) = decode(provider, &bytes, seed);
        expected.check(answer, &streamed, &format!("{id}, split {seed}"));
    }
}

fn check_error(record: &Record, provider: Provider) {
    let status = record.status();
    let failure = failure::from_response(provider.protocol(), status, &HeaderMap::new(), &record.body);
    let want = match status {
        401 | 403 => "unauthorised",
        404 => "unknown_model",
        400 if String::from_utf8_lossy(&record.body).contains("\"model_not_found\"") => "unknown_model",
        // What the model wrote is bad, not the request.
        400 if String::from_utf8_lossy(&record.body).contains("\"failed_generation\"") => {
            "malformed_response"
        }
        400 if String::from_utf8_lossy(&record.body).contains("context") => "window_exceeded",
        429 => "rate_limited",
        500 => "server_error",
        529 => "overloaded",
        _ => "bad_request",
    };
    let id = record.text("id");
    assert_eq!(failure.error.kind.label(), want, "{id}");
    assert!(failure.error.message.len() > 12, "{id}: {}", failure.error.message);
}

#[test]
fn every_record_of_a_spoken_protocol_reads_as_the_official_sdk_reads_it_at_every_split() {
    let records = records();
    let is_absent = records.is_empty();
    let mut spoken = BTreeMap::<(Provider, String, &str), usize>::new();
    let mut others = BTreeMap::<(String, String), usize>::new();
    for record in &records {
        let name = record.text("provider").to_owned();
        let Some(provider) = record.protocol() else {
            *others.entry((name, record.text("api").to_owned())).or_default() += 1;
            continue;
        };
        let what = if record.status() != 200 {
            check_error(record, provider);
            "errors"
        } else {
            check(record, provider);
            if record.is_stream() { "streams" } else { "whole bodies" }
        };
        *spoken.entry((provider, name, what)).or_default() += 1;
    }
    for ((provider, name, what), count) in &spoken {
        eprintln!("{provider} protocol, {name}: {count} {what} replayed");
    }
    for ((name, api), count) in &others {
        eprintln!("not spoken: {name} {api}: {count}");
    }
    if is_absent {
        return;
    }
    let others: Vec<(&str, &str, usize)> =
        others.iter().map(|((name, api), count)| (name.as_str(), api.as_str(), *count)).collect();
    assert_eq!(others, UNSPOKEN);
    for (provider, want) in SPOKEN {
        let count: usize =
            spoken.iter().filter(|((known, ..), _)| *known == provider).map(|(_, count)| count).sum();
        assert_eq!(count, want, "{provider}");
    }
    let unspoken = UNSPOKEN.iter().map(|(_, _, count)| count);
    assert_eq!(spoken.values().chain(unspoken).sum::<usize>(), RECORDS);
}

fn streams() -> impl Iterator<Item = (Record, Provider)> {
    let records = records().into_iter().filter(|record| record.status() == 200 && record.is_stream());
    records.filter_map(|record| record.protocol().map(|provider| (record, provider)))
}

/// Returns where the event ends that gives this reason, the line ends behind it left out; some give it twice.
fn end_of_reason(events: &[&str], wire: &[u8], word: &str) -> usize {
    let named = [format!("reason\":\"{word}\""), format!("\"type\":\"response.{word}\"")];
    let gives = |data: &&&str| {
        let compact: String = data.chars().filter(|c| !c.is_whitespace()).collect();
        // A tool of the provider's own may be another model, which ends its answer within this one.
        let is_of_block = compact.contains("content_block_start");
        !is_of_block && named.iter().any(|named| compact.to_lowercase().contains(&named.to_lowercase()))
    };
    let event = events.iter().find(gives).unwrap();
    memchr::memmem::find(wire, event.as_bytes()).unwrap() + event.len()
}

#[test]
fn k18_a_stream_cut_at_any_byte_is_whole_only_with_its_reason() {
    let mut checked = None;
    for (record, provider) in streams() {
        // Of several responses in one file the first one is read.
        let events =
            if provider == Provider::Anthropic { responses(&record).swap_remove(0) } else { record.events() };
        let wire = events.iter().map(|data| format!("data: {data}\n\n")).collect::<String>().into_bytes();
        let (Ok(whole), _) = decode(provider, &wire, 0) else { continue };
        let id = record.text("id");
        let reason = end_of_reason(&events, &wire, whole.stop_reason.as_deref().unwrap());
        // Every byte about the event with the reason, and of all others as many as there is time for.
        let step = (wire.len() / 40).max(1);
        let near = reason.saturating_sub(40)..wire.len().min(reason + 4);
        for cut in (0..wire.len()).step_by(step).chain(near) {
            match decode(provider, &wire[..cut], 0).0 {
                // From the reason on all is there; only usage may be missing, and what is missing is not made up.
                Ok(answer) => {
                    assert!(cut >= reason, "{id} at {cut}, before {reason}");
                    assert_eq!(answer.text, whole.text, "{id} at {cut}");
                    assert_eq!(answer.tool_calls, whole.tool_calls, "{id} at {cut}");
                    assert_eq!(
                        (answer.ending, &answer.stop_reason),
                        (whole.ending, &whole.stop_reason),
                        "{id}"
                    );
                    let all =
                        [answer.usage, whole.usage].map(|it| [it.input, it.output, it.cached, it.reasoning]);
                    for (part, of) in all[0].iter().zip(all[1]) {
                        assert!(part.is_none() || *part == of, "{id} at {cut}: {:?} of {:?}", all[0], all[1]);
                    }
                }
                Err(error) => {
                    let is_cut = matches!(error.kind, ModelErrorKind::Truncated | ModelErrorKind::Malformed);
                    assert!(is_cut, "{id} at {cut}: {error}");
                    assert!(cut < reason, "{id} at {cut}, behind {reason}: {error}");
                }
            }
            *checked.get_or_insert(0) += 1;
        }
    }
    assert!(checked.is_none_or(|checked| checked >= 10_000), "{checked:?}");
}

/// A page that an answer lists: its address, its title, and the beginning of the cited text, if any.
type ListedPage<'a> = (&'a str, &'a str, Option<&'a str>);

/// Records with the number of pages that they list, and one of these pages.
const SEARCHED: [(&str, usize, ListedPage<'_>); 4] = [
    (
        "s-a9982a49b1d4",
        8,
        (
            "https://math.ucr.edu/home/baez/physics/General/BlueSky/blue_sky.html",
            "Why is the sky blue?",
            Some("A clear cloudless day-time sky is blue b"),
        ),
    ),
    (
        "s-219247894253",
        17,
        ("https://companiesmarketcap.com/apple/pe-ratio/", "Apple (AAPL) - P/E ratio", None),
    ),
    (
        "s-1d041b60003b",
        1,
        ("https://ai.pydantic.dev", "Pydantic AI", Some("Pydantic AI Gateway is now available!")),
    ),
    (
        "s-22e330c14757",
        1,
        (
            "https://www.britannica.com/place/Mount-Columbia?utm_source=openai",
            "Mount Columbia | mountain, Alberta, Canada | Britannica",
            Some("([britannica.com](https://www.britannica.com/place/Mount-Columbia"),
        ),
    ),
];

#[test]
fn d9_pages_that_providers_searched_for_are_read_from_their_records_at_every_split() {
    for record in records() {
        let found = SEARCHED.iter().find(|(id, ..)| *id == record.text("id"));
        let Some((id, count, (url, title, cited))) = found else { continue };
        let provider = record.protocol().unwrap();
        for seed in 0..SPLITS {
            let sources = decode(provider, &record.wire(), seed).0.unwrap().web_sources.into_vec();
            assert_eq!(sources.len(), *count, "{id}: {sources:#?}");
            let page = sources.iter().find(|page| page.url == *url).unwrap_or_else(|| panic!("{sources:#?}"));
            assert_eq!(page.title.as_deref(), Some(*title), "{id}");
            let begins =
                page.cited_text.as_deref().zip(*cited).is_some_and(|(text, cited)| text.starts_with(cited));
            assert!(begins || (page.cited_text.as_deref(), cited) == (None, &None), "{id}: {page:?}");
        }
    }
}

#[test]
fn an_error_within_a_recorded_stream_is_an_error() {
    let mut checked = None;
    for (record, provider) in streams() {
        let (broken, want) = match provider {
            Provider::Anthropic => (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "overloaded",
            ),
            Provider::Gemini => {
                (r#"{"error":{"code":500,"message":"broke","status":"INTERNAL"}}"#, "server_error")
            }
            Provider::OpenAi => (r#"{"error":{"message":"broke","type":"x"}}"#, "stream_error"),
            Provider::OpenAiResponses => (
                r#"{"type":"error","error":{"message":"broke","code":"insufficient_quota"}}"#,
                "quota_exhausted",
            ),
        };
        let events = record.events();
        if decode(provider, &record.wire(), 0).0.is_err() {
            continue;
        }
        // What comes after the end mark is not read.
        let is_end = |data: &&str| {
            data.contains("message_stop") || data.contains("\"response.completed\"") || *data == "[DONE]"
        };
        let end = events.iter().position(is_end).unwrap_or(events.len());
        for at in [0, end / 2, end] {
            let (before, after) = events.split_at(at);
            let all = before.iter().chain([&broken]).chain(after);
            let body: String = all.map(|data| format!("data: {data}\n\n")).collect();
            let (answer, _) = decode(provider, body.as_bytes(), at as u64);
            let id = record.text("id");
            assert_eq!(answer.err().map(|error| error.kind.label()), Some(want), "{id} at {at}");
            *checked.get_or_insert(0) += 1;
        }
    }
    assert!(checked.is_none_or(|checked| checked >= 400), "{checked:?}");
}
