//! What the prompts of one kind and role share through a whole debate, made once: the system message, the message
//! after it, the outcomes and the material of the request.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use debate_core::formats::prediction::config::Brief;
use debate_core::id::Role;
use debate_core::prose::Prose;

use super::blocks::Block;
use super::head::Head;
use crate::prompts::RenderError;

/// Stems kept at most, seven a debate; beyond it the memory starts anew.
const STEMS_MAX: usize = 4_096;

/// The part of a prompt that stays the same from round to round.
#[derive(Debug, Clone)]
pub(super) struct Stem {
    /// The system message.
    pub(super) system: Arc<str>,
    /// How a prompt may begin; all but the last may be given up.
    pub(super) heads: Arc<[Head]>,
    /// The block of outcomes, the fullest form first; the last is the smallest, and the others may be given up.
    pub(super) outcomes: Vec<Arc<str>>,
    /// The material of the request.
    pub(super) blocks: Vec<Block>,
}

/// A brief by its address, a template, a role.
type Key = (usize, &'static str, Role);

/// Stems with the brief that they were made of, which is kept so that no other can take its address.
type Stems = HashMap<Key, (Prose<Brief>, Arc<Stem>)>;

static STEMS: LazyLock<Mutex<Stems>> = LazyLock::new(Mutex::default);

/// Returns the stem of a kind of prompt for a role, as it was made the first time.
///
/// # Errors
/// The brief was redacted, or the stem cannot be made.
pub(super) fn shared(
    brief: &Prose<Brief>,
    version: &'static str,
    role: &Role,
    make: impl FnOnce(&Brief) -> Result<Stem, RenderError>,
) -> Result<Arc<Stem>, RenderError> {
    let shown = brief.shown().ok_or(RenderError::Redacted { version })?;
    let key = (std::ptr::from_ref(shown) as usize, version, role.clone());
    let stems = || STEMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, stem)) = stems().get(&key) {
        return Ok(Arc::clone(stem));
    }
    let stem = Arc::new(make(shown)?);
    let mut stems = stems();
    if stems.len() >= STEMS_MAX {
        stems.clear();
    }
    stems.insert(key, (brief.clone(), Arc::clone(&stem)));
    Ok(stem)
}
