//! What a consensus text leaves unresolved, found line by line (D7).

/// Words that open the section of disagreements.
const OPENS: [&str; 2] = ["unresolved", "disagreement"];

/// Words that name the sections after it.
const ENDS: [&str; 2] = ["recommendation", "caution"];

/// Returns the bullets of a consensus text's section of disagreements, without their dash, in order (D7).
///
/// The legacy algorithm, letter case aside, with what it leaves open decided thus:
///
/// - The section opens at the first line, of any shape, with `unresolved` or `disagreement` in it. That line is its
///   heading and is not taken, even if it is a bullet.
/// - Inside, every bullet (`-` first on its line, however far indented) is taken, whatever its words: a bullet about
///   the recommendation is a disagreement about it. A bullet without text, such as a rule `---`, is none.
/// - It ends for good at the first line that is no bullet and has `recommendation` or `caution` in it. Where a line
///   has words of both kinds the first one names it, since the prompt's own third heading is "Final recommendation
///   (practical approach considering disagreements)".
#[must_use]
pub fn disagreements(consensus: &str) -> Vec<&str> {
    let mut lines = consensus.lines().map(str::trim);
    if !lines.any(|line| names(line) == Some(Section::Disagreements)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in lines {
        match line.strip_prefix('-') {
            Some(bullet) if bullet.chars().all(|c| c == '-' || c.is_whitespace()) => {}
            Some(bullet) => found.push(bullet.trim_start()),
            None if names(line) == Some(Section::Later) => break,
            None => {}
        }
    }
    found
}

#[derive(PartialEq)]
enum Section {
    Disagreements,
    Later,
}

/// Returns the section that a line's first telling word names.
fn names(line: &str) -> Option<Section> {
    let line = line.to_lowercase();
    let first = |words: [&str; 2]| words.iter().filter_map(|word| line.find(word)).min();
    match (first(OPENS), first(ENDS)) {
        (Some(opens), Some(ends)) if ends < opens => Some(Section::Later),
        (Some(_), _) => Some(Section::Disagreements),
        (None, Some(_)) => Some(Section::Later),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD: &str = "\
1. Points of agreement (what all experts agreed on)
- Backups are needed
2. Unresolved disagreements (where opinions still differ and each position)
- Timing: Ada says now, Bo says next year
- Cost: Ada accepts it, Bo does not
3. Final recommendation (practical approach considering disagreements)
- Start with a pilot
4. Cautions (risks raised in rebuttals that must be considered)
- An unresolved outage may hide
- Budget
";

    fn check(consensus: &str, expected: &[&str]) {
        assert_eq!(disagreements(consensus), expected, "{consensus}");
    }

    #[test]
    fn d7_the_standard_form_gives_its_second_section() {
        check(STANDARD, &["Timing: Ada says now, Bo says next year", "Cost: Ada accepts it, Bo does not"]);
        let shouted = STANDARD.to_uppercase().replace('\n', "\r\n");
        check(&shouted, &["TIMING: ADA SAYS NOW, BO SAYS NEXT YEAR", "COST: ADA ACCEPTS IT, BO DOES NOT"]);
    }

    #[test]
    fn d7_a_missing_section_gives_nothing() {
        check("", &[]);
        check("1. Points of agreement\n- All of it", &[]);
        check("3. Final recommendation (considering disagreements)\n- Go\n4. Cautions\n- Budget", &[]);
    }

    #[test]
    fn d7_headings_of_any_shape_open_and_are_not_taken() {
        for heading in [
            "## Key Disagreements",
            "**UNRESOLVED**",
            "- Unresolved points:",
            "Disagreement on the recommendation",
        ] {
            check(
                &format!("- before\n{heading}\n- one\n  -two\ntext\n* star\n\n- three"),
                &["one", "two", "three"],
            );
        }
    }

    #[test]
    fn d7_a_bullet_inside_is_taken_whatever_its_words() {
        check(
            "Unresolved\n- Bo rejects the recommendation\n- a disagreement of principle\n-\n---\n- caution or speed\n\
             Recommendation\n- none",
            &["Bo rejects the recommendation", "a disagreement of principle", "caution or speed"],
        );
    }
}
