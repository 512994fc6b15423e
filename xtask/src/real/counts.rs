//! What the log of one debate says about its calls.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The rule that rejects copies of the prompt.
const COPIED: &str = "P27";

/// Failures that a server which is gone causes.
const SERVER_GONE: [&str; 5] = ["unavailable", "overloaded", "timeout", "denied", "starts_exhausted"];

/// Counts over one log.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Questions put to the model; a question that is asked anew after a rejection counts again.
    pub(crate) calls: usize,
    /// Calls whose first attempt was read.
    pub(crate) at_once: usize,
    /// Calls that were read after at least one failed attempt.
    pub(crate) after_retry: usize,
    /// Replies that ended at the token limit, read or not.
    pub(crate) cut: usize,
    /// Attempts whose reply could not be read or used.
    pub(crate) unreadable: usize,
    /// Answers that a rule rejected.
    pub(crate) rejected: usize,
    /// Replies that repeat the prompt (rule P27).
    pub(crate) copied: usize,
    /// Attempts that ended by a timeout, by its kind, such as `timeout_total`.
    pub(crate) timeouts: BTreeMap<String, usize>,
    /// All failed attempts, by failure.
    pub(crate) failures: BTreeMap<String, usize>,
    /// Tokens of all replies together.
    pub(crate) tokens: Tokens,
    /// How complete the result is; absent while the debate has not ended.
    pub(crate) completeness: Option<String>,
}

/// Tokens as the server counted them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Counts {
    /// Counts the events of a log, which is in the JSON that `debate log --json` prints.
    pub(crate) fn of(log: &[Value]) -> Self {
        let mut counts = Self::default();
        let (mut calls, mut failed, mut read) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for event in log {
            let body = &event["body"];
            let call = call(body);
            match text(&event["kind"]) {
                "call_started" => {
                    calls.insert(call);
                }
                "call_answered" => {
                    counts.add_reply(body);
                    if read.insert(call) {
                        let place = if failed.contains(&call) {
                            &mut counts.after_retry
                        } else {
                            &mut counts.at_once
                        };
                        *place += 1;
                    }
                }
                "turn_answered" => counts.add_reply(body),
                "attempt_failed" => {
                    counts.add_reply(body);
                    counts.add_failure(body, text(&event["prose"]["message"]));
                    failed.insert(call);
                }
                "answer_rejected" => {
                    counts.rejected += 1;
                    counts.copied += usize::from(breaks(body, COPIED));
                }
                "concluded" => {
                    counts.completeness = body["completeness"]["state"].as_str().map(str::to_owned);
                }
                _ => {}
            }
        }
        counts.calls = calls.len();
        counts
    }

    /// Returns how many calls were read.
    pub(crate) fn answered(&self) -> usize {
        self.at_once + self.after_retry
    }

    /// Returns how many attempts failed.
    pub(crate) fn failed(&self) -> usize {
        self.failures.values().sum()
    }

    fn add_reply(&mut self, body: &Value) {
        self.tokens.input += body["usage"]["input"].as_u64().unwrap_or(0);
        self.tokens.output += body["usage"]["output"].as_u64().unwrap_or(0);
        let is_cut = match body["ended"].as_str() {
            Some(ended) => ended.starts_with("cut"),
            // A log without this field says so by the failure alone.
            None => body["failure"] == "truncated",
        };
        self.cut += usize::from(is_cut);
    }

    fn add_failure(&mut self, body: &Value, message: &str) {
        let failure = text(&body["failure"]);
        *self.failures.entry(failure.to_owned()).or_default() += 1;
        self.unreadable += usize::from(["unreadable", "unusable"].contains(&failure));
        self.copied += usize::from(message.contains(COPIED));
        if failure == "timeout" {
            let kind = message.split(':').next().filter(|kind| kind.starts_with("timeout_"));
            *self.timeouts.entry(kind.unwrap_or("timeout").to_owned()).or_default() += 1;
        }
    }
}

/// Returns the calls that had begun and not ended, with the attempts under way at each.
pub(crate) fn in_flight(log: &[Value]) -> BTreeSet<(&str, u64)> {
    let mut attempts = BTreeSet::new();
    for event in log {
        let (body, kind) = (&event["body"], text(&event["kind"]));
        let attempt = (call(body).0, call(body).1, body["attempt"].as_u64());
        match kind {
            "call_started" => {
                attempts.insert(attempt);
            }
            "call_answered" | "turn_answered" | "attempt_failed" | "attempt_abandoned" => {
                attempts.remove(&attempt);
            }
            _ => {}
        }
    }
    attempts.into_iter().map(|(call, revision, _)| (call, revision)).collect()
}

/// Returns how many attempts a server that was gone cost each call, in the events from a place on.
pub(crate) fn lost_since(log: &[Value], from: usize) -> BTreeMap<(&str, u64), usize> {
    let mut lost = BTreeMap::new();
    for event in log.iter().skip(from).filter(|event| event["kind"] == "attempt_failed") {
        if SERVER_GONE.contains(&text(&event["body"]["failure"])) {
            *lost.entry(call(&event["body"])).or_default() += 1;
        }
    }
    lost
}

/// Returns the calls that were answered more than once.
pub(crate) fn answered_twice(log: &[Value]) -> Vec<String> {
    let mut answers = BTreeMap::<_, usize>::new();
    for event in log.iter().filter(|event| event["kind"] == "call_answered") {
        *answers.entry(call(&event["body"])).or_default() += 1;
    }
    let twice = answers.into_iter().filter(|(_, answers)| *answers > 1);
    twice.map(|((call, revision), _)| format!("{call} revision {revision}")).collect()
}

/// Returns a question and its revision.
fn call(body: &Value) -> (&str, u64) {
    (text(&body["call"]), body["revision"].as_u64().unwrap_or(0))
}

fn breaks(body: &Value, rule: &str) -> bool {
    body["rules"].as_array().is_some_and(|rules| rules.iter().any(|broken| broken == rule))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, mut body: Value, [call, revision, attempt]: [&str; 3]) -> Value {
        body["call"] = json!(call);
        body["revision"] = json!(revision.parse::<u64>().unwrap());
        body["attempt"] = json!(attempt.parse::<u64>().unwrap());
        json!({ "kind": kind, "body": body })
    }

    fn failed(failure: &str, message: &str, attempt: [&str; 3]) -> Value {
        let usage = json!({ "failure": failure, "usage": { "input": 10, "output": 1 } });
        let mut failed = event("attempt_failed", usage, attempt);
        failed["prose"] = json!({ "message": message });
        failed
    }

    fn answered(body: Value, attempt: [&str; 3]) -> Value {
        let mut answered = event("call_answered", body, attempt);
        answered["body"]["usage"] = json!({ "input": 100, "output": 20 });
        answered
    }

    fn started(attempt: [&str; 3]) -> Value {
        event("call_started", json!({}), attempt)
    }

    /// Two calls are read at once, one of them after a rejection; one after four failures; one is under way.
    fn log() -> Vec<Value> {
        vec![
            json!({ "kind": "opened", "body": { "format": "prediction" } }),
            started(["a", "0", "1"]),
            started(["b", "0", "1"]),
            answered(json!({}), ["a", "0", "1"]),
            json!({ "kind": "answer_rejected", "body": { "call": "a", "revision": 0, "rules": ["P27"] } }),
            failed("truncated", "the reply was cut", ["b", "0", "1"]),
            started(["a", "1", "1"]),
            started(["b", "0", "2"]),
            failed("timeout", "timeout_total: no whole answer within 60 s", ["b", "0", "2"]),
            answered(json!({ "ended": "cut_text" }), ["a", "1", "1"]),
            started(["b", "0", "3"]),
            failed("unusable", "the argument repeats the instructions (P27)", ["b", "0", "3"]),
            started(["b", "0", "4"]),
            failed("unavailable", "no connection", ["b", "0", "4"]),
            started(["b", "0", "5"]),
            answered(json!({ "ended": "complete" }), ["b", "0", "5"]),
            started(["c", "0", "1"]),
            json!({ "kind": "concluded", "body": { "completeness": { "state": "partial" } } }),
        ]
    }

    #[test]
    fn counts_follow_the_events_of_a_log() {
        let counts = Counts::of(&log());
        let (calls, at_once, after_retry) = (counts.calls, counts.at_once, counts.after_retry);
        assert_eq!((calls, at_once, after_retry, counts.answered()), (4, 2, 1, 3));
        assert_eq!((counts.cut, counts.unreadable, counts.rejected, counts.copied), (2, 1, 1, 2));
        assert_eq!(counts.timeouts, BTreeMap::from([("timeout_total".to_owned(), 1)]));
        assert_eq!(counts.failed(), 4);
        assert_eq!(counts.tokens, Tokens { input: 340, output: 64 });
        assert_eq!(counts.completeness.as_deref(), Some("partial"));
        assert_eq!(Counts::of(&log()[..4]).completeness, None);
    }

    #[test]
    fn calls_in_flight_have_begun_and_not_ended() {
        assert_eq!(in_flight(&log()[..3]), BTreeSet::from([("a", 0), ("b", 0)]));
        assert_eq!(in_flight(&log()), BTreeSet::from([("c", 0)]));
    }

    #[test]
    fn failures_of_a_gone_server_are_counted_by_call() {
        assert_eq!(lost_since(&log(), 0), BTreeMap::from([(("b", 0), 2)]));
        assert_eq!(lost_since(&log(), 9), BTreeMap::from([(("b", 0), 1)]));
    }

    #[test]
    fn calls_answered_twice_are_named() {
        let mut twice = log();
        assert!(answered_twice(&twice).is_empty());
        twice.push(answered(json!({}), ["b", "0", "6"]));
        assert_eq!(answered_twice(&twice), ["b revision 0"]);
    }
}
