//! What really happened, as the world outside an engine sees it: events as they were stored, questions as they were
//! asked, tools as they were run. Whatever breaks a rule at that very moment is kept as a finding.

mod account;

use std::collections::BTreeMap;

use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::Digest;

pub use self::account::{Account, Life};
use crate::stage::Writer;

/// The books of one world.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: BTreeMap<StreamId, Account>,
    findings: Vec<String>,
    kinds: BTreeMap<String, u64>,
    asked: u64,
    ran: u64,
}

impl Ledger {
    /// Enters events that a writer has just stored.
    pub fn stored(&mut self, writer: Writer, envelopes: &[Envelope]) {
        for envelope in envelopes {
            *self.kinds.entry(envelope.kind.clone()).or_default() += 1;
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

    /// Returns how many questions were asked and how many tools were run.
    #[must_use]
    pub fn efforts(&self) -> (u64, u64) {
        (self.asked, self.ran)
    }
}
