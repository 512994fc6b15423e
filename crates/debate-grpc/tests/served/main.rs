//! What is served to whom, and what strangers cannot do: over real TCP, over both protocols (SECURITY.md).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_input;
mod connections;
mod hearing;
#[path = "../house/mod.rs"]
mod house;
mod http;
mod late_store;
mod limits;
mod listing;
mod measured;
mod methods;
mod modes;
mod money;
#[path = "../../../debate-engine/tests/engine/moody_store.rs"]
#[allow(dead_code, reason = "the engine's tests have it in moods, too")]
mod moody_store;
mod pressure;
mod ready;
mod tenants;
mod tls;
mod tokens;
