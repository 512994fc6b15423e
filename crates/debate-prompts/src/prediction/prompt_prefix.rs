//! What the prompts of one kind and role share through a whole debate, made once: the system message, the message
//! after it, the outcomes, the material of the request, and the arguments.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use debate_core::formats::prediction::config::Brief;
use debate_core::formats::prediction::visible::Point;
use debate_core::id::Role;
use debate_core::prose::Prose;

use super::blocks::Block;
use super::head::Head;
use crate::prompts::RenderError;

/// Debates remembered before those that have ended are forgotten.
const DEBATES_MIN: usize = 64;

/// The part of a prompt that stays the same from round to round.
#[derive(Debug, Clone)]
pub(super) struct PromptPrefix {
    /// The system message.
    pub(super) system: Arc<str>,
    /// How a prompt may begin; all but the last may be given up.
    pub(super) heads: Arc<[Head]>,
    /// The block of outcomes, the fullest form first; the last is the smallest, and the others may be given up.
    pub(super) outcomes: Vec<Arc<str>>,
    /// The material of the request.
    pub(super) blocks: Vec<Block>,
}

/// The stems of one debate, with its brief, which is kept so that no other can take its address.
struct Stems {
    brief: Prose<Brief>,
    /// By template and role; a debate has few.
    each: Vec<(&'static str, Role, Arc<PromptPrefix>)>,
    /// One for each argument that was shown, as it was shown last.
    points: Vec<Shown>,
}

/// A point with its block.
struct Shown {
    point: Point,
    form: Form,
    block: Block,
}

/// What a point's tag says of it: whether its forecast, and which score.
pub(super) type Form = (bool, Option<f64>);

impl Shown {
    fn is_of(&self, point: &Point) -> bool {
        // Kept here, the words cannot give their address to others.
        let address = |point: &Point| point.words.argument().map(str::as_ptr);
        let Point { id, words: _, supports, probabilities } = &self.point;
        address(&self.point) == address(point)
            && (id, supports, probabilities) == (&point.id, &point.supports, &point.probabilities)
    }
}

/// The stems of debates by the address of their brief.
#[derive(Default)]
struct Memory {
    debates: HashMap<usize, Stems>,
    /// How many there are when those that have ended are forgotten next.
    sweep_at: usize,
}

static MEMORY: LazyLock<Mutex<Memory>> = LazyLock::new(Mutex::default);

impl Memory {
    fn find(&self, address: usize, version: &str, role: &Role) -> Option<Arc<PromptPrefix>> {
        let stems = self.debates.get(&address)?;
        let found = stems.each.iter().find(|(kind, whose, _)| *kind == version && whose == role);
        found.map(|(_, _, stem)| Arc::clone(stem))
    }

    fn keep(&mut self, address: usize, brief: &Prose<Brief>, stem: (&'static str, Role, Arc<PromptPrefix>)) {
        if self.debates.len() >= self.sweep_at {
            self.debates.retain(|_, stems| stems.brief.is_shared());
            self.sweep_at = (2 * self.debates.len()).max(DEBATES_MIN);
        }
        let new = || Stems { brief: brief.clone(), each: Vec::new(), points: Vec::new() };
        self.debates.entry(address).or_insert_with(new).each.push(stem);
    }
}

/// Returns the stem of a kind of prompt for a role, as it was made the first time.
///
/// # Errors
/// The brief was redacted, or the stem cannot be made.
pub(super) fn shared(
    brief: &Prose<Brief>,
    version: &'static str,
    role: &Role,
    make: impl FnOnce(&Brief) -> Result<PromptPrefix, RenderError>,
) -> Result<Arc<PromptPrefix>, RenderError> {
    let shown = brief.shown().ok_or(RenderError::Redacted { version })?;
    let address = std::ptr::from_ref(shown) as usize;
    let memory = || MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stem) = memory().find(address, version, role) {
        return Ok(stem);
    }
    let stem = Arc::new(make(shown)?);
    memory().keep(address, brief, (version, role.clone(), Arc::clone(&stem)));
    Ok(stem)
}

/// Returns the block of a point, as it was made when a prompt of its debate first showed it in this form.
pub(super) fn point(brief: &Prose<Brief>, point: &Point, form: Form, make: impl FnOnce() -> Block) -> Block {
    let Some(address) = brief.shown().map(|brief| std::ptr::from_ref(brief) as usize) else { return make() };
    let memory = || MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(block) = memory().debates.get(&address).and_then(|stems| stems.shown(point, form)) {
        return block;
    }
    let block = make();
    if let Some(stems) = memory().debates.get_mut(&address) {
        stems.show(Shown { point: point.clone(), form, block: block.clone() });
    }
    block
}

impl Stems {
    fn shown(&self, point: &Point, form: Form) -> Option<Block> {
        let known = self.points.iter().find(|shown| shown.form == form && shown.is_of(point));
        known.map(|shown| shown.block.clone())
    }

    fn show(&mut self, new: Shown) {
        match self.points.iter_mut().find(|shown| shown.is_of(&new.point)) {
            Some(known) => *known = new,
            None => self.points.push(new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief() -> Prose<Brief> {
        Prose::new(Brief {
            question: String::new(),
            task: String::new(),
            outcomes: Vec::new(),
            key_variables: Vec::new(),
            simulation_summary: Default::default(),
            data_summary: Default::default(),
            personas: Vec::new(),
            rubrics: Vec::new(),
        })
    }

    #[test]
    fn the_stems_of_debates_that_have_ended_are_forgotten() {
        let mut memory = Memory::default();
        let stem = || {
            Arc::new(PromptPrefix {
                system: "".into(),
                heads: [].into(),
                outcomes: Vec::new(),
                blocks: Vec::new(),
            })
        };
        let running = brief();
        memory.keep(0, &running, ("argue", Role::from("judge"), stem()));
        for ended in 1..=10 * DEBATES_MIN {
            memory.keep(ended, &brief(), ("argue", Role::from("judge"), stem()));
            assert!(memory.debates.len() <= DEBATES_MIN + 1);
        }
        assert!(memory.find(0, "argue", &Role::from("judge")).is_some());
        assert!(memory.find(0, "score", &Role::from("judge")).is_none());
    }
}
