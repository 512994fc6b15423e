//! Where a role leans, and the forecast that this makes of what its prompt shows.

use super::sheet::{Point, Sheet};
use super::tone;
use crate::simulated::Draw;

/// The smallest probability that a forecast starts from.
const SHARE_MIN: f64 = 0.005;

/// A role whose own outcome is so much less likely than the likeliest speaks for the likeliest instead.
const PLAUSIBLE: f64 = 0.35;

/// Where a role leans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// To the outcome that reads best.
    Hopeful,
    /// To the outcome that reads worst.
    Wary,
    /// Away from what most hold.
    Against,
    /// To the base rate.
    BaseRate,
    /// To the middle of all that was said.
    Balanced,
    /// To an outcome of its own; the number picks it.
    Own(usize),
}

impl Stance {
    /// Returns where a role leans: of the five known ones by name, of others by what their system message says.
    pub(super) fn of(role: &str, system: &str) -> Self {
        match role {
            "optimist" => return Self::Hopeful,
            "pessimist" => return Self::Wary,
            "contrarian" => return Self::Against,
            "historian" => return Self::BaseRate,
            "judge" => return Self::Balanced,
            _ => {}
        }
        let leaning = system.split_once("Leaning: ").map_or(system, |(_, leaning)| leaning);
        let leaning = leaning.lines().next().unwrap_or_default().to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| leaning.contains(word));
        if says(&["against", "contrar", "challenge", "devil"]) {
            Self::Against
        } else if says(&["base rate", "histor", "precedent", "frequenc"]) {
            Self::BaseRate
        } else if says(&["balanc", "synthes", "neutral", "impartial"]) {
            Self::Balanced
        } else if says(&["risk", "negativ", "downside", "caution", "worst"]) || tone::of(&leaning) < 0 {
            Self::Wary
        } else if says(&["positiv", "upside", "opportunit", "optimis"]) || tone::of(&leaning) > 0 {
            Self::Hopeful
        } else {
            Self::Own(role.bytes().fold(7, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(byte.into())))
        }
    }
}

/// What a role thinks when it has read its prompt; places are of outcomes and points in the sheet.
#[derive(Debug)]
pub(super) struct View {
    /// A probability for each outcome.
    pub(super) probabilities: Vec<f64>,
    /// What the role said before, if it has spoken.
    pub(super) before: Option<Vec<f64>>,
    /// What was thought before the debate.
    pub(super) base: Vec<f64>,
    /// The outcome that the role would like to speak for.
    pub(super) target: usize,
    /// The outcome that it speaks for.
    pub(super) supports: usize,
    /// The outcome that it speaks against.
    pub(super) rival: usize,
    /// The outcome that reads best.
    pub(super) best: usize,
    /// The outcome that reads worst.
    pub(super) worst: usize,
    /// The other roles' latest points.
    pub(super) others: Vec<usize>,
    /// The strongest of them.
    pub(super) strongest: Option<usize>,
}

impl View {
    /// Makes up the forecast of a role. The sheet has at least one outcome.
    pub(super) fn of(sheet: &Sheet<'_>, stance: Stance, draw: &mut Draw) -> Self {
        let count = sheet.outcomes.len().max(1);
        let base = base(sheet, count);
        let (best, worst) = extremes(sheet);
        let others = latest_of_others(sheet);
        let strongest = others
            .iter()
            .copied()
            .max_by(|a, b| sheet.points[*a].strength.total_cmp(&sheet.points[*b].strength).then(b.cmp(a)));
        let favoured = majority(sheet, &others, &base).unwrap_or(best);
        let target = match stance {
            Stance::Hopeful => best,
            Stance::Wary => worst,
            Stance::Against => likeliest(&base, Some(favoured)),
            Stance::Own(number) => number % count,
            Stance::BaseRate | Stance::Balanced => likeliest(&base, None),
        };
        let own = sheet.points.iter().find(|point| point.role == sheet.task.role && !point.shown.is_empty());
        let before = own.map(|point| spread(point, &base));
        let mut probabilities =
            before.clone().unwrap_or_else(|| opening(sheet, stance, &base, (target, worst), draw));
        if !others.is_empty() {
            listen(&mut probabilities, sheet, stance, (&others, strongest), &base, draw);
            if stance == Stance::Against && before.is_some() {
                tilt(&mut probabilities, target, draw.between(0.0, 0.15));
            }
        }
        for share in &mut probabilities {
            *share *= libm::exp(draw.between(-0.06, 0.06));
        }
        normalise(&mut probabilities);
        let top = likeliest(&probabilities, None);
        let is_plausible = probabilities[target] >= PLAUSIBLE * probabilities[top];
        let supports = match stance {
            Stance::BaseRate | Stance::Balanced => top,
            Stance::Hopeful | Stance::Wary | Stance::Against | Stance::Own(_) => {
                if is_plausible {
                    target
                } else {
                    top
                }
            }
        };
        let target = match stance {
            Stance::BaseRate | Stance::Balanced => supports,
            Stance::Hopeful | Stance::Wary | Stance::Against | Stance::Own(_) => target,
        };
        let rival = likeliest(&probabilities, Some(supports));
        Self { probabilities, before, base, target, supports, rival, best, worst, others, strongest }
    }

    /// Returns how sure the role is, in [0.3, 0.92].
    pub(super) fn confidence(&self, facts: usize, draw: &mut Draw) -> f64 {
        let top = self.probabilities[likeliest(&self.probabilities, None)];
        let sure = 0.4 + 0.3 * top + 0.03 * facts.min(4) as f64 + draw.between(-0.06, 0.06);
        (sure.clamp(0.3, 0.92) * 100.0).round() / 100.0
    }
}

/// Returns the place of the largest share, `without` left aside where there are others; the first among equals.
pub(super) fn likeliest(shares: &[f64], without: Option<usize>) -> usize {
    let mut best: Option<usize> = None;
    for place in (0..shares.len()).filter(|place| Some(*place) != without) {
        if best.is_none_or(|best| shares[place] > shares[best]) {
            best = Some(place);
        }
    }
    best.unwrap_or(0)
}

/// Returns what a point's tag says of every outcome; those it does not show share the rest as `base` does.
pub(super) fn spread(point: &Point<'_>, base: &[f64]) -> Vec<f64> {
    let mut shares = vec![f64::NAN; base.len()];
    for &(place, share) in point.shown.iter().filter(|(place, _)| *place < base.len()) {
        shares[place] = share.clamp(0.0, 1.0);
    }
    let is_hidden = |share: &f64| share.is_nan();
    let rest = 1.0 - shares.iter().filter(|share| !is_hidden(share)).sum::<f64>();
    let hidden: f64 =
        shares.iter().zip(base).filter(|(share, _)| is_hidden(share)).map(|(_, base)| base).sum();
    for (share, base) in shares.iter_mut().zip(base).filter(|(share, _)| share.is_nan()) {
        *share = rest.max(0.0) * base / hidden.max(f64::MIN_POSITIVE);
    }
    normalise(&mut shares);
    shares
}

/// Brings shares to a sum of 1, none of them below [`SHARE_MIN`] before that.
pub(super) fn normalise(shares: &mut [f64]) {
    for share in &mut *shares {
        *share = if share.is_finite() { share.max(SHARE_MIN) } else { SHARE_MIN };
    }
    let sum: f64 = shares.iter().sum();
    for share in shares {
        *share /= sum;
    }
}

/// Returns probabilities as replies state them: whole hundredths, of many outcomes thousandths, that sum to 1.
pub(super) fn stated(shares: &[f64]) -> Vec<f64> {
    let steps: u32 = if shares.len() > 20 { 1_000 } else { 100 };
    let mut units: Vec<u32> = shares.iter().map(|share| ((share * f64::from(steps)) as u32).max(1)).collect();
    let sum: u32 = units.iter().sum();
    let top = likeliest(shares, None);
    units[top] = (units[top] + steps).saturating_sub(sum).max(1);
    units.into_iter().map(|units| f64::from(units) / f64::from(steps)).collect()
}

fn base(sheet: &Sheet<'_>, count: usize) -> Vec<f64> {
    let priors = sheet.outcomes.iter().map(|outcome| outcome.prior.unwrap_or(0.0));
    let mut base: Vec<f64> = priors.collect();
    if base.iter().sum::<f64>() <= 0.0 {
        base = vec![1.0; count];
    }
    normalise(&mut base);
    base
}

/// Returns the outcomes that read best and worst: by their words, else the first and the last.
fn extremes(sheet: &Sheet<'_>) -> (usize, usize) {
    let (mut best, mut worst) = ((0, i32::MIN), (0, i32::MAX));
    for (place, outcome) in sheet.outcomes.iter().enumerate() {
        let tone = tone::of(&outcome.label);
        if tone > best.1 {
            best = (place, tone);
        }
        if tone <= worst.1 {
            worst = (place, tone);
        }
    }
    (best.0, worst.0)
}

/// Returns the places of the other roles' latest points.
fn latest_of_others(sheet: &Sheet<'_>) -> Vec<usize> {
    let mut latest: Vec<usize> = Vec::new();
    for (place, point) in sheet.points.iter().enumerate().filter(|(_, point)| point.role != sheet.task.role) {
        match latest.iter_mut().find(|known| sheet.points[**known].role == point.role) {
            Some(known) if sheet.points[*known].round < point.round => *known = place,
            Some(_) => {}
            None => latest.push(place),
        }
    }
    latest
}

/// Returns the outcome that most of the points speak for, else the one with the highest prior; none without either.
fn majority(sheet: &Sheet<'_>, points: &[usize], base: &[f64]) -> Option<usize> {
    let mut votes = vec![0.0; base.len()];
    for &place in points {
        votes[sheet.points[place].supports.min(base.len() - 1)] += 1.0;
    }
    let has_priors = sheet.outcomes.iter().any(|outcome| outcome.prior.is_some());
    for (vote, base) in votes.iter_mut().zip(base) {
        *vote += if has_priors { base * 0.5 } else { 0.0 };
    }
    (!points.is_empty() || has_priors).then(|| likeliest(&votes, None))
}

/// Makes up what a role says before it has heard anybody.
fn opening(
    sheet: &Sheet<'_>,
    stance: Stance,
    base: &[f64],
    (target, worst): (usize, usize),
    draw: &mut Draw,
) -> Vec<f64> {
    let mut shares = base.to_vec();
    let has_priors = sheet.outcomes.iter().any(|outcome| outcome.prior.is_some());
    match stance {
        Stance::Hopeful | Stance::Wary => tilt(&mut shares, target, draw.between(0.45, 0.95)),
        Stance::Against => tilt(&mut shares, target, draw.between(0.5, 1.1)),
        Stance::Own(_) => tilt(&mut shares, target, draw.between(0.2, 0.6)),
        Stance::BaseRate if has_priors => flatten(&mut shares, draw.between(0.15, 0.35)),
        // Without a prior, most deadlines pass and nothing happens.
        Stance::BaseRate => tilt(&mut shares, worst, draw.between(0.2, 0.5)),
        Stance::Balanced => flatten(&mut shares, draw.between(0.03, 0.12)),
    }
    shares
}

/// Moves a forecast to what others say, most to the strongest of them.
fn listen(
    own: &mut [f64],
    sheet: &Sheet<'_>,
    stance: Stance,
    (others, strongest): (&[usize], Option<usize>),
    base: &[f64],
    draw: &mut Draw,
) {
    let openness = match stance {
        Stance::Hopeful | Stance::Wary | Stance::Own(_) => draw.between(0.12, 0.32),
        Stance::Against => draw.between(0.04, 0.18),
        Stance::BaseRate => draw.between(0.08, 0.2),
        Stance::Balanced => draw.between(0.6, 0.85),
    };
    let mut heard = vec![0.0; own.len()];
    let mut weight_sum = 0.0;
    for &place in others {
        let point = &sheet.points[place];
        let is_strongest = Some(place) == strongest && stance != Stance::Balanced;
        let weight = point.strength * if is_strongest { others.len() as f64 } else { 1.0 };
        weight_sum += weight;
        for (heard, share) in heard.iter_mut().zip(spread(point, base)) {
            *heard += weight * share;
        }
    }
    for (own, heard) in own.iter_mut().zip(heard) {
        *own = *own * (1.0 - openness) + openness * heard / weight_sum;
    }
}

/// Raises the log-odds of one outcome against all others.
fn tilt(shares: &mut [f64], place: usize, by: f64) {
    if let Some(share) = shares.get_mut(place) {
        *share *= libm::exp(by);
    }
    normalise(shares);
}

/// Moves shares towards equal ones.
fn flatten(shares: &mut [f64], by: f64) {
    let equal = 1.0 / shares.len() as f64;
    for share in shares {
        *share = *share * (1.0 - by) + equal * by;
    }
}
