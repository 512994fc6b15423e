//! Debates that are disturbed while they run: the model server killed for a while, the program killed and resumed.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};

use super::child::OwnedChild;
use super::counts::{answered_twice, in_flight, lost_since};
use super::debate::{Debate, Waited};
use super::server::{ModelServer, SLOTS};

/// After how many answers a debate is disturbed.
const MIDDLE: usize = 2;

/// How long the model server is down.
const OUTAGE: Duration = Duration::from_secs(15);

/// What a disturbance did to a debate.
#[derive(Debug)]
pub(crate) struct Cost {
    /// What it cost, for people.
    pub(crate) note: String,
    /// What it must not have cost.
    pub(crate) faults: Vec<String>,
}

/// Kills the model server in the middle of a debate, starts it again, and waits for the debate's end.
///
/// # Errors
///
/// When the debate ends before its middle, or the server does not come back.
pub(crate) fn outage(
    debate: &Debate<'_>,
    child: &mut OwnedChild,
    server: &mut ModelServer<'_>,
) -> Result<Cost> {
    reach_middle(debate, child)?;
    let before = debate.log()?;
    server.kill();
    let after = debate.log()?;
    println!("    the model server is killed for {} s", OUTAGE.as_secs());
    thread::sleep(OUTAGE);
    server.restart()?;
    debate.wait(child, None)?;
    let log = debate.log()?;
    // A call that was queued had begun too, and the log does not say which: no more than the slots were streaming.
    let begun: BTreeSet<_> = in_flight(&before).union(&in_flight(&after)).copied().collect();
    let lost = lost_since(&log, before.len());
    let mut faults = Vec::new();
    for ((call, revision), attempts) in &lost {
        if *attempts > 1 {
            faults.push(format!("the outage cost {call} {attempts} attempts"));
        }
        if !begun.contains(&(*call, *revision)) {
            faults.push(format!("the outage cost {call} an attempt, although it had not begun"));
        }
    }
    if lost.len() > SLOTS {
        faults.push(format!("the outage cost {} calls an attempt; {SLOTS} can stream", lost.len()));
    }
    let attempts: usize = lost.values().sum();
    let (begun, calls) = (begun.len(), lost.len());
    Ok(Cost { note: format!("{begun} calls had begun; {attempts} attempts lost, at {calls} calls"), faults })
}

/// Kills the process that runs a debate in its middle, resumes the debate, and waits for its end.
///
/// # Errors
///
/// When the debate ends before its middle, or the second process does not start.
pub(crate) fn interrupt(debate: &Debate<'_>, mut child: OwnedChild) -> Result<Cost> {
    reach_middle(debate, &mut child)?;
    drop(child);
    let before = debate.log()?;
    println!("    the process is killed; the debate is resumed");
    let mut resumed = debate.resume()?;
    debate.wait(&mut resumed, None)?;
    let log = debate.log()?;
    let twice = answered_twice(&log).into_iter().map(|call| format!("{call} was answered twice"));
    let (begun, events) = (in_flight(&before).len(), before.len());
    let note =
        format!("killed after {events} events with {begun} calls begun; {} events at its end", log.len());
    Ok(Cost { note, faults: twice.collect() })
}

fn reach_middle(debate: &Debate<'_>, child: &mut OwnedChild) -> Result<()> {
    match debate.wait(child, Some(MIDDLE))? {
        Waited::Answered => Ok(()),
        Waited::Ended => bail!("the debate ended before its middle: {}", debate.cause()),
    }
}
