//! What tools were asked in a debate, and what of it serves for equal questions (rule T8); what providers found themselves.

use std::collections::BTreeMap;

use crate::call::{CallKey, Want, Work};
use crate::calls::{ToolState, TurnState};
use crate::debate::Debate;
use crate::event::{ToolAnswered, ToolRef, WebSource};
use crate::format::Format;

/// One use of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolRun<'a> {
    /// The question in whose course the tool was asked.
    pub call: &'a CallKey,
    /// The question's revision.
    pub revision: u32,
    /// The turn that asked.
    pub turn: u32,
    /// Which tool use of that turn, from 0.
    pub index: u32,
    /// The tool and what it said.
    pub tool: &'a ToolState,
    /// What it was asked, as JSON, unless that was redacted.
    pub arguments: Option<&'a str>,
}

impl<'a> ToolRun<'a> {
    /// Returns the name of this use.
    #[must_use]
    pub fn name(&self) -> ToolRef {
        let Self { call, revision, turn, index, .. } = *self;
        ToolRef { call: call.clone(), revision, turn, index }
    }

    /// Returns what makes two uses ask the same; none where that was redacted.
    fn question(&self) -> Option<(&'a str, &'a str)> {
        Some((&self.tool.tool, self.arguments?))
    }
}

impl<F: Format> Debate<F> {
    /// Returns every use of a tool, by call in key order; those of revisions that no longer stand are among them.
    pub fn tool_runs(&self) -> impl Iterator<Item = ToolRun<'_>> {
        self.calls.iter().flat_map(|(key, call)| {
            let turns = call.turns_before.iter().chain(&call.turns);
            turns.flat_map(move |turn| runs_of(key, turn))
        })
    }

    /// Returns the pages that a provider searched for while it answered, its turns with tools first; none of an answer that
    /// does not stand, and none where words were redacted.
    pub fn web_sources(&self, want: &Want) -> impl Iterator<Item = &WebSource> {
        let call = self.calls.get(&want.call).filter(|call| call.answered == Some(want.revision));
        let words = call.into_iter().flat_map(|call| {
            let turns = call.turns_before.iter().chain(&call.turns);
            let turns = turns.filter(|turn| turn.revision == want.revision);
            turns.filter_map(|turn| Some(&turn.prose.shown()?.reply)).chain(call.searched.shown())
        });
        words.flat_map(|words| &words.web_sources)
    }

    fn tool_run(&self, want: &Want, turn: u32, index: u32) -> Option<ToolRun<'_>> {
        let (key, call) = self.calls.get_key_value(&want.call)?;
        let asked = call.turns.iter().find(|asked| asked.revision == want.revision && asked.turn == turn)?;
        runs_of(key, asked).nth(index as usize)
    }

    /// Returns the answer of a use whose question has been answered before, where the format shares answers.
    pub(crate) fn tool_answer_at_hand(&self, want: &Want, turn: u32, index: u32) -> Option<ToolAnswered> {
        let asked = self.tool_run(want, turn, index).filter(|_| F::shares_tools(&self.config))?;
        let question = asked.question()?;
        // Failures are not shared: a tool that was away may be back.
        let is_answer = |run: &ToolRun<'_>| {
            let tool = run.tool;
            tool.answered == Some(true) && tool.reused.is_none() && tool.result.shown().is_some()
        };
        let found = self.tool_runs().find(|run| is_answer(run) && run.question() == Some(question))?;
        let ToolRef { call, revision, turn, index } = asked.name();
        let (reused, prose) = (Some(found.name()), found.tool.result.clone());
        Some(ToolAnswered { call, revision, turn, index, ok: true, latency_ms: 0, reused, prose })
    }

    /// Checks that an answer which is another use's is one that was given.
    pub(crate) fn check_reused(&self, answered: &ToolAnswered) -> Result<(), String> {
        let Some(used) = &answered.reused else { return Ok(()) };
        let ToolAnswered { ref call, revision, turn, index, .. } = *answered;
        let asked = self.tool_used(&ToolRef { call: call.clone(), revision, turn, index });
        let is_so = |(given, asked): (&ToolState, &ToolState)| {
            given.tool == asked.tool && given.answered == Some(answered.ok) && given.reused.is_none()
        };
        if self.tool_used(used).zip(asked).is_some_and(is_so) {
            return Ok(());
        }
        let ToolRef { call, revision, turn, index } = used;
        Err(format!("tool use {index} of turn {turn} of {call}, revision {revision}, has no such answer"))
    }

    fn tool_used(&self, used: &ToolRef) -> Option<&ToolState> {
        self.call(&used.call)?.tool_used(used)
    }

    /// Leaves out uses of a tool that ask what another one in the list asks, so that they wait for its answer. The one
    /// that is under way stays, else the first.
    pub(crate) fn without_twins(&self, work: Vec<Work>) -> Vec<Work> {
        let run = |work: &Work| match work {
            Work::Tool { want, turn, index } => self.tool_run(want, *turn, *index),
            Work::Turn { .. } => None,
        };
        let mut chosen = BTreeMap::new();
        for (place, run) in work.iter().enumerate().filter_map(|(place, work)| Some((place, run(work)?))) {
            let Some(question) = run.question() else { continue };
            let rank = (run.tool.starts == 0, place);
            chosen.entry(question).and_modify(|first| *first = rank.min(*first)).or_insert(rank);
        }
        if chosen.is_empty() {
            return work;
        }
        let stays = |(place, work): &(usize, &Work)| {
            let question = run(work).and_then(|run| run.question());
            question.and_then(|question| chosen.get(&question)).is_none_or(|(_, first)| first == place)
        };
        work.iter().enumerate().filter(stays).map(|(_, work)| work.clone()).collect()
    }
}

fn runs_of<'a>(call: &'a CallKey, turn: &'a TurnState) -> impl Iterator<Item = ToolRun<'a>> {
    let arguments = turn.prose.shown().map_or(&[][..], |prose| &prose.arguments);
    (0..).zip(&turn.tools).map(move |(index, tool)| ToolRun {
        call,
        revision: turn.revision,
        turn: turn.turn,
        index,
        tool,
        arguments: arguments.get(index as usize).map(String::as_str),
    })
}
