//! The engine's face to other programs: gRPC services and the contract's REST endpoints on one port.

pub mod from_proto;
pub mod to_proto;
