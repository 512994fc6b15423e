//! The engine's face to other programs: gRPC services and the contract's REST endpoints on one port.

mod access;
mod audit_service;
mod debate_service;
mod facade;
mod following;
pub mod from_proto;
mod policy;
mod policy_rest;
mod policy_service;
mod problem;
pub mod refusal;
mod rest;
pub mod serve;
mod status;
pub mod to_proto;

pub use facade::Admission;
pub use serve::{GRACE_DEFAULT, PATIENCE_DEFAULT, ServeError, ServeOptions, serve};
