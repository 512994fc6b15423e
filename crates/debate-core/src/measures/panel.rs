//! The distributions of several roles over the same outcomes: what consensus and pooling are computed from.

use std::borrow::Borrow;

use super::distribution::Distribution;

/// At least one distribution, all over the same number of outcomes, in role order.
///
/// A view: it borrows what it is given and copies nothing.
#[derive(Debug)]
pub struct Panel<'a, D> {
    members: &'a [D],
    outcomes: usize,
}

/// Distributions that cannot be taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PanelError {
    /// There is no distribution.
    #[error("a panel needs at least one member")]
    Empty,
    /// One has another number of outcomes than the first.
    #[error("member {member} has {actual} outcomes, expected {expected}")]
    Outcomes {
        /// The place of the member, from 0.
        member: usize,
        /// How many outcomes it has.
        actual: usize,
        /// How many the first member has.
        expected: usize,
    },
}

impl<'a, D: Borrow<Distribution>> Panel<'a, D> {
    /// Takes distributions, or references to them, in role order.
    ///
    /// # Errors
    ///
    /// [`PanelError`] where there is none, or they differ in their number of outcomes.
    pub fn new(members: &'a [D]) -> Result<Self, PanelError> {
        let expected = members.first().ok_or(PanelError::Empty)?.borrow().len();
        let differs = |distribution: &D| distribution.borrow().len() != expected;
        match members.iter().position(differs) {
            None => Ok(Self { members, outcomes: expected }),
            Some(member) => {
                Err(PanelError::Outcomes { member, actual: members[member].borrow().len(), expected })
            }
        }
    }

    /// Returns how many members there are, at least 1.
    #[must_use]
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns how many outcomes there are, at least 1.
    #[must_use]
    pub fn outcomes(&self) -> usize {
        self.outcomes
    }

    /// Returns each member's probabilities, in role order, all of one length.
    pub fn rows(&self) -> impl Iterator<Item = &'a [f64]> + use<'a, D> {
        self.members.iter().map(|member| member.borrow().as_slice())
    }

    /// Returns the mean of a value over the members, one per outcome, summed in role order.
    pub(super) fn means_of(&self, value: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut means = vec![0.0; self.outcomes];
        for row in self.rows() {
            for (mean, probability) in means.iter_mut().zip(row) {
                *mean += value(*probability);
            }
        }
        let members = self.members.len() as f64;
        for mean in &mut means {
            *mean /= members;
        }
        means
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_must_share_their_outcomes() {
        let two = Distribution::uniform(2).unwrap();
        let three = Distribution::uniform(3).unwrap();
        assert_eq!(Panel::<Distribution>::new(&[]).unwrap_err(), PanelError::Empty);
        assert_eq!(
            Panel::new(&[&two, &two, &three]).unwrap_err(),
            PanelError::Outcomes { member: 2, actual: 3, expected: 2 },
        );
        let members = [two.clone(), two];
        let panel = Panel::new(&members).unwrap();
        assert_eq!((panel.members(), panel.outcomes()), (2, 2));
    }
}
