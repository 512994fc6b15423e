//! What a request is sent with, and what it is sent with next when the server refuses some of it.

use super::dialect::{Dialect, Parameter};
use super::effort;
use super::failure::Failure;
use super::limit::{self, Cap};
use crate::{ChatRequest, ModelError, ModelErrorKind};

/// What the server is thought to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// The parameters.
    pub(super) dialect: Dialect,
    /// The largest limit of tokens that the model allows.
    pub(super) cap_max: u32,
    /// The largest one that the question leaves room for.
    pub(super) room: u32,
}

impl Terms {
    /// Returns the limit of tokens that is sent.
    pub(super) fn cap(&self, request: &ChatRequest) -> u32 {
        effort::cap(request, self.dialect, self.cap_max.min(self.room))
    }

    /// Returns the terms to try next when a server names what it does not take of these.
    pub(super) fn conceded(self, failure: &Failure, request: &ChatRequest) -> Option<Self> {
        let is_refusal = matches!(failure.error.status, Some(400 | 413 | 422));
        let message = &failure.error.message;
        if is_refusal && self.room == u32::MAX {
            match limit::cap(message, self.cap(request), request.max_output_tokens) {
                Some(Cap::OfModel(cap_max)) if cap_max < self.cap_max => {
                    return Some(Self { cap_max, ..self });
                }
                Some(Cap::OfQuestion(room)) => return Some(Self { room, ..self }),
                Some(Cap::OfModel(_)) | None => {}
            }
        }
        let dialect = match failure.blames? {
            Parameter::Effort => effort::concede(self.dialect, request, message),
            // A schema without bounds is worth more than none (rule P28).
            Parameter::Schema => self
                .dialect
                .concede(Parameter::SchemaBounds, request)
                .or_else(|| self.dialect.concede(Parameter::Schema, request)),
            parameter => self.dialect.concede(parameter, request),
        };
        Some(Self { dialect: dialect?, ..self })
    }

    /// Returns the terms to try next when a server refuses something without naming it: nothing of the effort.
    pub(super) fn plain(self, failure: &Failure, request: &ChatRequest) -> Option<Self> {
        let is_unnamed = failure.error.kind == ModelErrorKind::BadRequest
            && failure.blames.is_none()
            && matches!(failure.error.status, Some(400 | 422));
        let dialect = effort::without_any(self.dialect, request).filter(|_| is_unnamed)?;
        Some(Self { dialect, ..self })
    }

    /// Adds to a refusal which limit of tokens it is about.
    pub(super) fn explain(self, error: ModelError, request: &ChatRequest) -> ModelError {
        if error.kind != ModelErrorKind::BadRequest || !limit::is_about_cap(&error.message.to_lowercase()) {
            return error;
        }
        let (cap, answer) = (self.cap(request), request.max_output_tokens);
        let message =
            format!("a limit of {cap} output tokens ({answer} without thinking): {}", error.message);
        ModelError { message: message.into(), ..error }
    }
}
