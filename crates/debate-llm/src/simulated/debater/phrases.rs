//! The sentences of which arguments are made. Slots stand in braces, one letter each; see [`Slots`].

use super::stance::Stance;

/// What every simulated text of a prediction debate begins with.
pub(super) const MARK: &str = "[simulated]";

/// What the slots of a pattern stand for.
#[derive(Debug, Default, Clone)]
pub(super) struct Slots<'a> {
    /// `o`: the outcome that is spoken for.
    pub(super) outcome: &'a str,
    /// `r`: the outcome that is spoken against.
    pub(super) rival: &'a str,
    /// `p`: the probability of `o`, in percent.
    pub(super) percent: &'a str,
    /// `x`: the probability of `r`, in percent.
    pub(super) rival_percent: &'a str,
    /// `b`: what was thought of `o` before the debate, in percent.
    pub(super) base_percent: &'a str,
    /// `w`: what the role itself gave `o` before, in percent.
    pub(super) before_percent: &'a str,
    /// `f`: a fact.
    pub(super) fact: &'a str,
    /// `s`: another role.
    pub(super) speaker: &'a str,
    /// `i`: the id of a point.
    pub(super) id: &'a str,
    /// `q`: words of a point.
    pub(super) quote: &'a str,
    /// `t`: the question.
    pub(super) topic: &'a str,
}

/// Writes a pattern with its slots filled.
pub(super) fn fill(pattern: &str, slots: &Slots<'_>, out: &mut String) {
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (slot, after) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(match slot {
            "o" => slots.outcome,
            "r" => slots.rival,
            "p" => slots.percent,
            "x" => slots.rival_percent,
            "b" => slots.base_percent,
            "w" => slots.before_percent,
            "f" => slots.fact,
            "s" => slots.speaker,
            "i" => slots.id,
            "q" => slots.quote,
            _ => slots.topic,
        });
        rest = after;
    }
    out.push_str(rest);
}

/// Returns the openings of a role that speaks for the outcome to which it leans.
pub(super) fn claims(stance: Stance) -> [&'static str; 3] {
    match stance {
        Stance::Hopeful => [
            "Asked “{t}”, I argue for {o} and put it at {p} %.",
            "The case for {o} is better than it looks at first: I put it at {p} %.",
            "There is more room for {o} here than caution suggests, and I give it {p} %.",
        ],
        Stance::Wary => [
            "Asked “{t}”, I see the weight of risk on the side of {o}: {p} %.",
            "What can go wrong here mostly leads to {o}, which I put at {p} %.",
            "I plan for the bad case first, and the bad case is {o}, at {p} %.",
        ],
        Stance::Against => [
            "The easy reading of “{t}” is {r}; I argue for {o}, at {p} %.",
            "The lean to {r} rests on an assumption that nobody has tested, so I give {o} {p} %.",
            "If all look at {r}, then {o} is underpriced: I put it at {p} %.",
        ],
        Stance::BaseRate => [
            "Base rates first: for questions such as “{t}” they leave {o} at {p} %.",
            "Before anything about this case I ask how often such cases end in {o}; my answer is {p} %.",
            "History rarely surprises on this kind of question, and it points to {o}, at {p} %.",
        ],
        Stance::Balanced => [
            "On “{t}” the material as a whole favours {o}, at {p} %.",
            "Weighing what is known and leaving aside who says it, {o} stands at {p} %.",
            "Both sides have real evidence; on balance I hold {o} at {p} %.",
        ],
        Stance::Own(_) => [
            "From where I stand “{t}” comes down to {o}, which I put at {p} %.",
            "My reading of the material favours {o}, at {p} %.",
            "I speak for {o}, and I put it at {p} %.",
        ],
    }
}

/// Claims of a role that has spoken before and has moved, and of one that has not.
pub(super) const MOVED_CLAIMS: [&str; 3] = [
    "Having read the others I put {o} at {p} %, after {w} % before.",
    "The last round takes me from {w} % to {p} % on {o}.",
    "I correct my figure for {o} from {w} % to {p} %.",
];
pub(super) const HELD_CLAIMS: [&str; 4] = [
    "I stay with {o}, at {p} %.",
    "My case for {o} stands, at {p} %.",
    "Nothing said so far takes me away from {p} % for {o}.",
    "After another round {o} still has {p} % from me.",
];

/// The claim where there is room for no other.
pub(super) const SHORTEST_CLAIM: &str = "{o}: {p} %.";

/// Openings of a role whose own outcome is out of reach; `r` is that outcome.
pub(super) const CONCEDED_CLAIMS: [&str; 3] = [
    "I would rather argue for {r}, but the material leaves it at {x} %; {o} stands at {p} %.",
    "My leaning is to {r}, and I raise it to {x} %, yet honesty demands {o}, at {p} %.",
    "Even read in the light that suits me, {o} leads with {p} % against {x} % for {r}.",
];

/// Sentences about a fact that speaks for the outcome, or for nothing in particular.
pub(super) fn facts_for(stance: Stance) -> [&'static str; 5] {
    let own = match stance {
        Stance::Hopeful => "{f} shows momentum, and momentum is what {o} needs.",
        Stance::Wary => "{f} is the weak spot: whoever doubts {o} has to explain it away.",
        Stance::Against => "Hardly anyone weighs {f}, although it bears directly on {o}.",
        Stance::BaseRate => "Set against earlier cases, {f} is ordinary rather than new.",
        Stance::Balanced => "{f} is evidence that either side must accept.",
        Stance::Own(_) => "{f} is what I look at first.",
    };
    [
        own,
        "I rest this on {f}, because it is concrete and would be hard to undo in time.",
        "{f} supports this: it shifts odds rather than moods.",
        "If {f} holds, then {o} needs no further surprise.",
        "Consider {f}; it fits {o} better than {r}.",
    ]
}

/// Sentences about a fact that speaks against the outcome.
pub(super) const FACTS_AGAINST: [&str; 4] = [
    "{f} cuts the other way, yet it tells of pressure and not of a decision.",
    "Against me stands {f}; I discount it, because it was known when the odds were set.",
    "{f} is the strongest objection, and it is why I stop at {p} %.",
    "Whoever prefers {r} will point to {f}; I count it, but for less than the rest.",
];

/// Sentences about what is not known.
pub(super) const GAPS: [&str; 3] = [
    "What is missing counts too: {f}.",
    "One gap keeps me from more: {f}.",
    "I hold my confidence down, because the data leave this open: {f}.",
];

/// Sentences about the prior, where the probability moved up, down and hardly.
pub(super) const PRIOR_UP: [&str; 3] = [
    "The prior gives {o} {b} %; the facts above justify going to {p} %.",
    "I start from {b} % and move up to {p} %, since the prior cannot have known all of this.",
    "At {b} % the prior is too low for {o}.",
];
pub(super) const PRIOR_DOWN: [&str; 3] = [
    "The prior gives {o} {b} %; I go down to {p} %, because it overlooks how much still has to happen.",
    "I start from {b} % for {o} and take some of it back, down to {p} %.",
    "At {b} % the prior is too sure of {o}.",
];
pub(super) const PRIOR_SAME: [&str; 3] = [
    "The prior of {b} % for {o} is about right, and I see no reason to leave it.",
    "I stay near the prior of {b} %: nothing here is strong enough to leave it.",
    "My {p} % is close to the prior of {b} % for {o}, and on purpose.",
];

/// Sentences where the material has no fact to rest on.
pub(super) const NO_FACTS: [&str; 3] = [
    "The brief holds no findings on “{t}”, so I reason from how such questions usually end.",
    "Without data on “{t}” the wording of the question has to carry the forecast.",
    "Nothing in the material settles “{t}”; therefore I stay close to what the odds already say.",
];

/// Sentences that rebut a point with a fact.
pub(super) const REBUTTALS_WITH_FACT: [&str; 3] = [
    "In {i} the {s} claims “{q}”; {f} speaks against it.",
    "“{q}”, says the {s} ({i}), but that leaves out {f}.",
    "The {s} rests {i} on “{q}”; however, {f} weighs more.",
];

/// Sentences that rebut a point by its logic.
pub(super) const REBUTTALS: [&str; 4] = [
    "“{q}” ({i}) proves less than the {s} believes: it would be just as true if {o} came about.",
    "In {i} the {s} holds that “{q}”; that is a statement of direction, not of size.",
    "The {s} says “{q}” in {i}, but gives no reason why it should count twice.",
    "Take “{q}” from {i}: it explains the past of this question and not its end.",
];

/// Sentences that give way to a point.
pub(super) const CONCESSIONS: [&str; 4] = [
    "The {s} is right in {i} that “{q}”, and it moves me on {o} from {w} % to {p} %.",
    "I concede “{q}” ({i}); hence {o} goes from {w} % to {p} %.",
    "After “{q}” in {i} I can no longer defend {w} % for {o}; I now say {p} %.",
    "“{q}” ({i}) is the best point so far, so I move {o} from {w} % to {p} %.",
];

/// Sentences that take note of a point and stay.
pub(super) const HOLDS: [&str; 4] = [
    "“{q}” ({i}) is fair, but {o} stays at {p} %: it was already in my figure.",
    "I have weighed “{q}” ({i}) and keep {o} at {p} %.",
    "The {s} adds “{q}” in {i}; it refines the picture without moving {o} from {p} %.",
    "Granted “{q}” ({i}), the distance between {o} and {r} remains.",
];

/// Last sentences of an opening and of a rebuttal.
pub(super) const DOUBTS: [&str; 5] = [
    "I would change my mind if a new fact spoke for {r}, which I still give {x} %.",
    "The main risk to this view is {r}, at {x} %.",
    "Unless something not listed here decides it, {o} is the better bet.",
    "Therefore {o} leads, although {r} keeps {x} %.",
    "That leaves {x} % for {r}, and I mean it.",
];

/// Last sentences of a closing.
pub(super) const CLOSINGS: [&str; 4] = [
    "I close on {o} at {p} %, with {x} % left for {r}.",
    "My final figure for {o} is {p} %; whoever says more must show a fact that is not yet on the table.",
    "So I end at {p} % for {o}, because the points against it rest on hope more than on evidence.",
    "At the end of the debate {o} keeps {p} %, since no point gave {r} more than {x} %.",
];

/// Arguments that say nothing: no fact, no number, no step from one to the other (P6).
pub(super) const EMPTY: [&str; 4] = [
    "It just feels right to me.",
    "Everybody knows how this ends.",
    "I simply believe so.",
    "This is obvious and needs no words.",
];

/// What made-up precedents are said to be.
pub(super) const PRECEDENTS: [(&str, &str); 5] = [
    ("a comparable case with a fixed deadline", "the deadline weighed more than the news"),
    ("an earlier question of the same kind", "the same actors under the same limits"),
    ("a case with similar odds a few weeks before its end", "odds like these seldom turned so late"),
    ("a case in which first reports pointed the other way", "first reports faded before the decision"),
    ("a case with as many open conditions", "each open condition took some of the odds"),
];
