//! A client of the debate engine over gRPC: starts a debate once, however often it has to be sent, and watches one over as
//! many connections as it takes. The README has an example. It knows the wire and nothing of the engine.

mod retry;
mod watch;

use std::time::Duration;

use debate_proto::v1::debate_service_client::DebateServiceClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use uuid::Uuid;

pub use debate_proto::v1;
pub use retry::Retry;
pub use watch::{Watch, WatchOptions};

/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server cannot be reached as it was named.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The address is not one of gRPC over plain HTTP/2.
    #[error("server {address:?} cannot be used: {reason}")]
    Address {
        /// What was given, without its login, or but its scheme where its form may hide what is secret.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The token cannot be sent.
    #[error("the token holds characters that cannot be sent")]
    Token,
}

/// A client of one server; clones share its connection.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    token: Option<MetadataValue<Ascii>>,
    retry: Retry,
}

impl Client {
    /// Builds a client of a server such as `http://localhost:50051`; connects when it is first used.
    ///
    /// # Errors
    /// The address or the token cannot be used.
    pub fn new(address: &str, token: Option<&str>) -> Result<Self, AddressError> {
        let wrong = |reason: String| AddressError::Address { address: without_secrets(address), reason };
        if !address.starts_with("http://") {
            return Err(wrong("write http://HOST:PORT".to_owned()));
        }
        let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|error| wrong(error.to_string()))?;
        Self::over(endpoint.connect_timeout(CONNECT_TIMEOUT).connect_lazy(), token)
    }

    /// Builds a client over a channel of one's own, such as one with TLS.
    ///
    /// # Errors
    /// The token cannot be used.
    pub fn over(channel: Channel, token: Option<&str>) -> Result<Self, AddressError> {
        let token = token.map(|token| format!("Bearer {token}").parse::<MetadataValue<Ascii>>());
        let mut token = token.transpose().map_err(|_| AddressError::Token)?;
        if let Some(token) = &mut token {
            // Printing a client or a request does not print it.
            token.set_sensitive(true);
        }
        Ok(Self { channel, token, retry: Retry::default() })
    }

    /// Returns the same client with another patience towards servers that are away.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// Starts a debate once, however often it has to be sent (rule K11). A request without an id is given one.
    ///
    /// # Errors
    /// The server refuses it, or stays away.
    pub async fn start(
        &self,
        mut request: v1::StartDebateRequest,
    ) -> Result<v1::StartDebateResponse, Status> {
        if request.request_id.is_empty() {
            request.request_id = Uuid::new_v4().to_string();
        }
        let mut pauses = self.retry.pauses();
        loop {
            match self.service().start_debate(self.request(request.clone())).await {
                Ok(started) => return Ok(started.into_inner()),
                Err(status) if retry::is_cut(&status) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(status),
                },
                Err(status) => return Err(status),
            }
        }
    }

    /// Returns a debate as it stands, with its result where `with_result` is set.
    ///
    /// # Errors
    /// There is none, or the server cannot be reached.
    pub async fn get(&self, debate_id: &str, with_result: bool) -> Result<v1::GetDebateResponse, Status> {
        let request = v1::GetDebateRequest {
            debate_id: debate_id.to_owned(),
            include_result: with_result,
            read_mask: None,
        };
        Ok(self.service().get_debate(self.request(request)).await?.into_inner())
    }

    /// Follows a debate until it has concluded, over as many connections as it takes (rule K10).
    #[must_use]
    pub fn watch(&self, debate_id: &str, options: WatchOptions) -> Watch {
        Watch::new(self.clone(), debate_id.to_owned(), options)
    }

    /// Waits until a debate has concluded, and returns it with its result.
    ///
    /// # Errors
    /// As [`Watch::next`] and [`Client::get`].
    pub async fn result(&self, debate_id: &str) -> Result<v1::GetDebateResponse, Status> {
        let mut watch = self.watch(debate_id, WatchOptions::default());
        while watch.next().await?.is_some() {}
        self.get(debate_id, true).await
    }

    /// Ends a debate with what there is (rule K9).
    ///
    /// # Errors
    /// There is none, it has concluded already (`FAILED_PRECONDITION`), or the server cannot be reached.
    pub async fn cancel(&self, debate_id: &str, reason: &str) -> Result<v1::CancelDebateResponse, Status> {
        let request = v1::CancelDebateRequest { debate_id: debate_id.to_owned(), reason: reason.to_owned() };
        Ok(self.service().cancel_debate(self.request(request)).await?.into_inner())
    }

    /// Returns the generated client, for every other method; put the message into [`Client::request`].
    #[must_use]
    pub fn service(&self) -> DebateServiceClient<Channel> {
        DebateServiceClient::new(self.channel.clone())
    }

    /// Returns the channel, for the other services.
    #[must_use]
    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// Returns a request with the token on it.
    pub fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }
}

/// Returns an address as it may be shown: without its login if the rest is a plain host, port and path, and otherwise
/// without anything after its `://`, because an odd address may contain a secret.
fn without_secrets(address: &str) -> String {
    // What stands before a `://` and is no scheme may be a login.
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let end = address.find("://").filter(|end| address[..*end].chars().all(is_of_scheme));
    let (scheme, rest) = address.split_at(end.map_or(0, |end| end + 3));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (login, server) = authority.split_once('@').unwrap_or(("", authority));
    let (host, port) = server.split_once(':').unwrap_or((server, ""));
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_.-/".contains(c);
    let is_plain =
        host.chars().chain(path.chars()).all(is_of_name) && port.chars().all(|c| c.is_ascii_digit());
    // A query may hold what ends a login.
    if is_plain && !login.contains(['?', '#']) {
        format!("{scheme}{server}{path}")
    } else {
        format!("{scheme}[hidden]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_is_never_shown() {
        let client = Client::new("http://host:1", Some("s3cret")).unwrap();
        let request = client.request(());
        assert_eq!(request.metadata().get("authorization").unwrap(), "Bearer s3cret");
        assert!(!format!("{client:?} {request:?}").contains("s3cret"), "{client:?} {request:?}");
    }

    #[test]
    fn an_unusable_address_is_shown_without_login_and_query() {
        for (address, shown) in [
            ("host:1", "host:1"),
            ("https://ann:s3cret@host:1", "https://host:1"),
            ("ann:s3cret@host:1", "host:1"),
            ("ann:s3cret@host/path", "host/path"),
            ("ftp://ann:s3cr@s3cret@host/path", "ftp://[hidden]"),
            ("http://ann:s3cret@ho st", "http://[hidden]"),
            ("ann:s3cret@https://host:1", "[hidden]"),
            ("host/path?token=s3cret&to=http://host:1", "[hidden]"),
            ("ftp://ann:s3/cr?s3c#s3@s3cret@host/path", "ftp://[hidden]"),
            ("https://host/path?token=ann@s3cret", "https://[hidden]"),
            ("https://ann:12?s3/cret@host", "https://[hidden]"),
            ("https://host?token=ann@s3cret", "https://[hidden]"),
            ("https://host#ann@s3cret", "https://[hidden]"),
            ("ftp://host?token=s3cret", "ftp://[hidden]"),
            ("ftp://host#s3cret", "ftp://[hidden]"),
            ("https://ann:s3cret/path", "https://[hidden]"),
            ("https://ann%3As3cret%40host:1", "https://[hidden]"),
            ("https://ann%3as3cret@host%3Btoken%3Ds3:1", "https://[hidden]"),
            ("https://host;token=s3cret", "https://[hidden]"),
        ] {
            let error = Client::new(address, None).unwrap_err();
            let (text, debugged) = (error.to_string(), format!("{error:?}"));
            assert!(text.starts_with(&format!("server {shown:?} cannot be used: ")), "{text}");
            assert!(!text.contains("s3") && !debugged.contains("s3"), "{debugged}");
        }
    }
}
