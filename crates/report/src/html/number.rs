//! Numbers and words as the page writes them: three significant digits or whole numbers, thousands apart.

use record::{Bytes, SIZES};

/// A rate with three digits or more: `4,213`, `56.7`, `3.12`, `0.051`.
pub(super) fn rate(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        ..0.1 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => grouped(value.round() as i64),
    }
}

/// A rate, and of a modelled one its interval: `4,013 (3,702–4,211)`.
pub(super) fn doubted(value: f64, interval: Option<[f64; 2]>) -> String {
    let interval = interval.map(|[low, high]| format!(" ({}–{})", rate(low), rate(high)));
    rate(value) + &interval.unwrap_or_default()
}

/// A number without decimals that it does not need: `4`, `4.5`.
pub(super) fn plain(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some(_) => grouped(value.round() as i64),
        None => text,
    }
}

/// A tick's number: as short as its step allows.
pub(super) fn tick(value: f64) -> String {
    if value.abs() >= 1000.0 {
        grouped(value.round() as i64)
    } else {
        format!("{}", (value * 1e6).round() / 1e6)
    }
}

/// The value of a parameter: of a size in its largest binary unit.
pub(super) fn place(parameter: &str, value: f64) -> String {
    if SIZES.contains(&parameter) { Bytes(value as u64).to_string() } else { tick(value) }
}

/// A part of a whole in per cent: `87.5%`, `100%`, `<0.1%`.
pub(super) fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.0005 { "<0.1%".to_string() } else { format!("{}%", plain(100.0 * part)) }
}

/// Per cent in a column, where all have the same decimals: `87.5%`, `100.0%`.
pub(super) fn in_column(percent: f64) -> String {
    format!("{percent:.1}%")
}

/// A whole number with commas between thousands.
pub(super) fn count(value: u64) -> String {
    grouped(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Milliseconds, or microseconds where they are few.
pub(super) fn time(milliseconds: f64) -> String {
    match milliseconds {
        ..1.0 => format!("{} µs", rate(milliseconds * 1e3)),
        ..1000.0 => format!("{} ms", rate(milliseconds)),
        _ => format!("{} s", rate(milliseconds / 1e3)),
    }
}

/// A text with its first letter in upper case, as a sentence begins.
pub(super) fn first_letter_up(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A text with its first letter in lower case, as it stands within a sentence.
pub(super) fn first_letter_down(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// A coordinate of a drawing, to a tenth of a pixel.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_string()
}

/// A day and a minute in UTC of seconds since 1970: `2026-03-01 14:05 UTC`.
pub(super) fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days, for days after 1970.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = if value < 0 { "−".to_string() } else { String::new() };
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        assert_eq!([4212.8, 56.71, 3.117, 0.0512, 0.0].map(rate), ["4,213", "56.7", "3.12", "0.051", "0"]);
        assert_eq!(doubted(4013.2, Some([3702.0, 4211.4])), "4,013 (3,702–4,211)");
        assert_eq!(doubted(56.71, None), "56.7");
        assert_eq!([4.0, 4.5, 1024.0].map(plain), ["4", "4.5", "1,024"]);
        assert_eq!([percent(0.875), percent(1.0), percent(0.0001)], ["87.5%", "100%", "<0.1%"]);
        assert_eq!([count(999), count(32_768), count(1_000_000)], ["999", "32,768", "1,000,000"]);
        assert_eq!([time(0.00312), time(0.19663), time(1500.0)], ["3.12 µs", "197 µs", "1.50 s"]);
        assert_eq!([tick(0.2), tick(5000.0), tick(0.30000000000000004)], ["0.2", "5,000", "0.3"]);
        assert_eq!([px(12.0), px(12.34)], ["12", "12.3"]);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_827_696), "2000-02-29 12:34 UTC");
        assert_eq!(utc(1_798_761_599), "2026-12-31 23:59 UTC");
    }
}
