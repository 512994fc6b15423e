//! What must hold of a debate once a world is over, whatever happened in it.

use std::sync::Arc;

use debate_core::codec;
use debate_core::debate::{Debate, Lifecycle};
use debate_core::envelope::Envelope;
use debate_core::event::{CallStarted, Recorded};
use debate_core::format::Format;
use debate_core::id::{DebateId, Seq};
use debate_core::prose::Texts;
use debate_core::record::Body as _;
use debate_engine::{Engine, Finding, Redact};
use debate_llm::ScriptedModel;
use debate_store::{EventStore, MemoryStore};
use futures::FutureExt;
use serde_json::Value;

use crate::ledger::Account;
use crate::stage::Stage;
use crate::subject::Subject;
use crate::watched::Watched;

/// Checks one debate and returns its outcome without what may differ between runs.
///
/// # Errors
/// What is wrong, one line each.
pub fn debate<S: Subject>(
    stage: &Arc<Stage>,
    watched: &Watched<S::Format>,
    seen: &[Envelope],
) -> Result<Value, Vec<String>> {
    let debate = watched.debate.ok_or_else(|| vec!["a debate was never opened".to_owned()])?;
    let read = stage.store.read(debate.into(), Seq::START, u32::MAX).now_or_never();
    let Some(Ok(log)) = read else {
        return Err(vec!["the log cannot be read".to_owned()]);
    };
    let mut findings = Vec::new();
    if log != seen {
        findings.push("a subscriber saw other events than are in the log (K10)".to_owned());
    }
    let folded = match stage.ledger().account(debate.into()) {
        Some(account) => folds::<S>(&log, account),
        None => Err("the books know nothing of it".to_owned()),
    };
    let outcome = folded.unwrap_or_else(|finding| {
        findings.push(finding);
        Value::Null
    });
    findings.extend(verifies::<S>(debate, &log));
    if findings.is_empty() { Ok(outcome) } else { Err(findings) }
}

/// Folds the log event by event, twice; every prefix must fold, and plan what it can (rules K1, K2, K4).
fn folds<S: Subject>(log: &[Envelope], account: &Account) -> Result<Value, String> {
    let events = log.iter().map(codec::decode::<S::Format>).collect::<Result<Vec<_>, _>>();
    let events: Vec<Recorded<S::Format>> = events.map_err(|error| error.to_string())?;
    let first = events.first().ok_or("the log is empty")?;
    let mut debate = Debate::replay([first]).map_err(|error| error.to_string())?;
    for recorded in &events[1..] {
        check_plan(&debate)?;
        debate.apply(recorded.at, &recorded.event).map_err(|error| error.to_string())?;
    }
    if debate.lifecycle() != Lifecycle::Concluded {
        return Err(format!("the debate is {}", debate.lifecycle().as_str()));
    }
    S::check(&debate)?;
    check_spend(&debate)?;
    check_books(&debate, account)?;
    let again = Debate::replay(&events).map_err(|error| error.to_string())?;
    if again.outcome_digest() != debate.outcome_digest() {
        return Err("the same log folds into two outcomes (K4)".to_owned());
    }
    let outcome = <S::Format as Format>::outcome(&debate, Texts::Shown);
    let outcome = serde_json::to_value(outcome).map_err(|error| error.to_string())?;
    Ok(S::comparable(outcome))
}

/// Checks that nothing is wanted that has its answer, and that what is wanted may run.
fn check_plan<F: Format>(debate: &Debate<F>) -> Result<(), String> {
    let running = debate.running_work();
    for work in debate.wanted_work() {
        let want = work.want();
        if !running.contains(&work) {
            return Err(format!("after event {}: {work:?} is wanted and may not run", debate.head()));
        }
        if debate.is_answered(&want.call, want.revision) {
            return Err(format!("after event {}: {work:?} is wanted and answered (K2)", debate.head()));
        }
    }
    Ok(())
}

fn check_spend<F: Format>(debate: &Debate<F>) -> Result<(), String> {
    let (spend, limits) = (debate.spend(), debate.limits());
    if spend.calls > limits.calls_max {
        return Err(format!("{} calls were made, {} are allowed (K8)", spend.calls, limits.calls_max));
    }
    let (bound, max) = (spend.bound, limits.tokens_max);
    if bound.input > max.input || bound.output > max.output {
        return Err(format!("{bound:?} may have been used, {max:?} are allowed (K8)"));
    }
    let (cost, cost_max) = (spend.cost_micros_bound(), limits.cost_micros_max.unwrap_or(u64::MAX));
    if cost > cost_max {
        return Err(format!("{cost} millionths may have been spent, {cost_max} are allowed (K8)"));
    }
    if spend.unpriced_calls > 0 || spend.cost.is_some_and(|cost| cost.cost_micros > cost.cost_micros_bound) {
        return Err(format!("{:?} cannot be, with a price for every call (K8)", spend.cost));
    }
    if spend.known.input > bound.input || spend.known.output > bound.output {
        return Err(format!("{:?} were used, at most {bound:?} can have been (K8)", spend.known));
    }
    Ok(())
}

/// Checks that the fold and the books agree on what was spent, by then and in the last conclusion (rule K8).
fn check_books<F: Format>(debate: &Debate<F>, account: &Account) -> Result<(), String> {
    let spend = debate.spend();
    let counted = account.cost_micros();
    if spend.cost.map_or((0, 0), |cost| (cost.cost_micros, cost.cost_micros_bound)) != counted {
        return Err(format!("the fold has spent {:?}, the books {counted:?} (K8)", spend.cost));
    }
    let concluded = debate.conclusion().and_then(|(concluded, _)| concluded.spend);
    if concluded != Some(spend) {
        return Err(format!("{concluded:?} was concluded, {spend:?} was spent (K8)"));
    }
    Ok(())
}

/// Verifies a copy of the log as an engine does, whole and then with all words redacted (rule K15).
fn verifies<S: Subject>(debate: DebateId, log: &[Envelope]) -> Vec<String> {
    let concluded = log.iter().filter(|envelope| envelope.kind == "concluded").count() as u64;
    let engine = match copied::<S>(debate, log) {
        Ok(engine) => engine,
        Err(why) => return vec![why],
    };
    let mut findings = Vec::new();
    findings.extend(verify(&engine, debate, concluded).err().map(|why| format!("whole: {why}")));
    findings.extend(prompt_agrees(&engine, log).err());
    match engine.redact(debate, Redact::All, "auditor").now_or_never() {
        Some(Ok(_)) => {
            findings.extend(verify(&engine, debate, concluded).err().map(|why| format!("redacted: {why}")));
        }
        Some(Err(error)) => findings.push(format!("cannot be redacted: {error}")),
        None => findings.push("the redaction waits".to_owned()),
    }
    findings
}

/// Checks that the prompt of one of the requests, another one in every world, is rendered again as it was sent (rule K2).
fn prompt_agrees(engine: &Engine, log: &[Envelope]) -> Result<(), String> {
    let requests = log.iter().enumerate().filter(|(_, event)| event.kind == CallStarted::KIND);
    let requests: Vec<usize> = requests.map(|(place, _)| place).collect();
    let Some(place) = requests.get(log.len() % requests.len().max(1)) else { return Ok(()) };
    let history: Vec<Arc<Envelope>> = log[..=*place].iter().cloned().map(Arc::new).collect();
    let prompt = engine.sent_prompt(&history).map_err(|error| error.to_string())?;
    match prompt.finding {
        Finding::Agrees | Finding::NothingSent => Ok(()),
        other => Err(format!("the prompt of event {}: {other} (K2)", place + 1)),
    }
}

/// Returns an engine on a copy of the log.
fn copied<S: Subject>(debate: DebateId, log: &[Envelope]) -> Result<Engine, String> {
    let store = Arc::new(MemoryStore::new());
    let mut expected = Seq::START;
    for page in log.chunks(debate_store::EVENTS_PER_APPEND_MAX) {
        let append = debate_store::Append::new(debate.into(), expected, page.to_vec());
        let appended = store.append(append).now_or_never().ok_or("the copy waits")?;
        appended.map_err(|error| error.to_string())?;
        expected = page.last().map_or(expected, |last| last.seq);
    }
    let model = Arc::new(ScriptedModel::in_order(Vec::<String>::new()));
    Ok(Engine::builder(store, model).format(S::prompts()).build())
}

/// Checks that a log verifies, and so many outcomes in it.
fn verify(engine: &Engine, debate: DebateId, outcomes: u64) -> Result<(), String> {
    let verified = engine.verify(debate).now_or_never().ok_or("the check waits")?;
    let verified = verified.map_err(|error| error.to_string())?;
    match verified.fault {
        Some(fault) => Err(format!("event {} does not verify: {}", fault.seq, fault.why)),
        None if verified.outcomes != outcomes => {
            Err(format!("{} of {outcomes} outcomes were verified", verified.outcomes))
        }
        None => Ok(()),
    }
}
