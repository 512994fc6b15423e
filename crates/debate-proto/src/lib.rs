//! Generated wire types of `debate.v1`: messages, clients and servers; and the bound on what requests may hold. Nothing
//! but the edge of the engine uses it.

pub mod codec;
pub mod entries;

/// The package `debate.v1`.
pub mod v1 {
    #![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

    tonic::include_proto!("debate.v1");

    /// The descriptors of this package and of what it imports, for reflection.
    pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("debate_v1");
}
