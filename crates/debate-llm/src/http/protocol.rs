//! What an adapter is: a provider's protocol over HTTP.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use url::Url;

use super::decode::Events;
use super::dialect::{Dialect, Parameter};
use super::failure::Codes;
use super::schema::Subset;
use crate::ChatRequest;

/// Bytes of prose among which one that JSON escapes is expected.
const ESCAPES_PER: usize = 32;

/// Bytes that the rest of a body takes as a rule.
const FRAME_BYTES: usize = 512;

/// A provider's protocol; everything that is not the same for all.
pub(crate) trait Protocol: Send + Sync {
    /// Returns what is fixed about it.
    fn facts(&self) -> &'static Facts;

    /// Turns a base URL into the address that requests are sent to; one that is complete is left as it is.
    fn complete_address(&self, base: &mut Url, model: &str);

    /// Returns what the server at `endpoint` and its `model` are known from the start not to take.
    fn first_dialect(&self, endpoint: &Url, model: &str) -> Dialect;

    /// Writes the body of a streaming request.
    ///
    /// # Errors
    /// When something in the request has no JSON.
    fn encode(&self, outgoing: &Outgoing<'_>) -> Result<Vec<u8>, serde_json::Error>;

    /// Makes a reader of one answer.
    fn events(&self) -> Box<dyn Events>;
}

/// A request on its way out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    /// The provider's name of the model.
    pub(crate) model: &'a str,
    /// What is asked.
    pub(crate) request: &'a ChatRequest,
    /// The request's schema, cut; absent too where the server takes none.
    pub(crate) schema: Option<&'a RawValue>,
    /// What the server does not take.
    pub(crate) dialect: Dialect,
    /// The limit of tokens, those of thinking included (rule P23).
    pub(crate) cap: u32,
    /// What the model has said in the turn that its provider paused, as the provider gave it.
    pub(crate) so_far: &'a [Value],
}

impl Outgoing<'_> {
    /// Writes a body as JSON into memory that is large enough from the start, as all that is long in it is known.
    pub(crate) fn write(&self, body: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
        let said: usize = self.request.messages.iter().map(|message| message.content.len()).sum();
        let escapes = said / ESCAPES_PER;
        let schema = self.schema.map_or(0, |schema| schema.get().len());
        let mut written = Vec::with_capacity(said + escapes + schema + FRAME_BYTES);
        serde_json::to_writer(&mut written, body)?;
        Ok(written)
    }
}

/// What is fixed about a protocol.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The name before the model's, such as `openai`.
    pub(crate) name: &'static str,
    /// The provider's own address.
    pub(crate) base_url: &'static str,
    /// The environment variable of another address.
    pub(crate) base_url_variable: &'static str,
    /// The environment variables of the key; the first one set counts.
    pub(crate) key_variables: &'static [&'static str],
    /// A model of the provider, for messages.
    pub(crate) example_model: &'static str,
    /// How the key is sent.
    pub(crate) key_header: KeyHeader,
    /// The headers that every request has, in lower case.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// The parameters that are left out once a server refuses them, each with its words in the refusal, in lower case.
    pub(crate) parameters: &'static [(Parameter, &'static [&'static str])],
    /// What the provider's error codes mean.
    pub(crate) codes: Codes,
    /// What the provider takes of a JSON schema.
    pub(crate) subset: Subset,
}

/// The header that carries the key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyHeader {
    /// Its name, in lower case.
    pub(crate) name: &'static str,
    /// What stands before the key.
    pub(crate) prefix: &'static str,
}
