//! The messages of the protocol (rule I8): how they are written, and how they are read, also where a model bends them.
//!
//! A message is a block: a header such as `[EVIDENCE REPORT]`, then lines `Label: value`, some with a list below. Headers
//! and the labels of the protocol are word for word those of its rules in every language; what goes beyond them is written
//! the same way.
//!
//! ```text
//! [EVIDENCE REPORT]
//! Hypothesis: H1
//! Status: SUPPORTED
//! Confidence: 7/10
//! Confidence Before: 5/10
//! Key Finding: one line
//! Supporting Evidence:
//! - [file_line] src/auth.rs:42 | "quoted words" | what it shows
//! Counter Evidence:
//! - [test] login_expires | | what it shows
//! Responses:
//! - C1.2 | answer | one line
//! ```
//!
//! A model that keeps to a schema writes the same as one JSON object, whose fields are the labels (`key_finding`).
//!
//! A bar, a quotation mark or a backslash inside a part is written with a backslash before it. Texts are one line each:
//! the reader joins lines, so that whatever was read is written and read again without loss.

mod block;
mod json;
mod labels;
mod read;
mod write;

pub(crate) use json::blocks;
pub use read::{Block, read, strays};
pub use write::{challenge, conclusion, hypotheses, report, status, verdict};

#[cfg(test)]
mod tests;
