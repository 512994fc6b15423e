//! A review debate as Markdown for a comment on a pull request. Text of people and models is shown as plain text,
//! without formatting, links and mentions (rule K13).

use std::fmt::Write as _;

use debate_core::counted::counted;
use debate_core::formats::review::fact::Winner;
use debate_core::formats::review::outcome::{JudgeFeedback, PairDebate, PairJudgement, ReviewResult};
use debate_core::markdown::{quiet, shown};
use debate_core::stop::Completeness;

/// The most characters that GitHub takes as one comment.
const CHARS_MAX: usize = 65_536;

/// Returns the comment, of at most [`CHARS_MAX`] characters: words of pairs are left out from the last on, and it says so.
pub(super) fn of(result: &ReviewResult) -> String {
    let details: Vec<String> = result.debates.iter().map(details).collect();
    let fits = |text: &String| text.chars().count() <= CHARS_MAX;
    let mut shorter = (0..=details.len()).rev().map(|kept| whole(result, &details[..kept]));
    shorter.find(fits).unwrap_or_else(|| {
        let shortest = whole(result, &[]);
        let cut: String = shortest.chars().take(CHARS_MAX).collect();
        // What stands on one line means nothing without its end.
        cut.rsplit_once('\n').map_or_else(String::new, |(lines, _)| format!("{lines}\n"))
    })
}

/// Returns the comment with the words of as many pairs as are given.
fn whole(result: &ReviewResult, details: &[String]) -> String {
    let mut text = String::from("## Review debate\n\n");
    if result.simulated {
        text.push_str(
            "> **Simulated:** a program made up every reply; this says nothing about the change.\n\n",
        );
    }
    if let Some(not_run) = &result.not_run {
        let _infallible = writeln!(text, "No debate ran: {}.\n", shown(&not_run.reason));
    }
    if let Completeness::Partial { why, .. } | Completeness::Void { why } = &result.completeness {
        // The comment gives the reason of a failed pair where it names the pair.
        let is_given = |why: &&String| result.failed_pairs.iter().any(|failed| failed.why == **why);
        let more = why.iter().filter(|why| !is_given(why)).map(|why| shown(why));
        let failed = result.failed_pairs.len();
        let failed = (failed > 0).then(|| format!("{} could not debate", counted(failed, "pair", "pairs")));
        let why: Vec<String> = failed.into_iter().chain(more).collect();
        let _infallible = writeln!(text, "> **Incomplete:** {}.\n", why.join("; "));
    }
    let left_out = result.debates.len() - details.len();
    if left_out > 0 {
        let _infallible = writeln!(
            text,
            "> **Cut:** the words of {} are left out, for a comment has at most {CHARS_MAX} characters; `debate show {}` has \
             all of them.\n",
            counted(left_out, "pair", "pairs"),
            result.debate_id,
        );
    }
    let judged: Vec<&PairDebate> =
        result.debates.iter().filter(|debated| debated.judgement.is_some()).collect();
    if !judged.is_empty() {
        text.push_str("| conflict | argued better | scores (of 10) |\n|---|---|---|\n");
        judged.iter().for_each(|debated| row(&mut text, debated));
        text.push('\n');
    }
    details.iter().for_each(|details| text.push_str(details));
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

/// Returns what a pair said and what the judge said of it.
fn details(debated: &PairDebate) -> String {
    let mut text = String::new();
    let said = [
        (&debated.role_a, &debated.role_a_argument),
        (&debated.role_b, &debated.role_b_argument),
        (&debated.role_a, &debated.role_a_rebuttal),
        (&debated.role_b, &debated.role_b_rebuttal),
    ];
    if said.iter().all(|(_, words)| words.is_none()) {
        return text;
    }
    let title = quiet(&debated.conflict_description);
    let _infallible = writeln!(text, "<details><summary>{title}</summary>\n");
    for (role, words) in said {
        let Some(words) = words else { continue };
        let _infallible = writeln!(text, "> **{}:** {}\n", shown(role.as_str()), shown(words));
    }
    if let Some(judgement) = &debated.judgement {
        // No line begins with words of a model: bots take one that begins with a slash for a command.
        let _infallible = writeln!(text, "**Judge:** {}\n", shown(&judgement.summary));
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
    text
}

#[cfg(test)]
mod tests {
    use debate_core::debate::Debate;
    use debate_core::event::Opened;
    use debate_core::format::Format as _;
    use debate_core::formats::accept::{AcceptedRequest, accept};
    use debate_core::formats::review::Review;
    use debate_core::formats::review::config::Skip;
    use debate_core::formats::review::outcome::{FailedPair, LoggedFeedback, NotRun};
    use debate_core::id::{DebateId, Timestamp};
    use debate_core::prose::{Prose, Texts};

    use super::*;

    #[test]
    fn k13_text_in_a_comment_has_no_format_links_or_mentions() {
        let hostile = "</details><script>x</script>\n# Hi @admin, see #12 and [x](https://e.org) | `a` **b** www.e.org \
                       &commat;b &num;3";
        let safe = shown(hostile);
        for active in
            ["<", "\n", "@admin", "#12", "](", "://", " | ", " `a`", " **b", "www.e", "&commat;", "&num;"]
        {
            assert!(!safe.contains(active), "{active:?} in {safe}");
        }
        let mut said = saying(hostile);
        let comment = of(&said);
        assert_eq!(comment.matches("admin").count(), 13, "{comment}");
        assert_eq!(comment.matches(&safe).count(), 12, "{comment}");
        // A reviewer may be called what would be a link, whichever of the two argued better.
        for winner in [Winner::RoleA, Winner::RoleB] {
            said.debates[0].judgement.as_mut().unwrap().winner = winner;
            let comment = of(&said);
            let count = (comment.matches(NAME).count(), comment.matches(&shown(NAME)).count());
            assert_eq!(count, (0, 9), "{winner:?}: {comment}");
        }
        // In a title, which is HTML, nothing is Markdown.
        assert_eq!(comment.matches(&quiet(hostile)).count(), 1, "{comment}");
        assert!(safe.contains("&lt;/details&gt;"));
        for sign in "\\`*_{}[]()!|~+-".chars() {
            assert_eq!(
                shown(&format!("a {sign}{sign}b{sign}{sign}")),
                format!("a \\{sign}\\{sign}b\\{sign}\\{sign}")
            );
        }
    }

    #[test]
    fn k13_words_in_a_comment_begin_no_line_and_set_no_mathematics() {
        for hostile in ["/approve", "1. Merge it", "    code", "> [!NOTE]", "$\\color{red}{x}$ and $$y$$"] {
            let comment = of(&saying(hostile));
            let name = shown(NAME);
            let reviewer = [format!("- {name} ("), format!("- {name} and {name} could not debate: ")];
            let is_ours = |line: &str| {
                let ours = [
                    "## Review debate",
                    "> **",
                    "| ",
                    "|---",
                    "<details><summary>",
                    "**Judge:** ",
                    "*Note: ",
                    "No debate ran: ",
                    "</details>",
                    "<sub>",
                ];
                ours.into_iter()
                    .chain(reviewer.iter().map(String::as_str))
                    .any(|start| line.starts_with(start))
            };
            for line in comment.lines() {
                assert!(line.is_empty() || is_ours(line), "{line:?} in {comment}");
            }
            assert!(!comment.replace("<span>$</span>", "").contains('$'), "{comment}");
        }
    }

    /// A name of a reviewer in which GitHub would find an address, a name of a commit, and words in italics.
    const NAME: &str = "www.e_0123abc_";

    /// Returns a result in which all that people and models say is one text, and every reviewer has that name.
    fn saying(text: &str) -> ReviewResult {
        let mut hostile = result(1, 10);
        let pair = &mut hostile.debates[0];
        pair.conflict_description = text.to_owned();
        (pair.role_a, pair.role_b) = (NAME.into(), NAME.into());
        let said = [
            &mut pair.role_a_argument,
            &mut pair.role_b_argument,
            &mut pair.role_a_rebuttal,
            &mut pair.role_b_rebuttal,
        ];
        said.into_iter().for_each(|said| *said = Some(text.to_owned()));
        let logged = LoggedFeedback {
            role: NAME.into(),
            argument_quality_score: 5.0,
            argument_labels: vec![text.to_owned()],
            policy_signal: format!("Look closer.\n{text}"),
        };
        pair.judgement = Some(PairJudgement {
            feedback: vec![JudgeFeedback { logged, winner: Winner::RoleA }],
            winner: Winner::RoleA,
            summary: text.to_owned(),
            note: Some(text.to_owned()),
            passes: Vec::new(),
            usage: Default::default(),
        });
        hostile.failed_pairs =
            vec![FailedPair { pair: 2, role_a: NAME.into(), role_b: NAME.into(), why: text.to_owned() }];
        hostile.not_run = Some(NotRun { why: Skip::NoPair, reason: text.to_owned() });
        hostile.completeness =
            Completeness::Partial { missing: Vec::new(), why: vec![format!("Late: {text}")] };
        hostile
    }

    /// Returns a result with so many pairs whose words are that long.
    fn result(pairs: u32, chars: usize) -> ReviewResult {
        let example = include_str!("../../../../../examples/review.json");
        let AcceptedRequest::Review(accepted) = accept(example).unwrap() else { panic!("a review") };
        let opened = Opened {
            format: Review::NAME.to_owned(),
            debate: DebateId(Default::default()),
            request_digest: accepted.digest,
            limits: accepted.limits,
            config: accepted.config,
            models: None,
            prose: Prose::new(accepted.brief),
        };
        let mut result = Review::outcome(&Debate::opened(&opened, Timestamp(0)), Texts::Shown);
        let mut debated = result.debates[0].clone();
        debated.role_a_argument = Some("word ".repeat(chars / 5));
        result.debates = (1..=pairs).map(|pair| PairDebate { pair, ..debated.clone() }).collect();
        result
    }

    #[test]
    fn k13_a_comment_is_as_long_as_may_be_and_says_what_it_leaves_out() {
        let short = of(&result(2, 1_000));
        assert!(!short.contains("**Cut:**") && short.matches("<details>").count() == 2);
        let long = of(&result(10, 20_000));
        assert!(long.chars().count() <= CHARS_MAX);
        assert!(long.contains("> **Cut:** the words of 7 pairs are left out"), "{}", &long[..400]);
        assert_eq!((long.matches("<details>").count(), long.matches("</details>").count()), (3, 3));
        assert!(long.trim_end().ends_with("</sub>"), "what follows the words is there");
        let mut endless = result(1, 10);
        endless.completeness = Completeness::Partial { missing: Vec::new(), why: vec!["x".repeat(70_000)] };
        let cut = of(&endless);
        assert!(
            cut.chars().count() <= CHARS_MAX && cut.ends_with('\n') && !cut.contains("xxx"),
            "whole lines"
        );
    }
}
