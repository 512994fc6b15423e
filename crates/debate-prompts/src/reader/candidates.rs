//! Finds the objects in a reply and ranks them.

use serde_json::{Map, Value};

use super::lenient::{Lenient, Parsed, Stop};
use super::prefix::{self, Prefix};
use super::repair::Repair;
use super::strict::Strict;
use super::{ReadError, Reading};
use crate::tags::{public_ranges, thinking_block_len};

/// Objects kept at most; the worst gives way.
const CANDIDATES_MAX: usize = 16;

/// Objects without an end and without a known key, looked into at most.
const LOOKED_INTO_MAX: usize = 8;

/// Steps of repair per byte of text, so that no input takes more than linear time.
const STEPS_PER_BYTE: usize = 32;

/// An object found in a reply.
pub(super) struct Candidate {
    value: Map<String, Value>,
    pub(super) repairs: Vec<Repair>,
    known: usize,
    complete: bool,
    /// Whether the text ends within the object, and only what is complete was taken.
    is_cut: bool,
    /// The field whose value is not complete where the text ends within it.
    cut_key: Option<String>,
    start: usize,
    end: usize,
}

impl Candidate {
    /// A reply that is one strict object.
    pub(super) fn whole(value: Map<String, Value>, repairs: Vec<Repair>) -> Self {
        let (start, end) = (0, 0);
        Self { value, repairs, known: 0, complete: true, is_cut: false, cut_key: None, start, end }
    }

    /// Returns the first of some fields that is missing because the text ends within the object.
    pub(super) fn cut_before<'k>(&self, needed: &[&'k str]) -> Option<&'k str> {
        let is_there = |key: &str| self.value.contains_key(key) && self.cut_key.as_deref() != Some(key);
        needed.iter().copied().find(|key| self.is_cut && !is_there(key))
    }

    pub(super) fn into_reading(self) -> Reading {
        Reading { value: self.value, repairs: self.repairs }
    }

    /// The greatest is preferred. Where the reply was cut, that is the last one with a known key: it may be a correction
    /// of those before it.
    fn rank(&self, is_cut: bool) -> impl Ord + use<> {
        if is_cut {
            return (self.known.min(1), true, true, self.start);
        }
        (self.known, !self.value.is_empty(), self.complete, self.start)
    }
}

/// Returns the objects of `text` outside private thinking, the preferred one first.
pub(super) fn candidates(text: &str, known_keys: &[&str], is_cut: bool) -> Result<Vec<Candidate>, ReadError> {
    let start = public_start(text);
    let steps = STEPS_PER_BYTE * text.len() + 4096;
    let mut search = Search { text, known_keys, is_cut, steps, found: Vec::new() };
    let (objects, thinking) = search.run(start)?;
    let mut found = search.found;
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.rank(is_cut)));
    for candidate in &mut found {
        let mut around = env(text, start, candidate, thinking || start > 0);
        if objects > 1 {
            around.push(Repair::OtherObjectsIgnored { objects: objects - 1 });
        }
        around.append(&mut candidate.repairs);
        candidate.repairs = around;
        if candidate.is_cut && !is_cut {
            candidate.repairs.push(Repair::Cut);
        }
    }
    Ok(found)
}

struct Search<'t> {
    text: &'t str,
    known_keys: &'t [&'t str],
    is_cut: bool,
    steps: usize,
    found: Vec<Candidate>,
}

impl Search<'_> {
    /// Looks at every object from `at` on. Returns how many there were, and whether there was thinking.
    fn run(&mut self, mut at: usize) -> Result<(usize, bool), ReadError> {
        let text = self.text;
        let mut objects = 0;
        let mut thinking = false;
        let mut looked_into = 0;
        while let Some(offset) = text[at..].find(['{', '<']) {
            let start = at + offset;
            if text[start..].starts_with('<') {
                // Thinking is only looked for between objects: inside one it is quoted text.
                let block = thinking_block_len(&text[start..]);
                thinking |= block.is_some();
                at = start + block.unwrap_or(1);
                continue;
            }
            let candidate = self.object_at(start)?;
            // Prose such as `{perhaps: …` may swallow the answer.
            let is_lost = !candidate.complete && candidate.known == 0 && !self.known_keys.is_empty();
            // What is inside of a value that was cut is no object of its own.
            let is_lost = is_lost && !(candidate.is_cut && candidate.cut_key.is_some());
            if is_lost && looked_into < LOOKED_INTO_MAX {
                looked_into += 1;
                at = start + 1;
            } else {
                at = candidate.end.max(start + 1);
            }
            let is_begun = candidate.is_cut && candidate.known > 0;
            if is_begun
                || !candidate.value.is_empty()
                || (candidate.complete && is_empty_object(&text[start..]))
            {
                objects += 1;
                self.keep(candidate);
            }
        }
        Ok((objects, thinking))
    }

    fn object_at(&mut self, start: usize) -> Result<Candidate, ReadError> {
        let rest = &self.text[start..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Strict>();
        if let Some(Ok(Strict { value: Value::Object(value), repairs })) = stream.next() {
            let end = start + stream.byte_offset();
            // A bracket too many in the middle: only the lenient parser reads on.
            if !super::lookahead::member_follows(self.text, end) {
                let parsed = Parsed { value, repairs, complete: true, is_cut: false, cut_key: None, end };
                return Ok(self.candidate(parsed, start));
            }
        }
        if self.is_cut
            && let Some(Prefix { value, repairs, cut_key }) = prefix::read(rest)
        {
            let end = self.text.len();
            let parsed = Parsed { value, repairs, complete: false, is_cut: true, cut_key, end };
            return Ok(self.candidate(parsed, start));
        }
        let parsed = Lenient::new(self.text, start, self.is_cut, &mut self.steps).parse();
        let parsed = parsed.map_err(|stop| match stop {
            Stop::TooDeep => ReadError::TooDeep,
            Stop::OutOfSteps => ReadError::TooBroken,
        })?;
        Ok(self.candidate(parsed, start))
    }

    fn candidate(&self, parsed: Parsed, start: usize) -> Candidate {
        let Parsed { value, repairs, complete, is_cut, cut_key, end } = parsed;
        let is_there = |key: &str| value.contains_key(key) || (is_cut && cut_key.as_deref() == Some(key));
        let known = self.known_keys.iter().filter(|key| is_there(key)).count();
        Candidate { value, repairs, known, complete, is_cut, cut_key, start, end }
    }

    fn keep(&mut self, candidate: Candidate) {
        self.found.push(candidate);
        if self.found.len() > CANDIDATES_MAX
            && let Some((worst, _)) =
                self.found.iter().enumerate().min_by_key(|(_, candidate)| candidate.rank(self.is_cut))
        {
            self.found.swap_remove(worst);
        }
    }
}

/// Tells whether the object that `text` begins with has nothing in it, rather than nothing readable.
fn is_empty_object(text: &str) -> bool {
    text[1..].trim_start().starts_with(['}', ']', '.', '/', '#'])
}

/// Returns where the public part begins in a reply whose thinking was opened by the chat template.
fn public_start(text: &str) -> usize {
    let ranges = public_ranges(text);
    let start = ranges.first().map_or(0, |range| range.start);
    let object = text.find('{').unwrap_or(text.len());
    let lead = &text[..object];
    // An object or a fence right at the beginning is the answer, whatever it quotes.
    let begins_with_object = lead.trim().is_empty() || lead.trim_start().starts_with("```");
    if begins_with_object || !text[start..].contains('{') { 0 } else { start }
}

fn env(text: &str, start: usize, candidate: &Candidate, thinking: bool) -> Vec<Repair> {
    let mut repairs = Vec::new();
    if thinking {
        repairs.push(Repair::ThinkingRemoved);
    }
    let before = &text[start..candidate.start.max(start)];
    let after = &text[candidate.end..];
    if before.contains("```") || after.contains("```") {
        repairs.push(Repair::FenceRemoved);
    }
    if is_prose(before) || is_prose(after) {
        repairs.push(Repair::TextAroundRemoved);
    }
    repairs
}

/// Tells whether `text` is more than blanks, fences and thinking.
fn is_prose(text: &str) -> bool {
    crate::tags::without_thinking(text).lines().any(|line| {
        let line = line.trim();
        match line.split_once("```") {
            None => !line.is_empty(),
            Some((before, after)) => {
                !before.trim().is_empty() || after.split("```").any(|word| word.trim().contains(' '))
            }
        }
    })
}
