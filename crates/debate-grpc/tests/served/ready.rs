//! Readiness means it: a server whose store cannot be read says so, and still lives.

use std::sync::Arc;
use std::time::Duration;

use debate_engine::Engine;
use debate_grpc::ServeOptions;
use debate_llm::debater;
use debate_store::{SqliteOptions, SqliteStore};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::house::{House, PATIENCE};

const SERVICES: [&str; 4] =
    ["", "debate.v1.DebateService", "debate.v1.AuditService", "debate.v1.PolicyService"];

async fn health(house: &House) -> Vec<ServingStatus> {
    let mut client = HealthClient::new(house.channel().await);
    let mut statuses = Vec::new();
    for service in SERVICES {
        let request = HealthCheckRequest { service: service.to_owned() };
        statuses.push(client.check(request).await.unwrap().into_inner().status());
    }
    statuses
}

#[tokio::test]
async fn a_server_whose_store_cannot_be_read_is_not_ready_and_lives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("debates.sqlite");
    let store = SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap();
    let store = Arc::new(store);
    let model: Arc<dyn debate_llm::ChatModel> = Arc::new(debater("simulated:7".parse().unwrap()));
    let engine = Engine::builder(Arc::clone(&store) as _, model).build();
    let house = House::of(engine, ServeOptions::default()).await;
    assert_eq!(house.get("/readyz").await.status, 200);
    assert_eq!(health(&house).await, [ServingStatus::Serving; 4]);
    store.close().await.unwrap();
    let not_ready = async {
        while house.get("/readyz").await.status != 503 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, not_ready).await.expect("it says that it is not ready");
    assert_eq!(health(&house).await, [ServingStatus::NotServing; 4]);
    assert_eq!(house.get("/healthz").await.status, 200);
}
