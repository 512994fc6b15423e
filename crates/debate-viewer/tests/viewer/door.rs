//! Who sees what behind the door that guards a real server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Extension;
use axum::http::StatusCode;
use debate_core::event::Resolved;
use debate_core::id::{DebateId, Timestamp};
use debate_engine::{Control, Tenant};
use debate_grpc::tokens::{Scope, TokenFile, TokenWishes};
use debate_grpc::{ServeOptions, serve};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::house::{House, PATIENCE, asked, deliberation, prediction};
use crate::moody_store::MoodyStore;

/// A server with a file of tokens before a house's viewer.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    folder: TempDir,
    _open: DropGuard,
}

impl Door {
    pub(crate) async fn of(house: &House) -> Self {
        let folder = tempfile::tempdir().unwrap();
        TokenFile::change(&folder.path().join("tokens.json"), |_| Ok(())).unwrap();
        let tokens = Some(folder.path().join("tokens.json"));
        Self::with(house, tokens, folder).await
    }

    /// Serves everybody on this machine.
    pub(crate) async fn open(house: &House) -> Self {
        Self::with(house, None, tempfile::tempdir().unwrap()).await
    }

    async fn with(house: &House, tokens: Option<PathBuf>, folder: TempDir) -> Self {
        let options = ServeOptions {
            tokens,
            pages: house.viewer.pages.clone(),
            data: house.viewer.data.clone(),
            ..ServeOptions::default()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let closing = CancellationToken::new();
        tokio::spawn(serve(listener, house.engine.clone(), options, closing.clone().cancelled_owned()));
        Self { address, folder, _open: closing.drop_guard() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("tokens.json")
    }

    /// Makes a token.
    pub(crate) fn token(&self, tenant: &str, scopes: &[Scope]) -> String {
        let wishes = TokenWishes {
            name: "visitor".to_owned(),
            tenant: tenant.to_owned(),
            scopes: scopes.iter().copied().collect(),
            ..TokenWishes::default()
        };
        TokenFile::change(&self.file(), |file| file.create(wishes, Timestamp(0))).unwrap()
    }

    /// Asks for something below `/viewer` and returns the status and the body.
    async fn ask(&self, path: &str, token: Option<&str>) -> (u16, String) {
        let bearer = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let host = self.address.to_string();
        self.ask_as(&host, path, &bearer).await
    }

    /// Asks as a browser does that was led here by a name.
    async fn ask_as(&self, host: &str, path: &str, headers: &str) -> (u16, String) {
        let head =
            format!("GET /viewer{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an answer").unwrap();
        let answer = String::from_utf8_lossy(&bytes);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }
}

/// The event that begins the first request of a prediction, right behind its opening and that of its first phase.
const FIRST_CALL: u64 = 3;

/// Returns every place that shows a debate, with whether it needs the scope of auditors.
fn places(id: &str, own: &str) -> Vec<(String, bool)> {
    let debate = |rest: &str| format!("/data/debates/{id}{rest}");
    vec![
        (debate(""), false),
        (debate("?at=3"), false),
        (debate("/follow"), false),
        (debate("/events"), true),
        (debate("/calls"), true),
        (debate(&format!("/calls/{FIRST_CALL}/prompt")), true),
        (debate("/verification"), true),
        (debate("/bundle"), true),
        (format!("/data/difference?a={id}&b={own}"), true),
        (format!("/data/difference?a={own}&b={id}"), true),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_debate_is_not_found_on_any_path() {
    for (ours, theirs) in [("ours", "theirs"), ("ours", ""), ("", "theirs")] {
        another_tenants_is_not_there(ours, theirs).await;
    }
}

async fn another_tenants_is_not_there(ours: &str, theirs: &str) {
    let house = House::open();
    let door = Door::of(&house).await;
    let mut ids = Vec::new();
    for (tenant, request) in [(ours, prediction()), (theirs, deliberation())] {
        let debate = house.start_for(tenant, &request).await;
        house.concluded(debate).await;
        ids.push(debate.to_string());
    }
    let resolve = Control::Resolve(Resolved::new("no".into()));
    house.engine.control(ids[0].parse().unwrap(), resolve, "test").await.unwrap();
    let (own, foreign) = (ids[0].as_str(), ids[1].as_str());
    let token = door.token(ours, &[Scope::Admin]);
    let missing = "6f1c2a4e-0000-4000-8000-000000000000";
    // What was looked at by its owner, and is kept folded, is no nearer to others.
    assert_eq!(
        door.ask(&format!("/data/debates/{foreign}"), Some(&door.token(theirs, &[Scope::Read]))).await.0,
        200
    );
    for ((foreign_path, _), (unknown_path, _)) in places(foreign, own).into_iter().zip(places(missing, own)) {
        let (status, body) = door.ask(&foreign_path, Some(&token)).await;
        let unknown = door.ask(&unknown_path, Some(&token)).await;
        assert_eq!((status, body.replace(foreign, missing)), (404, unknown.1), "{foreign_path}");
    }
    for (tenant, resolved) in [(ours, 1), (theirs, 0)] {
        let (_, body) = door.ask("/data/calibration", Some(&door.token(tenant, &[Scope::Read]))).await;
        let found: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(found["resolved"], resolved, "{tenant}: {body}");
    }
    for (tenant, id) in [(ours, own), (theirs, foreign)] {
        for asked in ["", "?state=concluded&search=harbour", "?before=1000000"] {
            let list = &format!("/data/debates{asked}");
            let (_, body) = door.ask(list, Some(&door.token(tenant, &[Scope::Read]))).await;
            let list: Value = serde_json::from_str(&body).unwrap();
            let listed = list["debates"].as_array().unwrap();
            assert_eq!((listed.len(), &listed[0]["debate_id"]), (1, &Value::from(id)), "{body}");
        }
    }
}

#[tokio::test]
async fn foreign_and_missing_debates_cause_the_same_reads() {
    let store = Arc::new(MoodyStore::default());
    let house = House::with(Arc::clone(&store) as _);
    let mut ids = Vec::new();
    for tenant in ["ours", "theirs"] {
        let debate = house.start_for(tenant, &prediction()).await;
        house.concluded(debate).await;
        ids.push(debate.to_string());
    }
    house.engine.shut_down().await;
    let data = house.viewer.data.clone().layer(Extension(Tenant("ours".to_owned())));
    let [own, foreign] = &ids[..] else { panic!("{ids:?}") };
    // What was read lately is kept.
    asked(&data, &format!("/data/debates/{own}"), &[]).await.json();
    let mut looked_up = Vec::new();
    for id in ["6f1c2a4e-0000-4000-8000-000000000000", foreign] {
        let debate: DebateId = id.parse().unwrap();
        let mut reads = Vec::new();
        for (path, _) in places(id, own) {
            store.looked_up();
            let answer = asked(&data, &path, &[]).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
            let its = |(stream, what)| (stream == debate.into(), what);
            reads.push(store.looked_up().into_iter().map(its).collect::<Vec<_>>());
        }
        assert!(reads.iter().all(|its| !its.is_empty()), "every path reads the store: {reads:?}");
        looked_up.push(reads);
    }
    assert_eq!(looked_up[0], looked_up[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn data_needs_a_token_with_the_scope_for_it_and_pages_need_none() {
    let house = House::open();
    let door = Door::of(&house).await;
    let id = house.held(&prediction()).await.to_string();
    let reader = door.token("", &[Scope::Read]);
    let auditor = door.token("", &[Scope::Read, Scope::Audit]);
    let writer = door.token("", &[Scope::Write]);
    let lists = ["/data/formats", "/data/debates", "/data/calibration"].map(|path| (path.to_owned(), false));
    for (path, is_audit) in places(&id, &id).into_iter().chain(lists) {
        for (token, status) in [
            (None, 401),
            (Some("dbt_wrong"), 401),
            (Some(writer.as_str()), 403),
            (Some(reader.as_str()), if is_audit { 403 } else { 200 }),
            (Some(auditor.as_str()), 200),
        ] {
            let (got, body) = door.ask(&path, token).await;
            assert_eq!(got, status, "{path} with {token:?}: {body}");
        }
    }
    for page in ["/", "/compare", "/calibration", &format!("/debates/{id}"), "/assets/viewer.js"] {
        let (status, body) = door.ask(page, None).await;
        assert!(status == 200 && !body.contains("harbour"), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_pages_of_other_sites_and_names_that_lead_here_see_no_debate() {
    let house = House::open();
    let door = Door::open(&house).await;
    let id = house.held(&prediction()).await.to_string();
    let own = door.address.to_string();
    let lists = ["/data/formats", "/data/debates", "/data/calibration"].map(|path| (path.to_owned(), false));
    for (path, _) in places(&id, &id).into_iter().chain(lists) {
        for (host, headers, status) in [
            (&*own, "", 200),
            (&own, "Origin: http://localhost\r\n", 200),
            ("evil.example", "", 403),
            (&own, "Origin: https://evil.example\r\n", 403),
            (&own, "Origin: null\r\n", 403),
            (&own, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: image\r\n", 403),
            (&own, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n", 200),
        ] {
            let (got, body) = door.ask_as(host, &path, headers).await;
            assert_eq!(got, status, "{path} of {host} {headers}: {body}");
            assert!(status == 200 || !body.contains("harbour"), "{path}: {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_an_event_that_somebody_added_to_a_log_is_a_fault_that_names_it() {
    let house = House::open();
    let door = Door::open(&house).await;
    let debate = house.held(&prediction()).await;
    let added = house.forge(debate).await;
    let (_, body) = door.ask(&format!("/data/debates/{debate}/verification"), None).await;
    let found: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&found["ok"], &found["fault_seq"]), (&false.into(), &added.0.into()), "{body}");
}
