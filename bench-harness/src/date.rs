//! The date of a results folder, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY_S: u64 = 86_400;

/// Now as `2026-11-29T22-45`, fit for a folder's name.
pub fn now() -> String {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    stamp(unix.as_secs())
}

/// The minute of a second since 1970.
pub fn stamp(unix_s: u64) -> String {
    let (year, month, day) = civil(unix_s / DAY_S);
    let (hour, minute) = (unix_s % DAY_S / 3600, unix_s % 3600 / 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}")
}

/// Year, month and day of a day since 1970, by counting in eras of 400 years from 1 March 0000
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(day: u64) -> (u64, u64, u64) {
    const ERA_DAYS: u64 = 146_097;
    let day = day + 719_468;
    let (era, of_era) = (day / ERA_DAYS, day % ERA_DAYS);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        let check = |unix_s, expected: &str| assert_eq!(stamp(unix_s), expected);
        check(0, "1970-01-01T00-00");
        check(951_782_400, "2000-02-29T00-00");
        check(1_700_000_000, "2023-11-14T22-13");
        check(4_107_542_399, "2100-02-28T23-59");
    }
}
