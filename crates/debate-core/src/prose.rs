//! Text that people wrote or models spoke, kept apart from the facts of an event so that it can be deleted
//! without touching what was decided (rule K15).

use std::sync::Arc;

/// The prose of one event: present, or gone after redaction.
///
/// The fold never needs it. Prompts and readable results do, and must say what they show in its place.
#[derive(Debug, PartialEq)]
pub struct Prose<T>(Option<Arc<T>>);

impl<T> Clone for Prose<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Prose<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Prose<T> {
    /// Wraps prose that is present.
    pub fn new(prose: T) -> Self {
        Self(Some(Arc::new(prose)))
    }

    /// Returns the prose, or `None` where it was redacted.
    #[must_use]
    pub fn shown(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// Returns whether another value holds this very prose.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|prose| Arc::strong_count(prose) > 1)
    }
}

/// Whether a result shows prose or withholds it.
///
/// The digest of an outcome is taken with prose withheld, so that it stays checkable after redaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// Prose is filled in where it is still there.
    Shown,
    /// Every text is replaced by [`REDACTED`], every list of texts is empty.
    Withheld,
}

impl Texts {
    /// Returns the prose if it may be shown and is still there.
    #[must_use]
    pub fn of<T>(self, prose: &Prose<T>) -> Option<&T> {
        match self {
            Self::Shown => prose.shown(),
            Self::Withheld => None,
        }
    }
}

/// What stands where a text was deleted.
pub const REDACTED: &str = "[redacted]";
