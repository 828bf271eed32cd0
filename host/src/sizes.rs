//! Sizes in bytes as people write them: `4MiB`, `256MiB`, `1GiB`, `4MB`, `4194304`.

pub(crate) use record::Bytes;

/// The size of a unit in bytes. `MiB` is binary, `MB` decimal; `4M` is refused, because it could be either.
const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// No device has so much memory, and no arithmetic on it overflows.
const LARGEST: u64 = 1 << 50;

/// The error for a size of zero.
const ZERO: &str = "a size of zero leaves nothing to measure; the smallest useful one is a few KiB";

/// Reads a size. The error says what is wrong with the text and what would have been right.
///
/// # Errors
/// Zero, negative and fractional sizes, unknown units, and what is larger than any memory.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('-') {
        return Err(format!("a size cannot be negative; {rest} is the size without its sign"));
    }
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..digits].replace('_', ""), text[digits..].trim());
    if number.is_empty() {
        return Err("a size begins with a number, as in 4MiB, 256MiB, 1GiB, 4MB or 4194304".to_string());
    }
    let Some(&(unit, scale)) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) else {
        let hint = match unit.to_ascii_uppercase().as_str() {
            letter @ ("K" | "M" | "G" | "T") => {
                format!("write {number}{letter}iB (binary) or {number}{letter}B (decimal)")
            }
            _ => "the units are B, KiB, MiB, GiB, TiB (binary) and KB, MB, GB, TB (decimal)".to_string(),
        };
        return Err(format!("unknown unit '{unit}'; {hint}"));
    };
    if let Some((whole, fraction)) = number.split_once('.') {
        return Err(fractional(&number, whole, fraction, unit, scale));
    }
    let bytes = number.parse::<u64>().ok().and_then(|count| count.checked_mul(scale));
    match bytes.filter(|&bytes| bytes <= LARGEST) {
        None => Err(format!("the size is out of range; the largest is {}", Bytes(LARGEST))),
        Some(0) => Err(ZERO.to_string()),
        Some(bytes) => Ok(bytes),
    }
}

/// The suggestion for a number with a decimal point.
fn fractional(number: &str, whole: &str, fraction: &str, unit: &str, scale: u64) -> String {
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return format!("'{number}' is no number; a size looks like 4MiB, 256MiB, 1GiB, 4MB or 4194304");
    }
    let below = whole.parse::<u64>().unwrap_or(0);
    if fraction.bytes().all(|digit| digit == b'0') {
        if below == 0 {
            return ZERO.to_string();
        }
        return format!("{number}{unit} is {below}{unit} written as a fraction: write {below}{unit}");
    }
    let nearest = match below {
        0 => format!("the nearest is 1{unit}"),
        _ => format!("the nearest are {below}{unit} or {}{unit}", below.saturating_add(1)),
    };
    match in_a_smaller_unit(whole, fraction, unit, scale) {
        Some(same) => format!(
            "a size is a whole number of its unit: write {same} for {number}{unit}; in {unit} {nearest}"
        ),
        None => format!("a size is a whole number of its unit; {nearest}, or use a smaller unit"),
    }
}

/// The same size without a fraction, in the largest unit of the same family that has it whole.
fn in_a_smaller_unit(whole: &str, fraction: &str, unit: &str, scale: u64) -> Option<String> {
    let parts = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = format!("{whole}{fraction}").parse::<u128>().ok()?.checked_mul(u128::from(scale))?;
    let bytes = scaled.is_multiple_of(parts).then_some(scaled / parts)?;
    let binary = unit.contains('i');
    let smaller = UNITS.iter().rev().filter(|(name, size)| {
        *size < scale && !name.is_empty() && (*size == 1 || name.contains('i') == binary)
    });
    let mut fitting = smaller.filter(|(_, size)| bytes.is_multiple_of(u128::from(*size)));
    fitting.next().map(|(name, size)| format!("{}{name}", bytes / u128::from(*size)))
}

/// The multiples of `unit` just below and above `bytes`, for an error that names valid sizes. The lower one is left
/// out where it would be zero.
pub(crate) fn nearest_multiples(bytes: u64, unit: u64) -> Vec<u64> {
    let below = bytes / unit * unit;
    let mut nearest = Vec::new();
    if below > 0 {
        nearest.push(below);
    }
    nearest.extend(below.checked_add(unit));
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_differ() {
        assert_eq!(parse("4MiB"), Ok(4 << 20));
        assert_eq!(parse("4MB"), Ok(4_000_000));
        assert_eq!(parse("1gib"), Ok(1 << 30));
        assert_eq!(parse("256 KiB"), Ok(256 << 10));
        assert_eq!(parse("1_048_576"), Ok(1 << 20));
        assert_eq!(parse("32B"), Ok(32));
    }

    #[test]
    fn what_is_no_size_says_why() {
        for (text, why) in [
            ("0", "zero"),
            ("0MiB", "zero"),
            ("-4MiB", "negative"),
            ("4.0MiB", "4.0MiB is 4MiB written as a fraction: write 4MiB"),
            ("4.mib", "write 4MiB"),
            ("1.5MiB", "write 1536KiB for 1.5MiB; in MiB the nearest are 1MiB or 2MiB"),
            ("0.5MiB", "write 512KiB for 0.5MiB; in MiB the nearest is 1MiB"),
            (".25 KiB", "write 256B for .25KiB"),
            ("1.3MB", "write 1300KB for 1.3MB"),
            ("0.1MiB", "the nearest is 1MiB, or use a smaller unit"),
            ("0.5", "a whole number of its unit"),
            ("1.2.3MiB", "'1.2.3' is no number"),
            (".MiB", "'.' is no number"),
            ("0.0MiB", "zero"),
            ("1.00000000000000000000000000000000000000000000001MiB", "1MiB or 2MiB"),
            ("4M", "4MiB (binary) or 4MB (decimal)"),
            ("4 furlongs", "unknown unit 'furlongs'"),
            ("MiB", "begins with a number"),
            ("", "begins with a number"),
            ("99999999999999999999", "out of range"),
            ("17179869184GiB", "out of range"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn nearest_multiples_are_on_both_sides() {
        assert_eq!(nearest_multiples(1500, 1024), [1024, 2048]);
        assert_eq!(nearest_multiples(100, 1024), [1024]);
        assert_eq!(nearest_multiples(u64::MAX, 1 << 10), [u64::MAX - 1023]);
    }
}
