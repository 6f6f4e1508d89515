//! How much of a scenario: the same grammar on the command line and in programs.

use clap::{Args, Command};

use super::error::DriveError;

/// A scenario's `Spec` from arguments such as `["--events", "100"]`; what is not named has its
/// default.
///
/// # Errors
/// What clap says of unknown names, missing ones and bad values.
pub fn parse<S: Args>(arguments: &[&str]) -> Result<S, clap::Error> {
    let command = S::augment_args(Command::new("spec").no_binary_name(true));
    let matches = command.try_get_matches_from(arguments)?;
    S::from_arg_matches(&matches)
}

/// Refuses numbers of which nothing could be measured.
pub(crate) fn positive(numbers: &[(&str, f64)]) -> Result<(), DriveError> {
    match numbers.iter().find(|(_, number)| !number.is_finite() || *number <= 0.0) {
        Some((name, number)) => Err(DriveError::Spec(format!("{name} is {number}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No number of subscribers or events a second makes a driver divide by it and panic.
    #[test]
    fn senseless_numbers_are_refused() {
        assert!(positive(&[("rate", 0.5), ("subscribers", 1.0)]).is_ok());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refusal = positive(&[("rate", 1.0), ("subscribers", bad)]);
            assert!(refusal.is_err_and(|error| error.to_string().starts_with("subscribers is")));
        }
    }
}
