//! How much of a scenario: the same grammar on the command line and in programs.

use clap::{Args, Command};

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
