//! A prompt in the making: fixed words and blocks, brought within a budget (P15).

use std::sync::Arc;

use super::blocks::{self, Block, Slot};
use super::head::Head;
use super::templates::Values;
use super::{budget, measure, templates};
use crate::prompts::{Message, Prompt, PublicPart, RenderError, ReplyShape, Speaker};

/// Times that a prompt is shortened again when its parts took more than their sum.
const ROUNDS_MAX: usize = 4;

const POINTS_OPEN: &str = "<points>\n";
const POINTS_CLOSE: &str = "</points>\n";

/// A prompt before it is fitted.
#[derive(Debug)]
pub(super) struct Draft {
    /// The template.
    pub(super) version: &'static str,
    /// Tokens allowed.
    pub(super) budget: u32,
    /// The system message.
    pub(super) system: Arc<str>,
    /// How the prompt may begin; all but the last are given up where they leave too little room.
    pub(super) heads: Arc<[Head]>,
    /// The block of outcomes, the fullest form first; the last is the smallest, and the others may be given up.
    pub(super) outcomes: Vec<Arc<str>>,
    /// Everything that can be shortened, in the order shown.
    pub(super) blocks: Vec<Block>,
    /// What else the template needs.
    pub(super) values: Values,
}

/// A prompt within its budget.
#[derive(Debug)]
pub(super) struct Fitted {
    system: Arc<str>,
    head: Arc<str>,
    written: Written,
    tokens: u32,
}

/// What the user says last.
#[derive(Debug, Default)]
struct Written {
    user: String,
    /// Where a message ends and the next begins.
    ends: Vec<usize>,
    /// What was cut or left out.
    omitted: Vec<String>,
}

impl Draft {
    /// Returns an upper bound of the tokens of the smallest form of this prompt.
    pub(super) fn tokens_min(mut self) -> Result<u32, RenderError> {
        self.shorten_tags();
        let outcomes = self.outcomes.last().map_or("", |outcomes| &**outcomes);
        let fixed = self.fixed_tokens(&self.last_head(), &self.task()?, outcomes);
        Ok(fixed + budget::least(&self.blocks) + budget::seams(&self.blocks))
    }

    /// Shortens the prompt only as much as its budget demands. It first leaves out the head that the prompt would
    /// share with others, then its priors, then the optional parts of tags. Each is left out only if not even the
    /// shortest form of the blocks fits together with it.
    ///
    /// # Errors
    /// Its smallest form is over the budget, or the template is broken.
    pub(super) fn fit(mut self) -> Result<Fitted, RenderError> {
        let task = self.task()?;
        for head in self.heads.split_last().map_or(&[][..], |(_, shared)| shared) {
            if let Ok((mut written, tokens)) = self.fit_form(head, &task, 0, false) {
                written.omitted.splice(..0, head.omitted.iter().cloned());
                return Ok(Fitted::new(self.system, head, written, tokens));
            }
        }
        let head = self.last_head();
        let forms = self.outcomes.len();
        let mut tokens_min = 0;
        for form in 0..=forms {
            let is_shortest = form == forms;
            if is_shortest && !self.shorten_tags() {
                break;
            }
            let place = form.min(forms.saturating_sub(1));
            match self.fit_form(&head, &task, place, is_shortest || form + 1 == forms) {
                Ok((mut written, tokens)) => {
                    if place > 0 {
                        written.omitted.insert(0, "priors: left out".to_owned());
                    }
                    if is_shortest {
                        written.omitted.insert(0, "forecasts of points: left out".to_owned());
                    }
                    return Ok(Fitted::new(self.system, &head, written, tokens));
                }
                Err(tokens) => tokens_min = tokens,
            }
        }
        let (version, budget) = (self.version, self.budget);
        Err(RenderError::OverBudget { version, tokens: tokens_min, budget })
    }

    /// Tries one form of the outcomes; a form that may be given up is, unless required blocks have their floors.
    ///
    /// # Errors
    /// The tokens that it takes at least, where it does not fit.
    fn fit_form(&self, head: &Head, task: &str, form: usize, is_last: bool) -> Result<(Written, u32), u32> {
        let outcomes = self.outcomes.get(form).filter(|_| !head.has_outcomes);
        let outcomes = outcomes.map_or("", |outcomes| &**outcomes);
        let blocks = self.blocks.get(head.blocks..).unwrap_or_default();
        let fixed = self.fixed_tokens(head, task, outcomes);
        let mut tokens_min = fixed + budget::least(blocks);
        let Some(mut room) = self.budget.checked_sub(fixed) else { return Err(tokens_min) };
        if !is_last && room < budget::comfort(blocks) {
            return Err(tokens_min);
        }
        for _ in 0..ROUNDS_MAX {
            let Ok(shares) = budget::share(blocks, room) else { break };
            let written = self.write(task, outcomes, blocks, &shares);
            let tokens = measure::count(&self.system) + head.tokens + written.tokens();
            if tokens <= self.budget {
                return Ok((written, tokens));
            }
            tokens_min = tokens_min.max(tokens);
            room = room.saturating_sub(tokens - self.budget);
        }
        Err(tokens_min)
    }

    fn last_head(&self) -> Head {
        self.heads.last().cloned().unwrap_or_default()
    }

    fn shorten_tags(&mut self) -> bool {
        let mut shortened = false;
        for block in &mut self.blocks {
            shortened |= block.shorten();
        }
        shortened
    }

    fn fixed_tokens(&self, head: &Head, task: &str, outcomes: &str) -> u32 {
        let written = self.write(task, outcomes, &[], &[]);
        let has_points = self.blocks.iter().any(|block| block.slot == Slot::Points);
        let points = if has_points { measure::count(POINTS_OPEN) + measure::count(POINTS_CLOSE) } else { 0 };
        measure::count(&self.system) + head.tokens + written.tokens() + points
    }

    fn task(&self) -> Result<Arc<str>, RenderError> {
        templates::task(self.version, self.values.clone())
    }

    /// Writes what the user says last.
    fn write(&self, task: &str, outcomes: &str, blocks: &[Block], shares: &[Option<u32>]) -> Written {
        let mut texts = [const { String::new() }; Slot::COUNT];
        let mut omitted = Vec::new();
        for (block, share) in blocks.iter().zip(shares) {
            omitted.extend(block.write(*share, &mut texts[block.slot as usize]));
        }
        let (mut user, mut ends) = (String::new(), Vec::new());
        for slot in templates::slots(self.version) {
            match (slot, texts[*slot as usize].as_str()) {
                (Slot::Outcomes, _) => user.push_str(outcomes),
                (Slot::End, _) => ends.push(user.len()),
                (Slot::Points, points) if !points.is_empty() => {
                    user.extend([POINTS_OPEN, points, POINTS_CLOSE]);
                }
                (_, text) => user.push_str(text),
            }
        }
        if !user.is_empty() {
            user.push('\n');
        }
        user.push_str(task);
        Written { user, ends, omitted }
    }
}

impl Written {
    /// Returns the messages, the shared ones first if there are any.
    fn messages(&self) -> impl Iterator<Item = &str> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        let ends = self.ends.iter().copied().chain([self.user.len()]);
        begins.zip(ends).map(|(begin, end)| &self.user[begin..end]).filter(|text| !text.is_empty())
    }

    fn tokens(&self) -> u32 {
        self.messages().map(measure::count).sum()
    }
}

impl Fitted {
    fn new(system: Arc<str>, head: &Head, written: Written, tokens: u32) -> Self {
        Self { system, head: Arc::clone(&head.text), written, tokens }
    }

    /// Returns whether the prompt shows a point.
    pub(super) fn shows_point(&self, id: &str) -> bool {
        self.written.user.contains(&format!("<point id=\"{}\"", blocks::attribute(id)))
    }

    /// Makes the prompt.
    pub(super) fn into_prompt(
        self,
        version: &'static str,
        shape: ReplyShape,
        output_tokens_max: u32,
        public: PublicPart,
    ) -> Prompt {
        let message = |speaker, text| Message { speaker, text };
        let mut messages = Vec::with_capacity(5);
        messages.push(message(Speaker::System, self.system));
        if !self.head.is_empty() {
            messages.push(message(Speaker::User, self.head));
        }
        messages.extend(self.written.messages().map(|text| message(Speaker::User, Arc::from(text))));
        Prompt {
            version,
            messages,
            shape: Some(shape),
            output_tokens_max,
            tokens: self.tokens,
            omitted: self.written.omitted,
            public,
            web_search: false,
            web_searches_max: None,
        }
    }
}
