//! `CUDA_VISIBLE_DEVICES`: the devices that the program sees, and their order.
//!
//! Entries are separated by commas: a device's number, or `GPU-` and a prefix of its identifier that matches no other
//! device. The first invalid entry ends the list, and so does a repeated device.

use std::fmt::Write as _;

/// Name of the environment variable.
pub(super) const VISIBLE_VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// Returns a device's identifier: "sim", its number, and the start of its card's key.
pub(super) fn uuid(slot: usize, key: &str) -> [u8; 16] {
    let mut bytes = *b"sim\0\0\0\0\0\0\0\0\0\0\0\0\0";
    bytes[3] = slot as u8;
    let kept = key.len().min(12);
    bytes[4..4 + kept].copy_from_slice(&key.as_bytes()[..kept]);
    bytes
}

/// Formats an identifier as `nvidia-smi` prints it.
fn uuid_text(uuid: [u8; 16]) -> String {
    let mut text = "GPU-".to_owned();
    for (index, byte) in uuid.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the devices that a list shows, as indices among all, in the order of the list.
pub(super) fn visible(list: &str, keys: &[&str]) -> Vec<usize> {
    let names: Vec<String> = keys.iter().enumerate().map(|(slot, key)| uuid_text(uuid(slot, key))).collect();
    let mut shown = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let slot = match entry.parse::<usize>() {
            Ok(number) => Some(number).filter(|number| *number < keys.len()),
            Err(_) => {
                let begins = |name: &String| entry.len() > "GPU-".len() && name.starts_with(entry);
                let mut named = (0..keys.len()).filter(|slot| begins(&names[*slot]));
                named.next().filter(|_| named.next().is_none())
            }
        };
        match slot {
            Some(slot) if !shown.contains(&slot) => shown.push(slot),
            _ => break,
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 3] = ["h200", "v100", "h200"];

    #[test]
    fn numbers_choose_and_order() {
        assert_eq!(visible("2,0", &KEYS), [2, 0]);
        assert_eq!(visible(" 1 ", &KEYS), [1]);
        assert_eq!(visible("", &KEYS), [0; 0]);
        assert_eq!(visible("-1", &KEYS), [0; 0]);
    }

    #[test]
    fn an_unknown_entry_hides_what_follows() {
        assert_eq!(visible("1,7,0", &KEYS), [1]);
        assert_eq!(visible("0,none,1", &KEYS), [0]);
        assert_eq!(visible("0,0,1", &KEYS), [0]);
    }

    #[test]
    fn an_identifier_may_be_cut_as_long_as_it_is_of_one_device() {
        let full = uuid_text(uuid(1, "v100"));
        assert_eq!(full, "GPU-73696d01-7631-3030-0000-000000000000");
        assert_eq!(visible(&format!("{full},0"), &KEYS), [1, 0]);
        assert_eq!(visible("GPU-73696d02", &KEYS), [2]);
        assert_eq!(visible("GPU-73696d", &KEYS), [0; 0]);
        assert_eq!(visible("GPU-", &KEYS), [0; 0]);
    }
}
