//! What really happened, as the world outside an engine sees it: events as they were stored, questions as they were
//! asked, tools as they were run. Whatever breaks a rule at that very moment is kept as a finding.

mod account;

use std::collections::BTreeMap;

use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::{CallStarted, StopRuleFired};
use debate_core::id::Digest;
use debate_core::record::Body;

pub use self::account::{Account, Life};
use crate::writer::Writer;

/// The books of one world.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: BTreeMap<StreamId, Account>,
    findings: Vec<String>,
    kinds: BTreeMap<String, u64>,
    causes: BTreeMap<String, u64>,
    budgets: BTreeMap<String, u64>,
    asked: u64,
    ran: u64,
}

impl Ledger {
    /// Enters events that a writer has just stored.
    pub fn stored<'a>(&mut self, writer: Writer, envelopes: impl IntoIterator<Item = &'a Envelope>) {
        for envelope in envelopes {
            *self.kinds.entry(envelope.kind.clone()).or_default() += 1;
            if let Some(cause) = text_of(envelope, CallStarted::KIND, "cause") {
                *self.causes.entry(cause).or_default() += 1;
            }
            if let Some(budget) = text_of(envelope, StopRuleFired::KIND, "budget") {
                *self.budgets.entry(budget).or_default() += 1;
            }
            let account = self.accounts.entry(envelope.stream).or_default();
            if let Err(finding) = account.enter(writer, envelope) {
                self.findings.push(format!("event {} ({}): {finding}", envelope.seq, envelope.kind));
            }
        }
    }

    /// Enters a question that a writer puts to the model (rules K2, K3): its start must be in the log, as the
    /// writer's own, and each start stands for one question only.
    pub fn asked(&mut self, writer: Writer, digest: Digest) {
        self.asked += 1;
        if !self.accounts.values_mut().any(|account| account.ask(writer, digest)) {
            self.findings.push(format!("a model was asked {digest} without a start in the log"));
        }
    }

    /// Enters a run of a tool; its start must be in the log, as the writer's own.
    pub fn ran(&mut self, writer: Writer, tool: &str, arguments: &str) {
        self.ran += 1;
        if !self.accounts.values_mut().any(|account| account.run_tool(writer, tool, arguments)) {
            self.findings.push(format!("tool {tool} ran with {arguments} without a start in the log"));
        }
    }

    /// Adds something that was found elsewhere.
    pub fn found(&mut self, finding: String) {
        self.findings.push(finding);
    }

    /// Returns what broke a rule so far.
    #[must_use]
    pub fn findings(&self) -> &[String] {
        &self.findings
    }

    /// Returns the books of one debate.
    #[must_use]
    pub fn account(&self, stream: StreamId) -> Option<&Account> {
        self.accounts.get(&stream)
    }

    /// Returns the debates that were opened.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> {
        self.accounts.keys().copied()
    }

    /// Returns how many events of each kind were stored.
    #[must_use]
    pub fn kinds(&self) -> &BTreeMap<String, u64> {
        &self.kinds
    }

    /// Returns how many calls were started for each cause.
    #[must_use]
    pub fn causes(&self) -> &BTreeMap<String, u64> {
        &self.causes
    }

    /// Returns how many debates were stopped for each budget.
    #[must_use]
    pub fn budgets(&self) -> &BTreeMap<String, u64> {
        &self.budgets
    }

    /// Returns how many questions were asked and how many tools were run.
    #[must_use]
    pub fn efforts(&self) -> (u64, u64) {
        (self.asked, self.ran)
    }
}

/// Returns a member of an event's body, where the event is of a kind.
fn text_of(envelope: &Envelope, kind: &str, member: &str) -> Option<String> {
    if envelope.kind != kind {
        return None;
    }
    let body: serde_json::Value = serde_json::from_str(&envelope.body).ok()?;
    body[member].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use debate_core::call::{Cause, Reserved};
    use debate_core::codec::{self, Author, Head};
    use debate_core::event::{AttemptRef, CallAnswered, Event, PromptRef, ReplyFacts};
    use debate_core::id::Timestamp;
    use debate_core::prose::Prose;

    use super::*;
    use crate::probe::Probe;
    use crate::stage::Stage;

    fn attempt(attempt: u32) -> AttemptRef {
        AttemptRef { call: "say/1/ann".parse().unwrap(), revision: 0, attempt, turn: 1 }
    }

    fn started(number: u32, cause: Cause) -> Event<Probe> {
        let AttemptRef { call, revision, attempt, turn } = attempt(number);
        let digest = Digest::of_text("a question");
        let prompt = PromptRef { version: String::new(), digest, tokens: 1, ..PromptRef::default() };
        let (model, sees, reserved) = (String::new(), Vec::new(), Reserved::NOTHING);
        CallStarted {
            call,
            revision,
            attempt,
            turn,
            cause,
            model,
            sees,
            prompt,
            reserved,
            thinking: debate_core::call::Thinking::default(),
        }
        .into()
    }

    fn answered(number: u32) -> Event<Probe> {
        let (attempt, reply, prose) = (attempt(number), ReplyFacts::default(), Prose::default());
        CallAnswered { attempt, reply, prose }.into()
    }

    /// Enters the events and returns what was found.
    fn check(events: &[Event<Probe>], ask: bool) -> Vec<String> {
        let stage = Stage::new(crate::clock::Clock::new(None), false);
        let writer = stage.new_writer();
        let stream = StreamId::from(debate_core::id::DebateId(uuid::Uuid::from_u128(1)));
        let author = Author { tenant: String::new(), actor: String::new(), trace: None };
        let sealed = codec::seal(stream, Head::NONE, &author, Timestamp(0), events, || [0; 16]);
        let mut ledger = stage.ledger();
        ledger.stored(writer, sealed.into_envelopes().iter().map(|envelope| &**envelope));
        if ask {
            ledger.asked(writer, Digest::of_text("a question"));
        }
        ledger.findings().to_vec()
    }

    #[test]
    fn k2_a_start_after_the_answer_is_found() {
        let events = [started(1, Cause::First), answered(1), started(2, Cause::Reask)];
        let found = check(&events, false);
        assert!(found.len() == 1 && found[0].contains("has its answer in the log"), "{found:?}");
        assert!(check(&events[..2], false).is_empty());
    }

    #[test]
    fn k3_a_question_without_its_start_in_the_log_is_found() {
        assert!(check(&[started(1, Cause::First)], true).is_empty());
        assert_eq!(check(&[], true).len(), 1);
    }

    #[test]
    fn an_answer_to_an_attempt_that_was_lost_is_found() {
        let found = check(&[started(1, Cause::First), started(2, Cause::Lost), answered(1)], false);
        assert!(found.len() == 1 && found[0].contains("is not open"), "{found:?}");
    }
}
