//! The prompts with which a debate begins, rendered as a debate renders them, without a model and a store.

use debate_core::call::Want;
use debate_core::debate::Debate;
use debate_core::event::Opened;
use debate_core::format::Format;
use debate_core::formats::accept::Accepted;
use debate_core::prose::Prose;
use debate_engine::Env;
use debate_prompts::prompts::{Prompt, Prompts};

/// One of the first prompts of a debate.
pub(crate) struct FirstPrompt<F: Format> {
    pub(crate) want: Want,
    pub(crate) visible: F::Visible,
    pub(crate) prompt: Prompt,
}

/// Returns the prompts of the calls that a request asks for first, in their order.
///
/// # Errors
/// A prompt cannot be rendered.
pub(crate) fn of<P: Prompts>(
    prompts: &P,
    accepted: Accepted<P::Format>,
) -> anyhow::Result<Vec<FirstPrompt<P::Format>>> {
    let env = Env::real();
    let now = env.now();
    let opened = Opened::<P::Format> {
        format: P::Format::NAME.to_owned(),
        debate: env.debate_id(),
        request_digest: accepted.digest,
        limits: accepted.limits,
        config: accepted.config,
        models: None,
        prose: Prose::new(accepted.brief),
    };
    let mut debate = Debate::opened(&opened, now);
    for event in opened.decide(now)?.iter().skip(1) {
        debate.apply(now, event)?;
    }
    let first = |want: Want| {
        let visible = P::Format::visible(&debate, &want);
        let prompt = prompts.render(&visible, &want, &[])?;
        Ok(FirstPrompt { want, visible, prompt })
    };
    debate.wanted_work().iter().map(|work| first(work.want().clone())).collect()
}
