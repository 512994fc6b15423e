//! Whatever a model replies: what is read of it is taken by its debate, and what the debate then records is read again as it was
//! written. The first byte says which format debates. Every question gets the same reply, a few questions deep.

use debate_core::call::{Tokens, Work};
use debate_core::command::{BeginCall, Command, DecideError};
use debate_core::debate::Debate;
use debate_core::event::{AttemptRef, Event, Opened, PromptRef, ReplyFacts, ReplyProse};
use debate_core::format::Format;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept};
use debate_core::id::{DebateId, Digest, Timestamp};
use debate_core::prose::Prose;
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::{Prompts, Reading};
use debate_prompts::review::ReviewPrompts;
use debate_prompts::roundtable::RoundtablePrompts;

/// A request of each format.
const REQUESTS: [&str; 5] = [
    include_str!("../../examples/ice.json"),
    include_str!("../../examples/deliberation.json"),
    include_str!("../../examples/roundtable-expert-panel.json"),
    include_str!("../../examples/review.json"),
    include_str!("../seeds/request/investigation.json"),
];
/// How many questions are put one after the other.
const DEEP: usize = 4;
const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// Checks what holds for every reply.
pub(crate) fn check(data: &[u8]) {
    let Some((which, reply)) = data.split_first() else { return };
    let Ok(reply) = std::str::from_utf8(reply) else { return };
    match accept(REQUESTS[usize::from(*which) % REQUESTS.len()]).expect("the examples are valid") {
        AcceptedRequest::Prediction(accepted) => answered(&PredictionPrompts, *accepted, reply),
        AcceptedRequest::Deliberation(accepted) => answered(&DeliberationPrompts, *accepted, reply),
        AcceptedRequest::Roundtable(accepted) => answered(&RoundtablePrompts, *accepted, reply),
        AcceptedRequest::Review(accepted) => answered(&ReviewPrompts, *accepted, reply),
        AcceptedRequest::Investigation(accepted) => answered(&InvestigationPrompts, *accepted, reply),
    }
}

fn answered<P: Prompts>(prompts: &P, accepted: Accepted<P::Format>, reply: &str) {
    let opened = Opened {
        format: P::Format::NAME.to_owned(),
        debate: DebateId("00000000-0000-4000-8000-000000000000".parse().expect("it is a UUID")),
        request_digest: accepted.digest,
        limits: accepted.limits,
        config: accepted.config,
        models: None,
        prose: Prose::new(accepted.brief),
    };
    let mut debate = Debate::opened(&opened, NOW);
    let first = opened.decide(NOW).expect("an accepted request opens a debate");
    take(&mut debate, &first[1..]);
    for _ in 0..DEEP {
        let Some(work) = debate.wanted_work().into_iter().next() else { return };
        let Work::Turn { want, turn } = &work else { return };
        let visible = P::Format::visible(&debate, want);
        let Ok(Reading::Answer { answer, .. }) =
            prompts.parse(&visible, want, debate_prompts::prompts::Received::whole(reply))
        else {
            return;
        };
        let attempt =
            AttemptRef { call: want.call.clone(), revision: want.revision, attempt: 1, turn: *turn };
        let prose = ReplyProse { text: reply.to_owned(), ..ReplyProse::default() };
        let finish = Command::FinishCall { attempt, reply: ReplyFacts::default(), prose, answer };
        for command in [begin(work), finish] {
            match debate.decide(NOW, command) {
                Ok(events) => take(&mut debate, &events),
                Err(DecideError::Defect(why)) => panic!("{why}"),
                Err(_refused) => return,
            }
        }
    }
}

fn begin<F: Format>(work: Work) -> Command<F> {
    let prompt = PromptRef {
        version: "fuzz@1".to_owned(),
        digest: Digest::default(),
        tokens: 10,
        ..PromptRef::default()
    };
    let reserved = Tokens { input: 10, output: 10 }.into();
    Command::BeginCall(BeginCall {
        work,
        hedge: None,
        model: "fuzz".to_owned(),
        prompt,
        reserved,
        thinking: debate_core::call::Thinking::default(),
    })
}

/// Takes events over as they are read from a store.
fn take<F: Format>(debate: &mut Debate<F>, events: &[Event<F>]) {
    for event in events {
        let prose = event.prose();
        let stored = Event::<F>::decode(event.kind(), event.version(), &event.body(), prose.as_deref());
        let stored = stored.expect("the kind is known").expect("what was written has its shape");
        assert_eq!(&stored, event);
        debate.apply(NOW, &stored).expect("decided events apply");
    }
}
