//! A review debate as Markdown for a comment on a pull request. Words of people and models are shown as plain text: they
//! format nothing, link nothing and call nobody (rule K13).

use std::fmt::Write as _;

use debate_core::counted::counted;
use debate_core::formats::review::fact::Winner;
use debate_core::formats::review::outcome::{JudgeFeedback, PairDebate, PairJudgement, ReviewResult};
use debate_core::stop::Completeness;

use crate::plain::one_line;

/// Returns the comment.
pub(super) fn of(result: &ReviewResult) -> String {
    let mut text = String::from("## Review debate\n\n");
    if result.simulated {
        text.push_str(
            "> **Simulated:** a program made up every reply; this says nothing about the change.\n\n",
        );
    }
    if let Some(not_run) = &result.not_run {
        let _infallible = writeln!(text, "Nobody debated: {}.\n", shown(&not_run.reason));
    }
    if let Completeness::Partial { why, .. } | Completeness::Void { why } = &result.completeness {
        // Why a pair failed is told where it is named.
        let is_told = |why: &&String| result.failed_pairs.iter().any(|failed| failed.why == **why);
        let more = why.iter().filter(|why| !is_told(why)).map(|why| shown(why));
        let failed = result.failed_pairs.len();
        let failed = (failed > 0).then(|| format!("{} could not debate", counted(failed, "pair", "pairs")));
        let why: Vec<String> = failed.into_iter().chain(more).collect();
        let _infallible = writeln!(text, "> **Incomplete:** {}.\n", why.join("; "));
    }
    let judged: Vec<&PairDebate> =
        result.debates.iter().filter(|debated| debated.judgement.is_some()).collect();
    if !judged.is_empty() {
        text.push_str("| conflict | argued better | scores (of 10) |\n|---|---|---|\n");
        judged.iter().for_each(|debated| row(&mut text, debated));
        text.push('\n');
    }
    result.debates.iter().for_each(|debated| details(&mut text, debated));
    for failed in &result.failed_pairs {
        let (a, b) = (shown(failed.role_a.as_str()), shown(failed.role_b.as_str()));
        let _infallible = writeln!(text, "- {a} and {b} could not debate: {}\n", shown(&failed.why));
    }
    let _infallible = writeln!(
        text,
        "<sub>{}, {} debated to a judgement. The judge rates arguments, not the change; operations of the reviewers are \
         merged as they were. {} tokens in, {} out; debate {}.</sub>",
        counted(result.conflict_count, "conflict", "conflicts"),
        judged.len(),
        result.debate_log.as_ref().map_or(0, |log| log.cost.input_tokens),
        result.debate_log.as_ref().map_or(0, |log| log.cost.output_tokens),
        result.debate_id,
    );
    text
}

fn row(text: &mut String, debated: &PairDebate) {
    let Some(judgement) = &debated.judgement else { return };
    let score = |feedback: &JudgeFeedback| {
        format!("{} {:.1}", shown(feedback.logged.role.as_str()), feedback.logged.argument_quality_score)
    };
    let scores: Vec<String> = judgement.feedback.iter().map(score).collect();
    let _infallible = writeln!(
        text,
        "| {} | {} | {} |",
        shown(&debated.conflict_description),
        winner(debated, judgement),
        scores.join(", ")
    );
}

fn winner(debated: &PairDebate, judgement: &PairJudgement) -> String {
    match judgement.winner {
        Winner::RoleA => format!("**{}**", shown(debated.role_a.as_str())),
        Winner::RoleB => format!("**{}**", shown(debated.role_b.as_str())),
        Winner::Tie => "neither".to_owned(),
    }
}

fn details(text: &mut String, debated: &PairDebate) {
    let said = [
        (&debated.role_a, &debated.role_a_argument),
        (&debated.role_b, &debated.role_b_argument),
        (&debated.role_a, &debated.role_a_rebuttal),
        (&debated.role_b, &debated.role_b_rebuttal),
    ];
    if said.iter().all(|(_, words)| words.is_none()) {
        return;
    }
    let title = quiet(&debated.conflict_description);
    let _infallible = writeln!(text, "<details><summary>{title}</summary>\n");
    for (role, words) in said {
        let Some(words) = words else { continue };
        let _infallible = writeln!(text, "> **{}:** {}\n", shown(role.as_str()), shown(words));
    }
    if let Some(judgement) = &debated.judgement {
        let _infallible = writeln!(text, "{}\n", shown(&judgement.summary));
        if let Some(note) = &judgement.note {
            let _infallible = writeln!(text, "*Note: {}.*\n", shown(note));
        }
        for feedback in &judgement.feedback {
            let logged = &feedback.logged;
            let labels = shown(&logged.argument_labels.join(", "));
            let signal = shown(&logged.policy_signal);
            let _infallible = writeln!(text, "- {} ({labels}): {signal}", shown(logged.role.as_str()));
        }
        text.push('\n');
    }
    text.push_str("</details>\n\n");
}

/// Returns a text as Markdown that shows it and does nothing else, on one line.
fn shown(text: &str) -> String {
    let quiet = quiet(text);
    let mut safe = String::with_capacity(quiet.len() + quiet.len() / 8);
    for c in quiet.chars() {
        if "\\`*_{}[]()!|~+-".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// Returns a text as HTML that calls and links nobody, on one line; Markdown within it is as it was.
fn quiet(text: &str) -> String {
    let text = one_line(text);
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // An invisible space keeps a name from being called, a number and an address from being linked.
            '@' | '#' | ':' => {
                safe.push(c);
                safe.push('\u{200b}');
            }
            c => safe.push(c),
        }
    }
    safe.replace("www.", "www\u{200b}.")
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn k13_words_in_a_comment_format_nothing_and_call_nobody() {
        let hostile =
            "</details><script>x</script>\n# Hi @admin, see #12 and [x](https://e.org) | `a` **b** www.e.org";
        let safe = shown(hostile);
        for active in ["<", "\n", "@admin", "#12", "](", "://", " | ", " `a`", " **b", "www.e"] {
            assert!(!safe.contains(active), "{active:?} in {safe}");
        }
        assert!(safe.contains("&lt;/details&gt;"));
    }
}
