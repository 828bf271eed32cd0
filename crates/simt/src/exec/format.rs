//! Formats the output of `printf` from the buffer that holds a kernel's arguments.
//!
//! Arguments lie in the buffer one after another, each aligned to its own size: numbers of 4 or 8 bytes (smaller ones
//! are promoted, `float` to `double`), strings as generic addresses.

use super::run::Stop;

/// A conversion specification, such as `%-8.3lld`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
    /// Size of the argument if it is a number: 4 or 8 bytes.
    bytes: u64,
}

/// A function that reads a kernel's memory.
type Read<'a> = dyn FnMut(u64, &mut [u8]) -> Result<(), Stop> + 'a;

/// The arguments not consumed yet.
struct Arguments<'a, 'b> {
    address: u64,
    read: &'a mut Read<'b>,
    /// Arguments consumed.
    count: i32,
}

impl Arguments<'_, '_> {
    fn next(&mut self, bytes: u64) -> Result<u64, Stop> {
        self.address = self.address.wrapping_add(bytes - 1) & !(bytes - 1);
        let mut bits = [0; 8];
        (self.read)(self.address, &mut bits[..bytes as usize])?;
        self.address = self.address.wrapping_add(bytes);
        self.count += 1;
        Ok(u64::from_le_bytes(bits))
    }
}

/// Upper limit of widths and precisions; larger ones are clamped.
const WIDEST: usize = 4096;

/// Formats to `out` and returns the number of arguments consumed, as the device's `vprintf` does, not the characters.
pub(super) fn print(format: &[u8], buffer: u64, out: &mut Vec<u8>, read: &mut Read<'_>) -> Result<i32, Stop> {
    let mut arguments = Arguments { address: buffer, read, count: 0 };
    let mut rest = format;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let whole = rest;
        let mut conversion = Conversion { bytes: 4, ..Conversion::default() };
        rest = conversion.flags(rest);
        (conversion.width, rest) = number(rest, &mut arguments, &mut conversion.left)?;
        if let Some(behind) = rest.strip_prefix(b".") {
            let mut negative = false;
            let precision;
            (precision, rest) = number(behind, &mut arguments, &mut negative)?;
            conversion.precision = if negative { None } else { Some(precision.unwrap_or(0)) };
        }
        rest = conversion.length(rest);
        let Some((letter, behind)) = rest.split_first() else {
            out.push(b'%');
            out.extend_from_slice(whole);
            break;
        };
        rest = behind;
        if !conversion.print(*letter, &mut arguments, out)? {
            // Text that is not a conversion is printed as it is.
            out.push(b'%');
            out.extend_from_slice(&whole[..whole.len() - rest.len()]);
        }
    }
    Ok(arguments.count)
}

/// Reads digits, or `*` for an argument.
fn number<'a>(
    text: &'a [u8],
    arguments: &mut Arguments<'_, '_>,
    negative: &mut bool,
) -> Result<(Option<usize>, &'a [u8]), Stop> {
    if let Some(behind) = text.strip_prefix(b"*") {
        let value = arguments.next(4)? as i32;
        *negative |= value < 0;
        return Ok((Some((value.unsigned_abs() as usize).min(WIDEST)), behind));
    }
    let digits = text.iter().take_while(|digit| digit.is_ascii_digit()).count();
    let value = text[..digits]
        .iter()
        .fold(0usize, |value, digit| (value * 10 + usize::from(digit - b'0')).min(WIDEST));
    Ok(((digits > 0).then_some(value), &text[digits..]))
}

impl Conversion {
    fn flags<'a>(&mut self, mut text: &'a [u8]) -> &'a [u8] {
        while let Some((first, behind)) = text.split_first() {
            match first {
                b'-' => self.left = true,
                b'+' => self.plus = true,
                b' ' => self.space = true,
                b'#' => self.alternate = true,
                b'0' => self.zero = true,
                _ => break,
            }
            text = behind;
        }
        text
    }

    fn length<'a>(&mut self, mut text: &'a [u8]) -> &'a [u8] {
        while let Some((first, behind)) = text.split_first() {
            match first {
                b'l' | b'j' | b'z' | b't' => self.bytes = 8,
                // Promoted to `int`.
                b'h' | b'L' => {}
                _ => break,
            }
            text = behind;
        }
        text
    }

    /// Prints one conversion. Returns false if the letter is not one.
    fn print(&self, letter: u8, arguments: &mut Arguments<'_, '_>, out: &mut Vec<u8>) -> Result<bool, Stop> {
        match letter {
            b'%' => out.push(b'%'),
            b'd' | b'i' => {
                let bits = arguments.next(self.bytes)?;
                let value = if self.bytes == 4 { i64::from(bits as u32 as i32) } else { bits as i64 };
                self.integer(value < 0, "", value.unsigned_abs().to_string(), out);
            }
            b'u' => {
                let value = arguments.next(self.bytes)?;
                self.integer(false, "", value.to_string(), out);
            }
            b'x' | b'X' | b'o' => {
                let value = arguments.next(self.bytes)?;
                let (digits, prefix) = match letter {
                    b'x' => (format!("{value:x}"), "0x"),
                    b'X' => (format!("{value:X}"), "0X"),
                    _ => (format!("{value:o}"), "0"),
                };
                let unsigned = Self { plus: false, space: false, ..*self };
                unsigned.integer(false, if self.alternate && value != 0 { prefix } else { "" }, digits, out);
            }
            b'p' => {
                let value = arguments.next(8)?;
                self.pad(format!("{value:#x}").as_bytes(), out);
            }
            b'c' => {
                let value = arguments.next(4)?;
                self.pad(&[value as u8], out);
            }
            b's' => {
                let address = arguments.next(8)?;
                let mut text = Vec::new();
                let most = self.precision.unwrap_or(usize::MAX).min(64 << 10);
                while text.len() < most {
                    let mut byte = [0];
                    (arguments.read)(address.wrapping_add(text.len() as u64), &mut byte)?;
                    if byte[0] == 0 {
                        break;
                    }
                    text.push(byte[0]);
                }
                self.pad(&text, out);
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(arguments.next(8)?);
                self.float(letter, value, out);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pad(&self, text: &[u8], out: &mut Vec<u8>) {
        let blanks = self.width.unwrap_or(0).saturating_sub(text.len());
        if !self.left {
            out.extend(std::iter::repeat_n(b' ', blanks));
        }
        out.extend_from_slice(text);
        if self.left {
            out.extend(std::iter::repeat_n(b' ', blanks));
        }
    }

    /// Prints a sign, a prefix, zeros and digits.
    fn number(&self, negative: bool, prefix: &str, digits: &str, zeros: bool, out: &mut Vec<u8>) {
        let sign = match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        let length = sign.len() + prefix.len() + digits.len();
        let missing = self.width.unwrap_or(0).saturating_sub(length);
        let fill = if zeros && !self.left { "0".repeat(missing) } else { String::new() };
        self.pad(format!("{sign}{prefix}{fill}{digits}").as_bytes(), out);
    }

    fn integer(&self, negative: bool, prefix: &str, mut digits: String, out: &mut Vec<u8>) {
        if let Some(precision) = self.precision {
            if precision == 0 && digits == "0" {
                digits.clear();
            }
            digits.insert_str(0, &"0".repeat(precision.saturating_sub(digits.len())));
        }
        self.number(negative, prefix, &digits, self.zero && self.precision.is_none(), out);
    }

    fn float(&self, letter: u8, value: f64, out: &mut Vec<u8>) {
        let upper = letter.is_ascii_uppercase();
        let magnitude = value.abs();
        let digits = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            "inf".to_owned()
        } else {
            match letter.to_ascii_lowercase() {
                b'f' => format!("{magnitude:.*}", self.precision.unwrap_or(6)),
                b'e' => exponential(magnitude, self.precision.unwrap_or(6)),
                b'g' => self.shortest(magnitude),
                _ => hexadecimal(magnitude, self.precision),
            }
        };
        let digits = if upper { digits.to_uppercase() } else { digits };
        let negative = value.is_sign_negative() && !value.is_nan();
        self.number(negative, "", &digits, self.zero && value.is_finite(), out);
    }

    /// Formats `%g`: as the shorter of `%e` and `%f`, without trailing zeros.
    fn shortest(&self, magnitude: f64) -> String {
        let precision = self.precision.unwrap_or(6).max(1);
        let scientific = exponential(magnitude, precision - 1);
        let exponent: i32 =
            scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
        let (mantissa, tail) = if exponent < -4 || exponent >= precision as i32 {
            let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
            (mantissa.to_owned(), format!("e{exponent}"))
        } else {
            (format!("{magnitude:.*}", (precision as i32 - 1 - exponent).max(0) as usize), String::new())
        };
        let mantissa = if self.alternate || !mantissa.contains('.') {
            mantissa
        } else {
            mantissa.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        mantissa + &tail
    }
}

/// Formats `%e`: C writes a signed exponent of at least two digits.
fn exponential(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Formats `%a`.
fn hexadecimal(magnitude: f64, precision: Option<usize>) -> String {
    let bits = magnitude.to_bits();
    let (mut exponent, fraction) = ((bits >> 52) as i32 - 1023, bits & ((1 << 52) - 1));
    let mut lead = u64::from(exponent != -1023);
    if exponent == -1023 {
        exponent = if fraction == 0 { 0 } else { -1022 };
    }
    let mut digits = format!("{fraction:013x}");
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) if precision < 13 => {
            let dropped = 4 * (13 - precision as u32);
            let all = lead << 52 | fraction;
            let half = 1 << (dropped - 1);
            let rest = all & ((1 << dropped) - 1);
            let mut kept = all >> dropped;
            kept += u64::from(rest > half || rest == half && kept & 1 != 0);
            lead = kept >> (4 * precision);
            digits = if precision == 0 {
                String::new()
            } else {
                format!("{:0precision$x}", kept & ((1 << (4 * precision)) - 1))
            };
        }
        Some(precision) => digits.push_str(&"0".repeat(precision - 13)),
    }
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead:x}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::print;

    /// Formats with a buffer of these arguments.
    fn printed(format: &str, arguments: &[&[u8]]) -> String {
        let mut buffer = Vec::new();
        for argument in arguments {
            buffer.resize(buffer.len().next_multiple_of(argument.len()), 0xEE);
            buffer.extend_from_slice(argument);
        }
        let mut out = Vec::new();
        let mut read = |address: u64, into: &mut [u8]| {
            into.copy_from_slice(&buffer[address as usize..][..into.len()]);
            Ok(())
        };
        let count = print(format.as_bytes(), 0, &mut out, &mut read).expect("nothing faults here");
        assert_eq!(count as usize, arguments.len(), "{format}");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn integers() {
        let minus = (-7i32).to_le_bytes();
        assert_eq!(printed("%d|%5d|%-5d|%05d|%+d", &[&minus[..]; 5]), "-7|   -7|-7   |-0007|-7");
        assert_eq!(
            printed("%u %x %X %#x %o", &[&minus[..]; 5]),
            "4294967289 fffffff9 FFFFFFF9 0xfffffff9 37777777771"
        );
        let long = i64::MIN.to_le_bytes();
        let one = 1i32.to_le_bytes();
        // The `long long` is aligned to eight bytes, after a gap.
        assert_eq!(printed("%d %lld %hd", &[&one, &long, &one]), "1 -9223372036854775808 1");
        assert_eq!(
            printed("%.3d|%.0d|%*d|", &[&one, &0i32.to_le_bytes(), &4i32.to_le_bytes(), &one]),
            "001||   1|"
        );
        assert_eq!(printed("100%% %c%k", &[&(65i32).to_le_bytes()]), "100% A%k");
        assert_eq!(printed("ends with %", &[]), "ends with %");
    }

    #[test]
    fn floats() {
        let value = 1234.5678f64.to_le_bytes();
        assert_eq!(
            printed("%f|%.2f|%10.1f|%e|%g", &[&value[..]; 5]),
            "1234.567800|1234.57|    1234.6|1.234568e+03|1234.57"
        );
        let small = 0.00001234f64.to_le_bytes();
        assert_eq!(printed("%g|%.3e|%G", &[&small[..]; 3]), "1.234e-05|1.234e-05|1.234E-05");
        let nothing = (-0.0f64).to_le_bytes();
        assert_eq!(printed("%f %g %a", &[&nothing[..]; 3]), "-0.000000 -0 -0x0p+0");
        assert_eq!(
            printed(
                "%f|%5f|%F",
                &[&f64::NAN.to_le_bytes(), &f64::INFINITY.to_le_bytes(), &f64::NEG_INFINITY.to_le_bytes()]
            ),
            "nan|  inf|-INF"
        );
        assert_eq!(
            printed("%a %.1a %.0a", &[&1.5f64.to_le_bytes(), &1.97f64.to_le_bytes(), &1.5f64.to_le_bytes()]),
            "0x1.8p+0 0x2.0p+0 0x2p+0"
        );
        assert_eq!(
            printed("%g %g", &[&100000.0f64.to_le_bytes(), &1000000.0f64.to_le_bytes()]),
            "100000 1e+06"
        );
    }
}
