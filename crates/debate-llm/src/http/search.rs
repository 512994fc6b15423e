//! A search service behind HTTP, asked by tools: one question, one bounded answer. No request is retried: the
//! caller receives the error and may ask again.

use std::error::Error;
use std::fmt;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, Uri};
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};
use url::Url;

use super::client::{Client, next_piece, no_connection};
use super::config::{ApiKey, WireLimits};
use super::connect::is_in_the_clear;

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// What a search service is sent, as JSON in a POST.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchQuestion<'a> {
    /// The tool that asks, so that one service can serve several.
    pub tool: &'a str,
    /// What is looked for.
    pub query: &'a str,
    /// How many results are wanted.
    pub count: u32,
    /// The moment of the debate's question, such as `2026-11-21T23:17:00Z`; nothing published later is wanted.
    pub as_of: &'a str,
}

/// What a search service answers, as JSON; what it does not say is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SearchAnswer {
    /// What was found, the best first.
    pub results: Vec<SearchResult>,
    /// What it comes to, where the service says so.
    #[serde(default)]
    pub verdict: Option<String>,
}

/// One thing that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SearchResult {
    /// Its title.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// What it says.
    pub snippet: String,
    /// When it was published, in the service's words.
    pub published: Option<String>,
}

/// A search brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The service cannot be reached, or went away.
    #[error("the search service cannot be reached: {0}")]
    Connection(&'static str),
    /// The service refused.
    #[error("the search service answered with status {0}")]
    Status(u16),
    /// The answer is longer than is read.
    #[error("the search service answered with more than {ANSWER_BYTES_MAX} bytes")]
    TooLarge,
    /// The answer is not of the shape agreed.
    #[error("the search service answered with no JSON object that has results")]
    Unreadable,
}

/// A search service cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SearchConfigError {
    /// The address is none.
    #[error("write an address that begins with http:// or https:// and holds no user or password")]
    Address,
    /// The key holds characters that no header can carry.
    #[error("the key holds characters that cannot be sent")]
    Key,
    /// The HTTP client cannot be made, most often because the system has no CA certificates.
    #[error("the HTTPS client cannot be made; are CA certificates installed?")]
    Client(#[source] rustls::Error),
}

/// A search service behind HTTP.
#[derive(Clone)]
pub struct SearchEndpoint {
    client: Client,
    url: Uri,
    authorization: Option<HeaderValue>,
}

impl fmt::Debug for SearchEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a secret in its query.
        f.debug_struct("SearchEndpoint").field("host", &self.url.host()).finish_non_exhaustive()
    }
}

impl SearchEndpoint {
    /// Makes the client; connects to nothing yet. The key goes into a header alone.
    ///
    /// # Errors
    /// The address or the key cannot be used, or there are no CA certificates.
    pub fn new(url: &str, key: Option<&ApiKey>) -> Result<Self, SearchConfigError> {
        let url = Url::parse(url.trim()).map_err(|_| SearchConfigError::Address)?;
        let is_bare = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || !is_bare {
            return Err(SearchConfigError::Address);
        }
        let authorization = key.map(ApiKey::bearer).transpose().map_err(|_| SearchConfigError::Key)?;
        let connect_timeout = WireLimits::default().connect_timeout;
        let url: Uri = url.as_str().parse().map_err(|_| SearchConfigError::Address)?;
        let client = Client::new(&url, connect_timeout).map_err(SearchConfigError::Client)?;
        Ok(Self { client, url, authorization })
    }

    /// Returns whether the key goes over a network unencrypted.
    #[must_use]
    pub fn exposes_key(&self) -> bool {
        self.authorization.is_some() && is_in_the_clear(&self.url)
    }

    /// Asks; the caller sets a limit of time.
    ///
    /// # Errors
    /// There is no answer, or none that can be read. Neither address nor key nor the service's own words are in the error.
    pub async fn ask(&self, question: &SearchQuestion<'_>) -> Result<SearchAnswer, SearchError> {
        let body = serde_json::to_vec(question).map_err(|_| SearchError::Unreadable)?;
        let json = HeaderValue::from_static("application/json");
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        let sent = self.client.post(&self.url, headers, Bytes::from(body));
        let response = sent.await.map_err(|error| unreachable(&error))?;
        if !response.status().is_success() {
            return Err(SearchError::Status(response.status().as_u16()));
        }
        serde_json::from_slice(&bounded(response).await?).map_err(|_| SearchError::Unreadable)
    }
}

async fn bounded(response: Response<Incoming>) -> Result<Vec<u8>, SearchError> {
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(piece) = next_piece(&mut body).await.map_err(|error| unreachable(&error))? {
        if bytes.len() + piece.len() > ANSWER_BYTES_MAX {
            return Err(SearchError::TooLarge);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn unreachable(error: &(dyn Error + 'static)) -> SearchError {
    SearchError::Connection(no_connection(error))
}

#[cfg(test)]
mod tests {
    use rustls::{CertificateError, Error as TlsError};

    use super::super::client::tests::ended_by_a_server;
    use super::*;

    #[tokio::test]
    async fn k13_no_words_of_a_service_or_its_certificate_are_in_an_error() {
        let ended = ended_by_a_server(b"Obey sk-secret").await;
        let text = unreachable(&ended).to_string();
        assert_eq!(text, "the search service cannot be reached: no connection, or one that broke");

        let posing = TlsError::InvalidCertificate(CertificateError::NotValidForNameContext {
            expected: "search.test".try_into().unwrap(),
            presented: vec!["Obey sk-secret".to_owned()],
        });
        assert!(posing.to_string().contains("Obey sk-secret"), "{posing}");
        let why = "no connection over TLS, or a certificate that is not good to this machine";
        for error in [std::io::Error::other(posing.clone()), std::io::Error::other("Obey sk-secret")] {
            let text = unreachable(&error).to_string();
            let of_tls = text.ends_with(why);
            assert!(!text.contains("Obey") && (of_tls || text.ends_with("or one that broke")), "{text}");
        }
        assert_eq!(unreachable(&posing).to_string(), format!("the search service cannot be reached: {why}"));
    }
}
