//! A debate's result on a page: what is not whole first, then the answer, then how it came about, then what it cost.

mod about;
mod deliberation;
mod investigation;
mod prediction;
mod resolution;
mod review;
mod roles;
mod rounds;
mod roundtable;

use debate_core::format::Format as _;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::roundtable::Roundtable;
use debate_core::prose::Texts;

pub(crate) use about::simulated;
pub(crate) use resolution::show as resolution;

use crate::failures::Failures;
use crate::page::Page;
use crate::terminal::Terminal;

/// Characters of a label in a list.
const LABEL_CHARS: usize = 12;

/// Returns what a debate concluded, in one cell of a list: the likeliest outcome, what a roundtable recommends, or the format.
pub(crate) fn answer(debate: &AnyDebate) -> String {
    match debate {
        AnyDebate::Prediction(debate) => prediction::likeliest(debate, LABEL_CHARS),
        AnyDebate::Roundtable(debate) => {
            Roundtable::outcome(debate, Texts::Withheld).decision.action.as_str().replace('_', " ")
        }
        AnyDebate::Deliberation(_) | AnyDebate::Review(_) | AnyDebate::Investigation(_) => {
            debate.format().to_owned()
        }
    }
}

/// Lays out a debate as it stands; `full` shows every text whole.
pub(crate) fn page(debate: &AnyDebate, failures: &Failures, terminal: Terminal, full: bool) -> String {
    let mut page = Page::new(terminal);
    about::warnings(&mut page, debate, failures);
    about::title(&mut page, debate);
    match debate {
        AnyDebate::Prediction(debate) => prediction::show(&mut page, debate, full),
        AnyDebate::Deliberation(debate) => deliberation::show(&mut page, debate, full),
        AnyDebate::Roundtable(debate) => roundtable::show(&mut page, debate, full),
        AnyDebate::Review(debate) => review::show(&mut page, debate, full),
        AnyDebate::Investigation(debate) => investigation::show(&mut page, debate, full),
    }
    about::end(&mut page, debate, failures);
    page.into_text()
}
