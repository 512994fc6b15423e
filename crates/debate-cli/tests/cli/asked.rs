//! What a log says of its questions.

use std::collections::BTreeMap;

use serde_json::Value;

/// Checks that every answer was asked for once, and nothing after its answer; returns how many questions were lost and
/// asked again.
pub(crate) fn check_asked_once(log: &[Value]) -> usize {
    let turn = |event: &Value| {
        let body = &event["body"];
        ["call", "revision", "attempt", "turn"].map(|field| body[field].to_string())
    };
    let question = |event: &Value| [event["body"]["call"].to_string(), event["body"]["revision"].to_string()];
    let mut answered = BTreeMap::new();
    let mut started = BTreeMap::new();
    let mut lost = 0;
    for event in log {
        match event["kind"].as_str().unwrap() {
            "call_started" => {
                assert_eq!(started.insert(turn(event), &event["seq"]), None, "started twice: {event}");
                assert!(!answered.contains_key(&question(event)), "asked again after its answer: {event}");
                lost += usize::from(event["body"]["cause"] == "lost");
            }
            "call_answered" => {
                assert!(started.contains_key(&turn(event)), "answered without being asked: {event}");
                assert_eq!(answered.insert(question(event), &event["seq"]), None, "answered twice: {event}");
            }
            _ => {}
        }
    }
    lost
}
