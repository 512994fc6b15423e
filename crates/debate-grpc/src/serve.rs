//! One port for everything: gRPC with reflection and health, and REST.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::middleware::from_fn_with_state;
use debate_engine::{Engine, ReviewersFolder};
use debate_proto::v1;
use debate_proto::v1::audit_service_server::AuditServiceServer;
use debate_proto::v1::debate_service_server::DebateServiceServer;
use debate_proto::v1::policy_service_server::PolicyServiceServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::access::{self, AuthLayer, TokenStore};
use crate::audit_service::Audits;
use crate::cors::{self, Origin};
use crate::debate_service::Debates;
use crate::facade::{Admission, Facade, Mount};
use crate::listen::{Connections, listen};
use crate::policy_service::Policies;
use crate::readiness::Readiness;
use crate::tls::{Tls, TlsError, TlsFiles};
use crate::tokens::TokenFileError;
use crate::unread::Unread;
use crate::{policy_rest, rest};

/// The longest that a REST client waits for a result (the contract's timeout).
pub const PATIENCE_DEFAULT: Duration = Duration::from_secs(120);
/// The longest that open connections keep a server from ending.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(10);
/// Bytes of one gRPC request: a request's limit, and what the encoding adds.
pub(crate) const MESSAGE_BYTES_MAX: usize = 2 * debate_core::request::sizes::REQUEST_BYTES_MAX;
/// Bytes of a request that needs no token: the name of a service, and room for what the encoding may add.
pub(crate) const QUESTION_BYTES_MAX: usize = 4 * 1024;
/// Characters of the one token of a command line or environment: a person may have made it up.
const TOKEN_CHARS_MIN: usize = 16;
/// How often the files of tokens and certificates are checked while no request comes, so that streams of revoked tokens
/// end and what is measured of certificates is true.
const FILES_LOOKED_AT: Duration = Duration::from_secs(1);

/// How a server serves.
#[derive(Clone)]
pub struct ServeOptions {
    /// One token that opens everything; this or a file of tokens is needed unless only this machine can connect.
    pub token: Option<String>,
    /// A file of tokens, read again when it changes.
    pub tokens: Option<PathBuf>,
    /// Certificates; plain text without.
    pub tls: Option<TlsFiles>,
    /// How long connections may be silent, and how many there may be.
    pub connections: Connections,
    /// Sites whose pages may use this server through a browser; they need tokens as everybody does.
    pub cors_origins: Vec<Origin>,
    /// The longest that a REST client waits for a result before it receives 202.
    pub patience: Duration,
    /// The longest that open connections keep the server from ending.
    pub grace: Duration,
    /// The last word on valid requests.
    pub admission: Admission,
    /// Where proposals for prompts of reviewers are written; without it they cannot be asked for (rule V7).
    pub reviewers: Option<Arc<ReviewersFolder>>,
    /// Further routes that hold no data: everybody may have them. Whatever is long among their answers is static text.
    pub pages: Router,
    /// Further routes behind the same auth layer as the interfaces. Those of them alone are served that are in the table of scopes,
    /// and each request has its [`debate_engine::Tenant`] among its extensions.
    pub data: Router,
    /// A further interface on the same port.
    pub mount: Option<Mount>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            token: None,
            tokens: None,
            tls: None,
            connections: Connections::default(),
            cors_origins: Vec::new(),
            patience: PATIENCE_DEFAULT,
            grace: GRACE_DEFAULT,
            admission: Arc::new(|_| Ok(())),
            reviewers: None,
            pages: Router::new(),
            data: Router::new(),
            mount: None,
        }
    }
}

impl std::fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = if self.token.is_some() { "set" } else { "none" };
        f.debug_struct("ServeOptions")
            .field("token", &token)
            .field("tokens", &self.tokens)
            .field("tls", &self.tls)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// A server could not begin, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Without a token, only this machine may connect.
    #[error(
        "{address} can be reached from other machines, and no token is set; set one, give a file of tokens, or listen on 127.0.0.1"
    )]
    TokenNeeded {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The token is one that no client can send, or that is easy to guess.
    #[error(
        "the token must have at least {TOKEN_CHARS_MIN} characters of printable ASCII without spaces; `debate token create` makes good ones, for a file of tokens"
    )]
    Token,
    /// The listener is of no use.
    #[error("the listener is of no use")]
    Listener(#[source] std::io::Error),
    /// Reflection cannot read the descriptors: a defect of this program.
    #[error("the descriptors cannot be read")]
    Descriptors(#[from] tonic_reflection::server::Error),
    /// The file of tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Serves an engine until `shutdown`; then ends streams with UNAVAILABLE and waits for requests, at most the grace.
///
/// The engine is not shut down; neither are debates taken up that were left behind: that is the caller's.
///
/// # Errors
/// The address needs tokens, or tokens or certificates cannot be used.
pub async fn serve(
    listener: TcpListener,
    engine: Engine,
    options: ServeOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let address = listener.local_addr().map_err(ServeError::Listener)?;
    let ServeOptions {
        token,
        tokens,
        tls,
        connections,
        cors_origins,
        patience,
        grace,
        admission,
        reviewers,
        pages,
        data,
        mount,
    } = options;
    check_token(token.as_deref(), tokens.is_some(), address)?;
    let token_store = Arc::new(TokenStore::new(token.as_deref(), tokens.as_deref())?);
    if access::is_overheard(address, tls.is_some()) {
        tracing::warn!(%address, "tokens and debates go over the network in plain text; see --tls-certificate");
    }
    let tls = tls.map(Tls::new).transpose()?.map(Arc::new);
    let shown = tls.clone();
    let closing = CancellationToken::new();
    let mut facade = Facade::new(engine.clone(), admission, closing.clone());
    facade.reviewers = reviewers;
    let unread = Arc::new(Unread::new(connections.unread));
    let body_patience = connections.body;
    let auth =
        AuthLayer { token_store: Arc::clone(&token_store), body_patience, unread: Arc::clone(&unread) };
    let data = data.merge(mount.map(|mount| mount(facade.clone())).unwrap_or_default());
    let (readiness, app) = app(facade, data, auth, patience).await?;
    readiness.look(&engine).await;
    let app = app.merge(pages.layer(from_fn_with_state(Arc::clone(&unread), access::watch_over)));
    let app = match cors::layer(&cors_origins) {
        Some(layer) => app.layer(layer),
        None => app,
    };
    let ending = async {
        tokio::select! {
            () = shutdown => {}
            () = readiness.watch(&engine) => {}
        }
        readiness.set(false).await;
        closing.cancel();
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        () = listen(listener, tls, app, connections, closing.clone()) => {}
        () = ending => tracing::warn!("connections were still open when the server ended"),
        () = look_at_files(&token_store, shown.as_deref()) => {}
        () = unread.watch_over() => {}
    }
    Ok(())
}

/// Reads files of tokens and of certificates again, whenever they change.
async fn look_at_files(token_store: &TokenStore, tls: Option<&Tls>) {
    let mut looks = tokio::time::interval(FILES_LOOKED_AT);
    loop {
        looks.tick().await;
        token_store.refresh();
        tls.into_iter().for_each(Tls::refresh);
    }
}

fn check_token(token: Option<&str>, has_file: bool, address: SocketAddr) -> Result<(), ServeError> {
    match token {
        Some(token) if token.len() < TOKEN_CHARS_MIN || !token.chars().all(|c| c.is_ascii_graphic()) => {
            Err(ServeError::Token)
        }
        None if !has_file && !access::is_private(address) => Err(ServeError::TokenNeeded { address }),
        Some(_) | None => Ok(()),
    }
}

async fn app(
    facade: Facade,
    data: Router,
    auth: AuthLayer,
    patience: Duration,
) -> Result<(Readiness, Router), ServeError> {
    let (health, health_service) = tonic_health::server::health_reporter();
    let readiness = Readiness::new(health).await;
    let ready = readiness.router(Arc::clone(facade.store()));
    let debates = DebateServiceServer::new(Debates(facade.clone()));
    let audits = AuditServiceServer::new(Audits(facade.clone()));
    let policies = PolicyServiceServer::new(Policies(facade.clone()));
    let mut routes = Routes::builder();
    routes
        .add_service(health_service.max_decoding_message_size(QUESTION_BYTES_MAX))
        .add_service(reflection().build_v1()?.max_decoding_message_size(MESSAGE_BYTES_MAX))
        .add_service(reflection().build_v1alpha()?.max_decoding_message_size(MESSAGE_BYTES_MAX))
        .add_service(debates.max_decoding_message_size(MESSAGE_BYTES_MAX))
        .add_service(audits.max_decoding_message_size(MESSAGE_BYTES_MAX))
        .add_service(policies.max_decoding_message_size(MESSAGE_BYTES_MAX));
    // What was said may be deleted: no cache shows it without asking.
    let asked_anew = HeaderValue::from_static("private, no-cache");
    let rest = policy_rest::router(facade.clone())
        .merge(rest::router(facade, patience))
        .layer(SetResponseHeaderLayer::if_not_present(CACHE_CONTROL, asked_anew));
    let app = routes
        .routes()
        .into_axum_router()
        .merge(rest)
        .merge(ready)
        .merge(data)
        .layer(from_fn_with_state(auth, access::guard));
    Ok((readiness, app))
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::body::Body;
    use axum::http::Request;
    use axum::http::header::CONTENT_TYPE;
    use axum::routing::any;
    use debate_core::id::Timestamp;
    use debate_llm::{ChatModel, ScriptedAnswer, ScriptedModel};
    use debate_prompts::prediction::PredictionPrompts;
    use debate_store::MemoryStore;
    use tower::ServiceExt as _;

    use super::*;
    use crate::access::{Needs, TABLE};
    use crate::tokens::{Scope, TokenFile, TokenWishes};

    #[test]
    fn without_a_token_no_address_that_others_reach_is_listened_on() {
        for (address, is_refused) in [
            ("127.0.0.1:1", false),
            ("[::1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
            ("10.0.0.1:1", true),
            ("[2001:db8::1]:1", true),
        ] {
            let address = address.parse().unwrap();
            assert!(check_token(Some("0123456789abcdef"), false, address).is_ok(), "{address}");
            assert!(check_token(None, true, address).is_ok(), "{address}");
            let refused = matches!(check_token(None, false, address), Err(ServeError::TokenNeeded { .. }));
            assert_eq!(refused, is_refused, "{address}");
        }
    }

    #[tokio::test]
    async fn nothing_that_needs_a_token_is_answered_by_the_whole_server_without_one() {
        let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
        let engine = Engine::builder(Arc::new(MemoryStore::new()), model).format(PredictionPrompts).build();
        let facade = Facade::new(engine, Arc::new(|_| Ok(())), CancellationToken::new());
        let auth = AuthLayer {
            token_store: Arc::new(TokenStore::new(Some("0123456789abcdef"), None).unwrap()),
            body_patience: PATIENCE_DEFAULT,
            unread: Arc::new(Unread::new(PATIENCE_DEFAULT)),
        };
        // What other crates mount.
        let is_mounted = |place: &str| place == "/mcp" || place.starts_with("/viewer/");
        let mounted = TABLE.iter().map(|(_, place, _)| *place).filter(|place| is_mounted(place));
        let places: BTreeSet<&str> = mounted.collect();
        let data = places.into_iter().fold(Router::new(), |data, place| data.route(place, any(|| async {})));
        let (_, app) = app(facade, data, auth, PATIENCE_DEFAULT).await.unwrap();
        for (method, place, needs) in TABLE {
            let place = place.replace(['{', '}'], "");
            let request =
                Request::builder().method(*method).uri(&place).header(CONTENT_TYPE, "application/grpc");
            let answer = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let grpc_status = answer.headers().get("grpc-status").map(|status| status.as_bytes().to_vec());
            let is_refused = answer.status() == 401 || grpc_status == Some(b"16".to_vec());
            assert_eq!(is_refused, *needs != Needs::Nothing, "{method} {place}: {answer:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_revoked_token_holds_at_most_a_second_without_requests() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let create = |name: &str| {
            let (name, scopes) = (name.to_owned(), BTreeSet::from([Scope::Read]));
            let wishes = TokenWishes { name, scopes, ..TokenWishes::default() };
            TokenFile::change(&path, |file| file.create(wishes, Timestamp(0))).unwrap()
        };
        let tokens = [("app", false), ("other", true)].map(|(name, fails)| (name, create(name), fails));
        let token_store = Arc::new(TokenStore::new(None, Some(&path)).unwrap());
        let looked_after = Arc::clone(&token_store);
        let looking = tokio::spawn(async move { look_at_files(&looked_after, None).await });
        tokio::time::sleep(Duration::from_millis(1)).await;
        for (name, token, fails) in tokens {
            let grant = token_store.grant(Some(&token)).unwrap();
            TokenFile::change(&path, |file| Ok(file.revoke(name))).unwrap();
            if fails {
                token_store.fail();
            }
            assert!(grant.holds());
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(!grant.holds(), "{name}");
        }
        looking.abort();
    }
}
