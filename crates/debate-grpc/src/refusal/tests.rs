//! What refusals show, and what they do not.

use axum::body::to_bytes;
use axum::http::HeaderMap;
use debate_core::command::DecideError;
use debate_core::debate::ReplayError;
use debate_core::id::Seq;
use debate_core::policy::proposal_log::ProposalLogError;
use debate_engine::{FolderError, PolicyError};
use debate_store::{LeaseError, RedactError};
use tonic::{Code, Status};

use super::*;
use crate::hearing::Hearing;

/// Refusals whose internal cause is a secret, with the level and the message of what is logged of each.
fn refused_within(secret: &'static str) -> Vec<(Refusal, &'static str, &'static str)> {
    let debate = DebateId(uuid::Uuid::nil());
    let (stream, seq) = (debate.into(), Seq(1));
    let deleted = RedactionError::Delete(RedactError::Backend { stream, seq, source: secret.into() });
    let folder = || FolderError::Open { path: secret.into(), source: std::io::Error::other(secret) };
    let unwritten = PolicyError::Unwritten { reviewer: "ann".parse().unwrap(), number: 1, source: folder() };
    let (format, source) =
        (AnyReplayError::Format { kind: secret.to_owned() }, ReplayError::NotOpened(secret));
    let undecided = || DecideError::Defect(secret.to_owned());
    let odd = ProposalLogError::Order { seq: 1, kind: secret.to_owned() };
    let unread = || ReadError::backend(secret);
    let untaken = || AppendError::Backend { stream, source: secret.into() };
    let unleased = || LeaseError(secret.into());
    let unfit = ReadError::Corrupt { position: Position(7), what: secret.to_owned() };
    let of_reading: [Refusal; 11] = [
        LoadError::Read(unfit).into(),
        Refusal::of_control(debate, ControlError::Load(unread().into())),
        Refusal::of_redaction(debate, RedactionError::Load(unread().into())),
        Refusal::of_fork(debate, ForkError::Load(unread().into())),
        unread().into(),
        LoadError::Read(unread()).into(),
        WatchError::Read(unread()).into(),
        PolicyError::Read(unread()).into(),
        PolicyError::Load(unread().into()).into(),
        StartError::Leases(unleased()).into(),
        Refusal::of_fork(debate, ForkError::Leases(unleased())),
    ];
    let of_taking: [Refusal; 6] = [
        untaken().into(),
        PolicyError::Append(untaken()).into(),
        StartError::Store(untaken()).into(),
        Refusal::of_fork(debate, ForkError::Store(untaken())),
        Refusal::of_control(debate, ControlError::Record(untaken())),
        Refusal::of_redaction(debate, RedactionError::Record(untaken())),
    ];
    let of_reading = of_reading.map(|refusal| (refusal, "ERROR", "the store cannot be read"));
    let of_taking = of_taking.map(|refusal| (refusal, "ERROR", "the store did not take events"));
    let others: [(Refusal, _, _); 11] = [
        (PolicyError::Log(odd).into(), "ERROR", "the log of proposals is corrupt"),
        (Refusal::of_replay(debate, &format), "ERROR", "a log does not fold"),
        (LoadError::Replay { debate, source }.into(), "ERROR", "a log does not fold"),
        (Refusal::defect(&secret), "ERROR", "a defect of this program"),
        (StartError::Open(undecided()).into(), "ERROR", "a defect of this program"),
        (
            Refusal::of_control(debate, ControlError::Refused(undecided())),
            "ERROR",
            "a defect of this program",
        ),
        (
            Refusal::of_redaction(debate, RedactionError::Refused(undecided())),
            "ERROR",
            "a defect of this program",
        ),
        (Refusal::of_fork(debate, ForkError::Refused(undecided())), "ERROR", "a defect of this program"),
        (Refusal::of_redaction(debate, deleted), "ERROR", "words were not deleted"),
        (PolicyError::Folder(folder()).into(), "WARN", "the folder of reviewers cannot be used"),
        (unwritten.into(), "WARN", "the folder of reviewers cannot be used"),
    ];
    others.into_iter().chain(of_reading).chain(of_taking).collect()
}

#[tokio::test]
async fn causes_inside_the_house_are_in_the_log_and_in_no_answer() {
    use axum::response::IntoResponse as _;

    let (hearing, _listening) = Hearing::begin();
    for secret in ["password=sesame host=db-7", "/var/lib/debates.sqlite: disk I/O error"] {
        let cases = refused_within(secret);
        for (refusal, level, message) in &cases {
            let is_ours = matches!(
                refusal,
                Refusal::Unavailable | Refusal::Corrupt(_) | Refusal::CorruptEvent(_) | Refusal::Defect
            );
            assert_eq!(is_ours, *level == "ERROR", "{refusal:?}");
            let mut headers = HeaderMap::new();
            Status::from(refusal.clone()).add_header(&mut headers).unwrap();
            let problem = to_bytes(refusal.clone().into_response().into_body(), usize::MAX).await.unwrap();
            let sent = format!("{refusal} {headers:?} {}", String::from_utf8_lossy(&problem));
            let is_sent = secret.split(['=', ' ', ':']).any(|word| word.len() > 3 && sent.contains(word));
            assert!(!is_sent, "{sent}");
            let logged = hearing.logged(level, message);
            let with_cause = logged.iter().filter(|line| line.contains(secret)).count();
            let of_it = cases.iter().filter(|(.., its)| its == message).count();
            assert_eq!(with_cause, of_it, "each cause is logged: {logged:?}");
        }
    }
}

#[test]
fn an_event_that_cannot_be_read_is_lost_and_no_cause_to_ask_again() {
    let unfit = ReadError::Corrupt { position: Position(7), what: "no event".to_owned() };
    let status = Status::from(Refusal::from(unfit));
    assert_eq!(status.code(), Code::DataLoss);
    assert_eq!(status.message(), "the event at position 7 of the store is corrupt; verify the store");
}
