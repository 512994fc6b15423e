//! The state of one call: attempts, turns and tools at its current revision (rule K2).

use crate::call::{CUT, CallKey, Cause, Ended, InputRef, Reserved, Tokens, Usage};
use crate::event::{
    AnswerRejected, AttemptFailed, AttemptRef, CallAnswered, CallStarted, FailureProse, ReplyProse,
    ToolAnswered, ToolRef, TurnAnswered, TurnProse,
};
use crate::prose::Prose;

/// An attempt that has started and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAttempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// The turn it works on.
    pub turn: u32,
    /// What was set aside for it.
    pub reserved: Reserved,
    /// Tokens for thinking among them (rule P23).
    pub thinking: u32,
    /// Whether the parent of a fork sent it, so that the fork does not wait for it.
    pub is_parents: bool,
}

/// A tool use inside a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolState {
    /// The tool's name.
    pub tool: String,
    /// How often it was started.
    pub starts: u32,
    /// Whether it did what it was asked, once it answered.
    pub answered: Option<bool>,
    /// Wall time in milliseconds, once it answered.
    pub latency_ms: u64,
    /// The equal use whose answer this is, where the tool did not run again (rule T8).
    pub reused: Option<ToolRef>,
    /// What it said.
    pub result: Prose<String>,
}

impl ToolState {
    pub(crate) fn start(&mut self, attempt: u32) -> Result<(), String> {
        self.not_answered()?;
        if self.starts.checked_add(1) != Some(attempt) {
            return Err(format!("start {attempt} of tool {} is out of order", self.tool));
        }
        self.starts = attempt;
        Ok(())
    }

    pub(crate) fn answer(&mut self, answered: &ToolAnswered) -> Result<(), String> {
        if self.starts == 0 && answered.reused.is_none() {
            return Err(format!("tool {} was never started", self.tool));
        }
        self.not_answered()?;
        self.answered = Some(answered.ok);
        self.latency_ms = answered.latency_ms;
        self.reused.clone_from(&answered.reused);
        self.result = answered.prose.clone();
        Ok(())
    }

    fn not_answered(&self) -> Result<(), String> {
        if self.answered.is_some() {
            return Err(format!("tool {} has answered already", self.tool));
        }
        Ok(())
    }
}

/// A model turn that asked for tools.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnState {
    /// The revision of the question that it is a turn of.
    pub revision: u32,
    /// Which turn of it, from 1.
    pub turn: u32,
    /// The tools asked for.
    pub tools: Vec<ToolState>,
    /// What the model said.
    pub prose: Prose<TurnProse>,
}

impl TurnState {
    pub(crate) fn new(turn: &TurnAnswered) -> Self {
        let tools =
            turn.tools.iter().map(|used| ToolState { tool: used.tool.clone(), ..ToolState::default() });
        let AttemptRef { revision, turn: number, .. } = turn.attempt;
        Self { revision, turn: number, tools: tools.collect(), prose: turn.prose.clone() }
    }

    /// Returns whether every tool has answered.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.tools.iter().all(|tool| tool.answered.is_some())
    }
}

/// One call: what was asked, what is open, what came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallState {
    /// The revision asked for now, from 0.
    pub revision: u32,
    /// Why there is this revision, beyond the first.
    pub revised: Option<Cause>,
    /// Starts over all revisions.
    pub starts: u32,
    /// Answers that were rejected by a rule, over all revisions since it was last void.
    pub rejections: u32,
    /// The latest attempt at this revision.
    pub attempt: u32,
    /// The latest turn that was started at this revision.
    pub turn_started: u32,
    /// Failed attempts at this revision; requests that race each other are one attempt at the question.
    pub failures: u32,
    /// Failed attempts at this revision after which another model stands in, where there is one.
    pub moves: u32,
    /// Whether this revision has failed for good.
    pub failed: bool,
    /// Attempts that are under way, as far as the log knows.
    pub open: Vec<OpenAttempt>,
    /// Turns that asked for tools, at this revision.
    pub turns: Vec<TurnState>,
    /// Turns that asked for tools, at revisions that no longer stand.
    pub turns_before: Vec<TurnState>,
    /// What the latest start was shown.
    pub sees: Vec<InputRef>,
    /// The kinds of parts that the prompt of the latest start did not show whole, such as `findings` or `point` (rule K20).
    pub shortened: Vec<Box<str>>,
    /// The latest revision that was answered.
    pub answered: Option<u32>,
    /// Tokens that providers reported for it, over all revisions.
    pub used: Tokens,
    /// What the lenient reader repaired in the latest answer (rules K18, P29).
    pub repairs: Vec<String>,
    /// The words of the latest answer, kept where they name pages that its provider searched for.
    pub searched: Prose<ReplyProse>,
    /// Why the previous revision was rejected, as shown to the role that is asked again.
    pub rejection: Prose<String>,
    /// Answers at this revision that thinking cut before any of them was written (rule P23).
    pub cut_in_thinking: u32,
    /// Why the last answer at this revision could not be used, where one came (rule K18).
    pub unusable: Option<Prose<FailureProse>>,
}

impl CallState {
    /// Returns the turn that is asked for next, from 1.
    #[must_use]
    pub fn next_turn(&self) -> u32 {
        u32::try_from(self.turns.len()).unwrap_or(u32::MAX - 1) + 1
    }

    /// Returns the attempt that a start of `turn` would be: the running one for a new turn, else one more.
    #[must_use]
    pub fn next_attempt(&self, turn: u32) -> u32 {
        if turn > self.turn_started { self.attempt.max(1) } else { self.attempt + 1 }
    }

    /// Returns whether this revision has its answer.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.answered == Some(self.revision)
    }

    /// Returns whether nothing more is to be had from this revision: it has its answer, or has failed for good.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_answered() || self.failed
    }

    /// Returns whether the latest answer was taken from a reply that was cut (rule K18).
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.repairs.iter().any(|repair| repair == CUT)
    }

    /// Returns the open attempt that a reference names.
    #[must_use]
    pub fn open_at(&self, attempt: &AttemptRef) -> Option<&OpenAttempt> {
        self.open.iter().find(|open| open.attempt == attempt.attempt && open.turn == attempt.turn)
    }

    /// Returns references to all open attempts, this being the call `key`.
    #[must_use]
    pub fn open_attempts(&self, key: &CallKey) -> Vec<AttemptRef> {
        let open = self.open.iter();
        open.map(|open| AttemptRef {
            call: key.clone(),
            revision: self.revision,
            attempt: open.attempt,
            turn: open.turn,
        })
        .collect()
    }

    /// Records a start; returns the attempts that are now known to be lost.
    pub(crate) fn start(&mut self, started: &CallStarted) -> Result<Vec<OpenAttempt>, String> {
        self.begin(started.revision, started.attempt, started.turn)?;
        let lost = match started.cause {
            Cause::Hedge => Vec::new(),
            Cause::First | Cause::Lost | Cause::Reask | Cause::Void => std::mem::take(&mut self.open),
        };
        self.starts += 1;
        self.attempt = started.attempt;
        self.turn_started = started.turn;
        self.sees.clone_from(&started.sees);
        self.shortened = shortened(&started.prompt.omitted);
        self.open.push(OpenAttempt {
            attempt: started.attempt,
            turn: started.turn,
            reserved: started.reserved,
            thinking: started.thinking.tokens,
            is_parents: false,
        });
        Ok(lost)
    }

    /// Turns to a revision of which an attempt begins, or would if it could be sent.
    fn begin(&mut self, revision: u32, attempt: u32, turn: u32) -> Result<(), String> {
        if revision < self.revision {
            return Err(format!("revision {revision} is past; {} is asked for", self.revision));
        }
        if revision > self.revision {
            self.revise(revision, None);
        }
        self.not_settled()?;
        if turn != self.next_turn() || attempt != self.next_attempt(turn) {
            return Err(format!("attempt {attempt} of turn {turn} is out of order"));
        }
        // Once for each turn: the one before it may have many tools.
        if turn > self.turn_started && self.turns.last().is_some_and(|before| !before.is_done()) {
            return Err(format!("tools of the turn before turn {turn} have not answered"));
        }
        Ok(())
    }

    fn not_settled(&self) -> Result<(), String> {
        if self.is_settled() {
            return Err(format!("revision {} is settled", self.revision));
        }
        Ok(())
    }

    /// Ends an open attempt and returns it.
    pub(crate) fn close(&mut self, attempt: &AttemptRef) -> Result<OpenAttempt, String> {
        if attempt.revision != self.revision {
            return Err(format!("revision {} is not open; {} is", attempt.revision, self.revision));
        }
        let found =
            self.open.iter().position(|open| open.attempt == attempt.attempt && open.turn == attempt.turn);
        let Some(index) = found else {
            return Err(format!("attempt {} of turn {} is not open", attempt.attempt, attempt.turn));
        };
        Ok(self.open.remove(index))
    }

    /// Ends an open attempt by what came of it, and returns it; nothing comes of one whose turn or question is settled.
    pub(crate) fn land(&mut self, attempt: &AttemptRef) -> Result<OpenAttempt, String> {
        let open = self.close(attempt)?;
        self.not_settled()?;
        if attempt.turn != self.next_turn() {
            return Err(format!("turn {} has been answered", attempt.turn));
        }
        Ok(open)
    }

    /// Goes on in a fork: what is under way is the parent's, and starts count anew. A question that has failed is put
    /// again where other models are to answer it.
    pub(crate) fn fork(&mut self, others_answer: bool) {
        self.starts = 0;
        self.used = Tokens::default();
        for open in &mut self.open {
            (open.is_parents, open.reserved) = (true, Reserved::NOTHING);
        }
        if others_answer && !self.is_answered() {
            self.failures = self.failures.min(1);
            self.moves = 0;
            self.failed = false;
        }
    }

    /// Is asked again after its debate was void: its failures no longer count (rule K24).
    pub(crate) fn reopen(&mut self) {
        self.starts = 0;
        self.failures = 0;
        self.moves = 0;
        self.failed = false;
    }

    /// Takes an answer to the revision that is asked for.
    pub(crate) fn answer(&mut self, answered: &CallAnswered) {
        self.count(&answered.reply.usage);
        self.answered = Some(answered.attempt.revision);
        self.repairs.clone_from(&answered.reply.repairs);
        let names_pages = answered.prose.shown().is_some_and(|words| !words.web_sources.is_empty());
        self.searched = if names_pages { answered.prose.clone() } else { Prose::default() };
    }

    /// Takes a turn that asks for tools.
    pub(crate) fn ask_tools(&mut self, turn: &TurnAnswered) {
        self.count(&turn.reply.usage);
        self.turns.push(TurnState::new(turn));
    }

    fn count(&mut self, usage: &Usage) {
        let reported = Tokens { input: usage.input.unwrap_or(0), output: usage.output.unwrap_or(0) };
        self.used = self.used.plus(reported);
    }

    /// Takes a failure of the attempt that would have begun next.
    pub(crate) fn fail_unsent(&mut self, failed: &AttemptFailed) -> Result<(), String> {
        let AttemptRef { revision, attempt, turn, .. } = failed.attempt;
        self.begin(revision, attempt, turn)?;
        self.fail(failed);
        Ok(())
    }

    /// Takes a failure of the revision that is asked for.
    pub(crate) fn fail(&mut self, failed: &AttemptFailed) {
        self.count(&failed.reply.usage);
        // A question that is raced has not failed while another request for it is open.
        if self.open.is_empty() {
            self.failures += 1;
            self.moves += u32::from(failed.failure.moves_on());
        }
        self.failed = failed.last;
        // Logs that do not say how an answer ended were asked again without a reason.
        let Some(ended) = failed.reply.ended else { return };
        self.cut_in_thinking += u32::from(ended == Ended::CutInThinking);
        if failed.failure.says_why() {
            self.unusable = Some(failed.prose.clone());
        }
    }

    pub(crate) fn reject(&mut self, rejected: &AnswerRejected) -> Result<(), String> {
        if !self.is_answered() {
            return Err(format!("revision {} has no answer to reject", rejected.revision));
        }
        let next = self.next_revision(rejected.revision)?;
        // The reason rests on what the answer was shown; if that changes, so must the question.
        let sees = std::mem::take(&mut self.sees);
        self.revise(next, Some(Cause::Reask));
        self.sees = sees;
        self.rejection = rejected.prose.clone();
        self.rejections += 1;
        Ok(())
    }

    pub(crate) fn void(&mut self, revision: u32) -> Result<(), String> {
        self.revise(self.next_revision(revision)?, Some(Cause::Void));
        self.rejections = 0;
        Ok(())
    }

    /// Returns the revision that follows one that is taken back.
    fn next_revision(&self, revision: u32) -> Result<u32, String> {
        if revision != self.revision {
            return Err(format!("revision {revision} is not the one that stands"));
        }
        if !self.open.is_empty() {
            return Err("an attempt at it is still open".to_owned());
        }
        // A log may have made the number up.
        revision.checked_add(1).ok_or_else(|| format!("there is no revision after {revision}"))
    }

    /// Returns a tool use of any revision.
    pub(crate) fn tool_used(&self, used: &ToolRef) -> Option<&ToolState> {
        let turns = if used.revision == self.revision { &self.turns } else { &self.turns_before };
        let place =
            turns.binary_search_by_key(&(used.revision, used.turn), |turn| (turn.revision, turn.turn));
        turns[place.ok()?].tools.get(used.index as usize)
    }

    /// Returns a tool use of a turn of the revision that is asked for.
    pub(crate) fn tool_at(&mut self, revision: u32, turn: u32, index: u32) -> Result<&mut ToolState, String> {
        if revision != self.revision {
            return Err(format!("revision {revision} is not the one that stands"));
        }
        let turns = self.turns.len();
        let missing = || format!("turn {turn} has no tool use {index} ({turns} turns so far)");
        let turn = self.turns.get_mut((turn as usize).wrapping_sub(1)).ok_or_else(missing)?;
        turn.tools.get_mut(index as usize).ok_or_else(missing)
    }

    fn revise(&mut self, revision: u32, cause: Option<Cause>) {
        self.revision = revision;
        self.revised = cause;
        self.attempt = 0;
        self.turn_started = 0;
        self.failures = 0;
        self.moves = 0;
        self.failed = false;
        self.turns_before.append(&mut self.turns);
        self.sees.clear();
        self.rejection = Prose::default();
        self.cut_in_thinking = 0;
        self.unusable = None;
    }
}

/// Returns the kinds of parts that a prompt did not show whole, each once, out of lines such as `point r1.judge: left out`.
fn shortened(omitted: &[String]) -> Vec<Box<str>> {
    let mut kinds: Vec<&str> = omitted.iter().filter_map(|line| line.split([' ', ':']).next()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.into_iter().map(Box::from).collect()
}
