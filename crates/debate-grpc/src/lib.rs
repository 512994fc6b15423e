//! The engine's face to other programs: gRPC services and the contract's REST endpoints on one port.

#[cfg(panic = "abort")]
compile_error!(
    "a panic of one handler would end the process, with the debates of everybody: build with unwinding"
);

mod access;
mod audit_service;
mod bodies;
mod bounded;
mod cors;
mod cursor;
mod debate_service;
mod facade;
mod feed;
mod folding;
mod following;
pub mod from_proto;
mod handshakes;
#[cfg(test)]
#[path = "../tests/served/hearing.rs"]
mod hearing;
mod listen;
mod listing;
mod masks;
mod peers;
mod policy;
mod policy_rest;
mod policy_service;
mod problem;
mod prompt_texts;
mod protocol;
mod readiness;
pub mod refusal;
mod reread;
mod rest;
mod scraping;
pub mod serve;
mod spending;
mod status;
mod telemetry;
pub mod tls;
pub mod to_proto;
pub mod tokens;
mod trace_context;
mod unread;
mod wire;
mod wire_json;

pub use bodies::bound_of;
pub use cors::{Origin, OriginError};
pub use facade::{Admission, Facade, Mount, Opening, REQUEST_ID_CHARS_MAX, TenantSession, request_id_fault};
pub use listen::Connections;
pub use rest::{debate_json, event_json, listed_json};
pub use scraping::serve_metrics;
pub use serve::{GRACE_DEFAULT, PATIENCE_DEFAULT, ServeError, ServeOptions, serve};
pub use unread::Resume;
