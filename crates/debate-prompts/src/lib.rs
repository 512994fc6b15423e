//! Prompts and reply readers of the debate formats.
//!
//! One file per kind of call holds its template, its rendering and the reading of its reply; what
//! they share is here. Never does IO, never sees more than it is given, never acts on a reply.

/// Why a reply could not be used, as models read it (K5, K18).
pub mod again;
/// The texts of all prompts (P24).
pub mod catalog;
mod copies;
/// The words of a deliberation (D3, D5, D8).
pub mod deliberation;
/// Escapes untrusted text for prompts (K13, D8).
pub mod escape;
mod fitting;
/// The words of an investigation (I1–I10).
pub mod investigation;
mod language;
mod plain_text;
/// The words of proposals for reviewers (V7, V8).
pub mod policy;
/// The words of the prediction debate.
pub mod prediction;
/// The port between a format and its words.
pub mod prompts;
/// Shows public text of a streaming reply as it arrives (K10).
pub mod public_text;
/// Reads replies that are JSON, or nearly.
pub mod reader;
/// Asks again with the reason (K5, K18).
pub mod retry;
/// The words of a review debate (V3, V4).
pub mod review;
/// The room that a model's context window leaves (P15).
pub mod room;
/// The words of a roundtable (T3).
pub mod roundtable;
mod schema;
/// Reads replies with XML-like tags.
pub mod tags;
/// Counts tokens and fits prompts into budgets (P15).
pub mod tokens;
mod tool_talk;
