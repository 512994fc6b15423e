//! What a server says of itself: its models, and how much fits into a call of one. All of it may be unknown.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Uri};
use serde_json::{Value, json};
use url::Url;

use super::HttpModel;
use super::client::next_piece;
use crate::{ChatModel as _, ChatRequest, Message, ModelError, ModelErrorKind, Provider, Window};

/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The most bytes that are read: lists of routers have hundreds of models.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// How long the answer may be to the question whether an unlisted model is there: the least that every provider takes.
const PROBE_TOKENS: u32 = 16;

/// How long that answer is waited for.
const PROBE_TIME: Duration = Duration::from_secs(20);

/// The most names that an error suggests.
const NEAR_MAX: usize = 5;

/// Who owns the models of servers that take any name for the one they have.
const TAKES_ANY_NAME: [&str; 2] = ["llamacpp", "organization_owner"];

/// Where a model's entry in a list says how much fits into a call, the surest first.
const WINDOWS: [&str; 7] = [
    "/top_provider/context_length",
    "/max_model_len",
    "/loaded_context_length",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/inputTokenLimit",
];

/// Where it says how long an answer may be.
const OUTPUTS: [&str; 4] = [
    "/top_provider/max_completion_tokens",
    "/max_completion_tokens",
    "/max_output_tokens",
    "/outputTokenLimit",
];

/// The server did not answer in time.
#[derive(Debug)]
pub(super) struct Unreachable;

/// Asks the server how much fits into a call of `model`.
///
/// # Errors
/// The server cannot be reached now.
pub(super) async fn window(model: &HttpModel) -> Result<Option<Window>, Unreachable> {
    let list = models(model).await.ok_or(Unreachable)?;
    let entries = entries(&list);
    let name = model.config.model.trim();
    let entry = entries.iter().copied().find(|entry| is_same(id(entry), name));
    let llama = entries.iter().copied().find(|entry| owner(entry) == "llamacpp");
    if llama.is_none()
        && let Some(window) = entry.and_then(of_entry)
    {
        return Ok(Some(window));
    }
    if let Some(window) = of_llama(model).await {
        return Ok(Some(window));
    }
    match entry.or(llama).filter(|_| llama.is_some()) {
        // An old one says what the model was made for alone.
        Some(entry) => Ok(number(entry, "/meta/n_ctx_train").map(Window::from)),
        None => Ok(of_ollama(model, name).await),
    }
}

/// Looks whether the server has the model, where it lists its models. One that is not listed is asked a short question.
///
/// # Errors
/// `UnknownModel`, with up to five names that are like this one.
pub(super) async fn check(model: &HttpModel) -> Result<(), ModelError> {
    let Some(list) = models(model).await else { return Ok(()) };
    let entries = entries(&list);
    let name = model.config.model.trim();
    let is_known = entries.iter().any(|entry| is_same(id(entry), name) || id(entry).contains('*'));
    let takes_any = entries.iter().any(|entry| TAKES_ANY_NAME.contains(&owner(entry)));
    let is_whole = list.get("has_more") != Some(&Value::Bool(true)) && list.get("nextPageToken").is_none();
    if is_known || takes_any || !is_whole || entries.is_empty() {
        return Ok(());
    }
    // Gateways and deployments have names that they list nowhere: a short question tells. It costs nothing where the
    // name is wrong.
    let question = ChatRequest {
        waits_for_server: false,
        ..ChatRequest::new(vec![Message::user("Reply with OK.")], PROBE_TOKENS, PROBE_TIME)
    };
    let asked = model.complete(&question, &mut |_: &str| {}).await;
    if !asked.is_err_and(|error| error.kind == ModelErrorKind::UnknownModel) {
        return Ok(());
    }
    let near = near(name, entries.iter().map(|entry| id(entry))).join(", ");
    let message =
        format!("the server has no model {name}; of its {} it may be one of: {near}", entries.len());
    Err(ModelError::unsent(ModelErrorKind::UnknownModel, &model.redact(&message)))
}

async fn models(model: &HttpModel) -> Option<Value> {
    let (status, list) = ask(model, Method::GET, model.models_url(), None).await?;
    Some(if status == 200 { list } else { Value::Null })
}

/// Returns the entries of a list of models.
fn entries(list: &Value) -> Vec<&Value> {
    let entries = list.get("data").or(list.get("models")).unwrap_or(list);
    entries.as_array().into_iter().flatten().filter(|entry| !id(entry).is_empty()).collect()
}

fn id(entry: &Value) -> &str {
    let name = entry.get("id").or(entry.get("name")).and_then(Value::as_str).unwrap_or_default();
    name.trim_start_matches("models/")
}

fn owner(entry: &Value) -> &str {
    entry.get("owned_by").and_then(Value::as_str).unwrap_or_default()
}

/// Returns whether a listed name is the one that was asked for: tags and variants need not be named.
fn is_same(listed: &str, asked: &str) -> bool {
    let (listed, asked) = (listed.to_lowercase(), asked.trim_start_matches("models/").to_lowercase());
    let variant = asked.strip_prefix(&listed).and_then(|rest| rest.strip_prefix(':'));
    listed == asked || listed.strip_suffix(":latest") == Some(&*asked) || variant.is_some()
}

fn of_entry(entry: &Value) -> Option<Window> {
    let tokens = WINDOWS.iter().find_map(|pointer| number(entry, pointer))?;
    Some(Window {
        input_and_output: tokens,
        output_max: OUTPUTS.iter().find_map(|pointer| number(entry, pointer)),
    })
}

/// Asks llama.cpp how large one of its slots is.
async fn of_llama(model: &HttpModel) -> Option<Window> {
    let (_, props) = ask(model, Method::GET, model.root_url("/props"), None).await?;
    number(&props, "/default_generation_settings/n_ctx").map(Window::from)
}

/// Asks Ollama how it has loaded a model, else how it would, else what the model was made for.
async fn of_ollama(model: &HttpModel, name: &str) -> Option<Window> {
    let (status, list) = ask(model, Method::GET, model.root_url("/api/ps"), None).await?;
    // A server that is not Ollama may take anything that is posted for a question to its model.
    if status != 200 {
        return None;
    }
    let loaded = entries(&list).into_iter().find(|entry| is_same(id(entry), name));
    if let Some(tokens) = loaded.and_then(|entry| number(entry, "/context_length")) {
        return Some(tokens.into());
    }
    let (_, shown) =
        ask(model, Method::POST, model.root_url("/api/show"), Some(json!({"model": name}))).await?;
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    let made_for = || {
        let facts = shown.get("model_info")?.as_object()?;
        let (_, tokens) = facts.iter().find(|(name, _)| name.ends_with(".context_length"))?;
        u32::try_from(tokens.as_u64()?).ok()
    };
    set.or_else(made_for).map(Window::from)
}

fn number(value: &Value, pointer: &str) -> Option<u32> {
    let number = value.pointer(pointer)?.as_u64()?;
    u32::try_from(number).ok().filter(|number| *number > 0)
}

/// Asks once and reads JSON; nothing where there is no answer in time.
async fn ask(
    model: &HttpModel,
    method: Method,
    url: Option<Url>,
    body: Option<Value>,
) -> Option<(u16, Value)> {
    let url: Uri = url?.as_str().parse().ok()?;
    let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    let asked = async {
        let mut response = model.client.ask(method, &url, model.headers.clone(), body).await.ok()?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        while let Some(piece) = next_piece(response.body_mut()).await.ok()? {
            if bytes.len() + piece.len() > ANSWER_BYTES_MAX {
                return None;
            }
            bytes.extend_from_slice(&piece);
        }
        Some((status, serde_json::from_slice(&bytes).unwrap_or_default()))
    };
    tokio::time::timeout(TIMEOUT, asked).await.ok().flatten()
}

/// Returns the names most like `name`, the nearest first: those that share most runs of three characters.
fn near<'a>(name: &str, listed: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let runs = |name: &str| {
        let name = format!("  {} ", name.to_lowercase());
        name.as_bytes().windows(3).map(<[u8]>::to_vec).collect::<BTreeSet<_>>()
    };
    let wanted = runs(name);
    let mut all: Vec<_> = listed
        .map(|listed| {
            let runs = runs(listed);
            let shared = runs.intersection(&wanted).count();
            (Reverse(shared * 1_000 / runs.len().max(wanted.len())), listed)
        })
        .collect();
    all.sort_unstable();
    all.into_iter().take(NEAR_MAX).map(|(_, listed)| listed).collect()
}

impl HttpModel {
    /// Returns the address of the server's list of models.
    fn models_url(&self) -> Option<Url> {
        let mut url = self.server_url()?;
        let path = url.path().trim_end_matches('/').to_owned();
        let ends = ["/chat/completions", "/responses", "/messages"];
        let folder = match self.config.provider {
            Provider::Gemini => path.rfind("/models/").or(path.rfind("/tunedModels/")).map(|at| &path[..at]),
            Provider::Anthropic | Provider::OpenAi | Provider::OpenAiResponses => {
                ends.iter().find_map(|end| path.strip_suffix(end))
            }
        };
        url.set_path(folder?);
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("models");
        }
        match self.config.provider {
            Provider::Anthropic => url.set_query(Some("limit=1000")),
            Provider::Gemini => url.set_query(Some("pageSize=1000")),
            Provider::OpenAi | Provider::OpenAiResponses => {}
        }
        Some(url)
    }

    /// Returns an address below the server's root.
    fn root_url(&self, path: &str) -> Option<Url> {
        let mut url = self.server_url()?;
        url.set_path(path);
        url.set_query(None);
        Some(url)
    }

    fn server_url(&self) -> Option<Url> {
        self.config.endpoint().ok()
    }
}
