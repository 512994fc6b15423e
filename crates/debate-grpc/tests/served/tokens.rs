//! Scopes, and tokens that come and go.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use debate_core::formats::any::FORMATS;
use debate_core::id::Timestamp;
use debate_engine::Engine;
use debate_grpc::ServeOptions;
use debate_grpc::tokens::{Scope, TokenFile, TokenWishes};
use debate_proto::v1;
use debate_proto::v1::audit_service_client::AuditServiceClient;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use futures::{StreamExt as _, TryStreamExt as _};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::house::{House, PATIENCE, request};

/// Sends a token with every request.
#[derive(Clone)]
pub(crate) struct Bearer(pub(crate) String);

impl tonic::service::Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", format!("Bearer {}", self.0).parse().unwrap());
        Ok(request)
    }
}

pub(crate) type Debates = DebateServiceClient<InterceptedService<Channel, Bearer>>;
pub(crate) type Audits = AuditServiceClient<InterceptedService<Channel, Bearer>>;

/// A server with a file of tokens.
pub(crate) struct Guarded {
    pub(crate) house: House,
    folder: TempDir,
}

impl Guarded {
    pub(crate) async fn open() -> Self {
        Self::with(ServeOptions::default()).await
    }

    pub(crate) async fn with(options: ServeOptions) -> Self {
        let folder = no_tokens();
        let house = House::with(ServeOptions { tokens: Some(file(&folder)), ..options }, "simulated:7").await;
        Self { house, folder }
    }

    /// Serves an engine.
    pub(crate) async fn of(engine: Engine) -> Self {
        Self::of_those_in(no_tokens(), engine).await
    }

    /// Ends the server and serves another engine to the same clients.
    pub(crate) async fn restarted(self, engine: Engine) -> Self {
        self.house.ended().await.unwrap();
        Self::of_those_in(self.folder, engine).await
    }

    async fn of_those_in(folder: TempDir, engine: Engine) -> Self {
        let options = ServeOptions { tokens: Some(file(&folder)), ..ServeOptions::default() };
        Self { house: House::of(engine, options).await, folder }
    }

    /// Makes a token.
    pub(crate) fn token(&self, wishes: TokenWishes) -> String {
        TokenFile::change(&file(&self.folder), |file| file.create(wishes, Timestamp(0))).unwrap()
    }

    /// Makes a token of a tenant.
    pub(crate) fn token_of(&self, tenant: &str, scope: Scope) -> String {
        self.token(TokenWishes { tenant: tenant.to_owned(), ..wishes("app", &[scope]) })
    }

    pub(crate) fn revoke(&self, id_or_name: &str) {
        assert_eq!(
            TokenFile::change(&file(&self.folder), |file| Ok(file.revoke(id_or_name).len())).unwrap(),
            1
        );
    }

    pub(crate) async fn debates(&self, token: &str) -> Debates {
        DebateServiceClient::with_interceptor(self.house.channel().await, Bearer(token.to_owned()))
    }

    pub(crate) async fn audits(&self, token: &str) -> Audits {
        AuditServiceClient::with_interceptor(self.house.channel().await, Bearer(token.to_owned()))
    }
}

/// Makes a folder with a file that has no tokens yet.
fn no_tokens() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    TokenFile::change(&file(&folder), |_| Ok(())).unwrap();
    folder
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("tokens.json")
}

/// Wishes for a token of a name with some scopes.
pub(crate) fn wishes(name: &str, scopes: &[Scope]) -> TokenWishes {
    let scopes = BTreeSet::from_iter(scopes.iter().copied());
    TokenWishes { name: name.to_owned(), scopes, ..TokenWishes::default() }
}

/// The short request of the house, over gRPC.
pub(crate) fn start(request_id: &str) -> v1::StartDebateRequest {
    let outcome = |id: &str| v1::Outcome { id: id.to_owned(), ..Default::default() };
    let prediction = v1::DebateRequest {
        task_id: "t-1".to_owned(),
        prediction_context: Some(v1::PredictionContext {
            task: Some(prost_types::Value::from("Will the harbour freeze before January?".to_owned())),
            outcomes: vec![outcome("yes"), outcome("no")],
            ..Default::default()
        }),
        config: Some(v1::DebateConfig {
            rounds: Some(2),
            roles: ["optimist", "pessimist", "judge"].map(str::to_owned).to_vec(),
            ..Default::default()
        }),
        options: None,
    };
    let format = Some(v1::start_debate_request::Format::Prediction(prediction));
    v1::StartDebateRequest { request_id: request_id.to_owned(), format }
}

pub(crate) async fn started(client: &mut Debates, request_id: &str) -> String {
    client.start_debate(start(request_id)).await.unwrap().into_inner().debate.unwrap().id
}

#[tokio::test]
async fn each_scope_opens_its_own_doors_and_admin_opens_all() {
    let guarded = Guarded::open().await;
    let admin = guarded.token(wishes("root", &[Scope::Admin]));
    let id = started(&mut guarded.debates(&admin).await, "").await;
    for (scope, may_read, may_write, may_audit) in [
        (Scope::Read, true, false, false),
        (Scope::Write, false, true, false),
        (Scope::Audit, false, false, true),
        (Scope::Admin, true, true, true),
    ] {
        let token = guarded.token(wishes("some", &[scope]));
        let (mut debates, mut audits) = (guarded.debates(&token).await, guarded.audits(&token).await);
        let get = v1::GetDebateRequest { debate_id: id.clone(), ..Default::default() };
        let read = debates.get_debate(get).await.map(drop);
        let write = debates.start_debate(start("")).await.map(drop);
        let verify = v1::VerifyDebateRequest { debate_id: id.clone() };
        let audit = audits.verify_debate(verify).await.map(drop);
        for (done, may) in [(read, may_read), (write, may_write), (audit, may_audit)] {
            let code = done.map_or_else(|status| status.code(), |()| Code::Ok);
            assert_eq!(code, if may { Code::Ok } else { Code::PermissionDenied }, "{scope}");
        }
        let (bearer, path) = (format!("Bearer {token}"), format!("/api/v1/reasoning/debate/{id}"));
        let got = guarded.house.ask("GET", &path, &[("Authorization", &bearer)], b"").await;
        assert_eq!(got.status, if may_read { 202 } else { 403 }, "{scope}");
    }
}

#[tokio::test]
async fn a_token_may_be_kept_to_some_formats() {
    let guarded = Guarded::open().await;
    let formats = BTreeSet::from(["deliberation".to_owned()]);
    for scope in [Scope::Write, Scope::Admin] {
        let token = guarded.token(TokenWishes { formats: formats.clone(), ..wishes("some", &[scope]) });
        nothing_is_begun_with(&guarded, &token).await;
    }
}

#[tokio::test]
async fn a_token_that_is_kept_to_one_format_starts_that_one() {
    let guarded = Guarded::open().await;
    let files = ["rates", "deliberation", "roundtable-socratic", "review", "leap_second"];
    let requests = FORMATS.into_iter().zip(files).map(|(format, file)| {
        let folder = env!("CARGO_MANIFEST_DIR");
        (format, std::fs::read(format!("{folder}/../../examples/{file}.json")).unwrap())
    });
    let requests: Vec<(&str, Vec<u8>)> = requests.collect();
    for kept in FORMATS {
        let formats = BTreeSet::from([kept.to_owned()]);
        let token = guarded.token(TokenWishes { formats, ..wishes("some", &[Scope::Write]) });
        let bearer = format!("Bearer {token}");
        for (format, body) in &requests {
            let headers = [("Authorization", &*bearer), ("Content-Type", "application/json")];
            let asked = guarded.house.ask("POST", "/api/v1/debates", &headers, body).await;
            assert_eq!(asked.status, if *format == kept { 201 } else { 403 }, "{kept}, {format}: {asked:?}");
        }
    }
}

/// Looks whether a token that is kept to another format than that of what it asks for begins nothing.
async fn nothing_is_begun_with(guarded: &Guarded, token: &str) {
    let mut other = guarded.debates(&guarded.token(wishes("other", &[Scope::Admin]))).await;
    let id = started(&mut other, "").await;
    other.pause_debate(v1::PauseDebateRequest { debate_id: id.clone() }).await.unwrap();
    let debate_id = || id.clone();
    let (mut debates, mut audits) = (guarded.debates(token).await, guarded.audits(token).await);
    let held = v1::HoldDebateRequest { start: Some(start("")), read_mask: None };
    let more = v1::ContinueDebateRequest { debate_id: debate_id(), ..Default::default() };
    let fork = v1::ForkDebateRequest { debate_id: debate_id(), ..Default::default() };
    let resume = v1::ResumeDebateRequest { debate_id: debate_id() };
    for (what, done) in [
        ("start", debates.start_debate(start("")).await.map(drop)),
        ("hold", debates.hold_debate(held).await.map(drop)),
        ("resume", debates.resume_debate(resume).await.map(drop)),
        ("continue", debates.continue_debate(more).await.map(drop)),
        ("fork", audits.fork_debate(fork).await.map(drop)),
    ] {
        assert_eq!(done.unwrap_err().code(), Code::PermissionDenied, "{what}");
    }
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", &*bearer)];
    let body = request().to_string();
    for (path, body) in [
        ("/api/v1/reasoning/debate", &*body),
        ("/api/v1/debates", &body),
        (&format!("/api/v1/debates/{id}/continue"), "{}"),
        (&format!("/api/v1/debates/{id}/resume"), ""),
    ] {
        let refused = guarded.house.ask("POST", path, &headers, body.as_bytes()).await;
        assert_eq!((refused.status, &refused.json()["reason"]), (403, &"FORBIDDEN".into()), "{path}");
    }
}

#[tokio::test]
async fn tokens_are_replaced_while_streams_run_and_those_of_a_revoked_one_end() {
    let guarded = Guarded::open().await;
    let old = guarded.token(wishes("app", &[Scope::Read, Scope::Write]));
    let new = guarded.token(wishes("app", &[Scope::Read, Scope::Write]));
    let mut client = guarded.debates(&old).await;
    let id = started(&mut client, "").await;
    let watch = v1::WatchDebateRequest { debate_id: id.clone(), ..Default::default() };
    let mut ends = client.watch_debate(watch.clone()).await.unwrap().into_inner();
    let mut goes_on = guarded.debates(&new).await.watch_debate(watch).await.unwrap().into_inner();
    assert!(ends.message().await.unwrap().is_some());
    guarded.revoke(&old[4..16]);
    let get = v1::GetDebateRequest { debate_id: id, ..Default::default() };
    assert_eq!(client.get_debate(get.clone()).await.unwrap_err().code(), Code::Unauthenticated);
    guarded.debates(&new).await.get_debate(get).await.unwrap();
    guarded.house.let_all_answer();
    let ended = loop {
        match ends.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream went on to the end"),
            Err(status) => break status,
        }
    };
    assert_eq!(ended.code(), Code::Unauthenticated);
    while goes_on.message().await.unwrap().is_some() {}
}

#[tokio::test]
async fn a_silent_stream_of_a_revoked_token_ends_without_requests() {
    let guarded = Guarded::open().await;
    let token = guarded.token(wishes("app", &[Scope::Read, Scope::Write]));
    let mut client = guarded.debates(&token).await;
    let debate_id = started(&mut client, "").await;
    let mut sse = TcpStream::connect(guarded.house.address).await.unwrap();
    let ask = format!(
        "GET /api/v1/debates/{debate_id}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Accept: text/event-stream\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    sse.write_all(ask.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    sse.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    let watch = v1::WatchDebateRequest { debate_id, ..Default::default() };
    let one = client.watch_debate(watch).await.unwrap().into_inner();
    let all = client.watch_debates(v1::WatchDebatesRequest::default()).await.unwrap().into_inner();
    let mut streams = [one.map_ok(drop).boxed(), all.map_ok(drop).boxed()];
    tokio::time::pause();
    // Until nothing more comes: the model is not let answer.
    for stream in &mut streams {
        while let Ok(item) = timeout(Duration::from_secs(1), stream.try_next()).await {
            assert!(item.unwrap().is_some(), "it ended before its token did");
        }
    }
    guarded.revoke(&token[4..16]);
    let revoked = Instant::now();
    for stream in streams {
        let ended = stream.try_for_each(async |()| Ok(()));
        let ended = timeout(PATIENCE, ended).await.expect("it ends").expect_err("it says why");
        assert_eq!(ended.code(), Code::Unauthenticated);
    }
    let mut received = String::new();
    timeout(PATIENCE, sse.read_to_string(&mut received)).await.expect("it ends").unwrap();
    assert!(received.contains("event: problem\ndata: ") && received.contains("TOKEN_NEEDED"), "{received}");
    // The file is looked at every second, and a sign of life comes every 15.
    assert!(revoked.elapsed() <= Duration::from_secs(16), "{:?}", revoked.elapsed());
}

#[tokio::test]
async fn the_log_names_the_client_and_never_its_token() {
    let service = "the-only-one_0123456789abcdef".to_owned();
    let options = ServeOptions { token: Some(service.clone()), ..ServeOptions::default() };
    let guarded = Guarded::with(options).await;
    let token = guarded.token(wishes("app", &[Scope::Admin]));
    guarded.house.let_all_answer();
    let secret_of = |token: &str| token.rsplit('_').next().unwrap().to_owned();
    for (token, name) in [(&token, "app"), (&service, "grpc")] {
        let id = started(&mut guarded.debates(token).await, "").await;
        assert!(guarded.house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
        let log = guarded.house.engine.log(id.parse().unwrap(), None).await.unwrap();
        assert_eq!(log[0].actor, name);
        assert!(!format!("{log:?}").contains(&secret_of(token)));
    }
    let wrong = |token: &str| format!("{}0", &token[..token.len() - 1]);
    for given in [&token, &wrong(&token), &service, &wrong(&service)] {
        let secret = secret_of(given);
        let get = v1::GetDebateRequest { debate_id: "nonsense".to_owned(), ..Default::default() };
        let refused = guarded.debates(given).await.get_debate(get).await.unwrap_err();
        let bearer = format!("Bearer {given}");
        let answer =
            guarded.house.ask("GET", "/api/v1/debates/nonsense", &[("Authorization", &bearer)], b"").await;
        let shown = format!("{refused:?} {} {:?} {}", answer.status, answer.headers, answer.body);
        assert!(!shown.contains(&secret[..secret.len() - 1]), "{shown}");
    }
}
