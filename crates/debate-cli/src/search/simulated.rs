//! Results that a program makes up, and that say so.

use debate_llm::http::search::{SearchAnswer, SearchQuestion, SearchResult};

/// What stands before every list of made-up results.
pub(super) const NOTICE: &str =
    "(simulated) Nobody searched: a program makes up these results, and none of these sources exists.";

/// Makes up what a search finds; it follows from the question alone.
pub(super) fn answer(question: &SearchQuestion<'_>) -> SearchAnswer {
    let words = question.query.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
    let slug = words.take(4).map(str::to_lowercase).collect::<Vec<_>>().join("-");
    let page = |kind: &str, says: &str| SearchResult {
        title: format!("(simulated) A {kind} on “{}”", question.query),
        url: format!("simulated://{}/{kind}/{slug}", question.tool),
        snippet: format!("(simulated) {says}"),
        published: None,
    };
    SearchAnswer {
        results: vec![
            page("report", "Those who tried it gained at first; what it cost showed after a year."),
            page("survey", "Those who were asked were divided, and few had figures."),
        ],
        verdict: None,
    }
}
