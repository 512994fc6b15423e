//! Summary statistics of a list of numbers. Never reorders what it is given.

/// Returns the arithmetic mean, summed in the given order; `None` of no values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the middle value, or the mean of the two middle ones; `None` of no values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        return Some(sorted[middle]);
    }
    mean(sorted.get(middle.checked_sub(1)?..=middle)?)
}

/// Returns the largest value minus the smallest, 0 or more; `None` of no values.
#[must_use]
pub fn range(values: &[f64]) -> Option<f64> {
    let smallest = values.iter().copied().min_by(f64::total_cmp)?;
    let largest = values.iter().copied().max_by(f64::total_cmp)?;
    Some(largest - smallest)
}

/// Returns the population standard deviation (divided by n, not n − 1); `None` of no values.
#[must_use]
pub fn population_sd(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some(libm::sqrt(squares / values.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!([mean(&[]), median(&[]), range(&[]), population_sd(&[])], [None; 4]);
    }

    #[test]
    fn an_odd_list_has_a_middle_and_an_even_one_the_mean_of_two() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn the_standard_deviation_is_that_of_the_population() {
        assert_eq!(population_sd(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some(2.0));
        assert_eq!(range(&[0.25, -1.5, 3.0]), Some(4.5));
    }
}
