//! The members of an rlib: a Unix `ar` archive of the GNU kind, written by rustc.
//!
//! On this target every code member is bare LLVM bitcode; `lib.rmeta` is the one that is not. The symbol index at the
//! front says which member defines what, so that a large library such as `core` is opened where it is needed and
//! nowhere else.

use std::collections::HashMap;
use std::ops::Range;

/// First bytes of bitcode: bare, and in its wrapper.
const BITCODE: [[u8; 4]; 2] = [*b"BC\xC0\xDE", [0xDE, 0xC0, 0x17, 0x0B]];
const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

/// A parsed archive.
pub(crate) struct Archive {
    bytes: Vec<u8>,
    members: Vec<Member>,
    /// Symbol to index into `members`.
    symbols: HashMap<String, usize>,
}

struct Member {
    name: String,
    data: Range<usize>,
}

impl Archive {
    /// Reads the structure; the error says what is wrong with it.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, String> {
        if !bytes.starts_with(MAGIC) {
            return Err(String::from("it does not begin as an archive"));
        }
        let mut members = Vec::new();
        let mut by_header = HashMap::new();
        let mut index = None;
        let mut long_names = 0..0;
        let mut at = MAGIC.len();
        while at + HEADER <= bytes.len() {
            let header = &bytes[at..at + HEADER];
            let size =
                std::str::from_utf8(&header[48..58]).ok().and_then(|text| text.trim().parse::<usize>().ok());
            let size = size.ok_or_else(|| format!("the member at byte {at} has no size"))?;
            let start = at + HEADER;
            let data = start..start.saturating_add(size);
            if data.end > bytes.len() {
                return Err(format!("the member at byte {at} ends after the file does"));
            }
            let name = std::str::from_utf8(&header[..16]).unwrap_or_default().trim_end();
            match name {
                "/" => index = Some((data.clone(), 4)),
                "/SYM64/" => index = Some((data.clone(), 8)),
                "//" => long_names = data.clone(),
                _ => {
                    let name = match name.strip_prefix('/').and_then(|offset| offset.parse::<usize>().ok()) {
                        Some(offset) => long_name(&bytes[long_names.clone()], offset),
                        None => name.trim_end_matches('/').to_owned(),
                    };
                    by_header.insert(at, members.len());
                    members.push(Member { name, data: data.clone() });
                }
            }
            at = data.end.next_multiple_of(2);
        }
        let symbols = match index {
            Some((range, width)) => read_index(&bytes[range], width, &by_header)?,
            None => HashMap::new(),
        };
        Ok(Self { bytes, members, symbols })
    }

    /// Indices of the members that hold bitcode.
    pub(crate) fn bitcode(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len())
            .filter(|&member| BITCODE.iter().any(|magic| self.data(member).starts_with(magic)))
    }

    /// Bytes of a member.
    pub(crate) fn data(&self, member: usize) -> &[u8] {
        &self.bytes[self.members[member].data.clone()]
    }

    /// File name of a member.
    pub(crate) fn name(&self, member: usize) -> &str {
        &self.members[member].name
    }

    /// The member that defines `symbol`, by the archive's index.
    pub(crate) fn defines(&self, symbol: &str) -> Option<usize> {
        self.symbols.get(symbol).copied()
    }
}

/// Long names stand in a member of their own, each ended by a slash and a line feed.
fn long_name(names: &[u8], offset: usize) -> String {
    let rest = names.get(offset..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    String::from_utf8_lossy(&rest[..end]).trim_end_matches('/').to_owned()
}

/// A big-endian count, that many offsets of member headers, then that many names ended by NUL.
fn read_index(
    index: &[u8],
    width: usize,
    by_header: &HashMap<usize, usize>,
) -> Result<HashMap<String, usize>, String> {
    let number = |at: usize| {
        let bytes = index.get(at * width..(at + 1) * width)?;
        Some(bytes.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    let cut = || String::from("its symbol index is cut short");
    let count = number(0).ok_or_else(cut)?;
    let names =
        count.checked_add(1).and_then(|words| index.get(words.checked_mul(width)?..)).ok_or_else(cut)?;
    let mut symbols = HashMap::with_capacity(count);
    for (entry, name) in names.split(|byte| *byte == 0).take(count).enumerate() {
        let header = number(entry + 1).ok_or_else(cut)?;
        if let Some(member) = by_header.get(&header) {
            symbols.entry(String::from_utf8_lossy(name).into_owned()).or_insert(*member);
        }
    }
    Ok(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes =
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).into_bytes();
        bytes.extend_from_slice(data);
        if data.len() % 2 == 1 {
            bytes.push(b'\n');
        }
        bytes
    }

    fn archive() -> Vec<u8> {
        let names = member("//", b"a_rather_long_member_name.o/\nlib.rmeta.elsewhere/\n");
        let one = member("/0", b"BC\xC0\xDEone");
        let rmeta = member("lib.rmeta/", b"rust");
        let two = member("two.o/", b"BC\xC0\xDEtwo!");
        let index_size = HEADER + 4 + 2 * 4 + "first\0second\0".len() + 1;
        let first = u32::try_from(MAGIC.len() + index_size + names.len()).unwrap();
        let second = first + u32::try_from(one.len() + rmeta.len()).unwrap();
        let mut index = 2_u32.to_be_bytes().to_vec();
        index.extend(first.to_be_bytes());
        index.extend(second.to_be_bytes());
        index.extend(b"first\0second\0");
        [MAGIC.to_vec(), member("/", &index), names, one, rmeta, two].concat()
    }

    #[test]
    fn members_names_and_symbols() {
        let archive = Archive::parse(archive()).unwrap();
        let bitcode: Vec<&str> = archive.bitcode().map(|member| archive.name(member)).collect();
        assert_eq!(bitcode, ["a_rather_long_member_name.o", "two.o"]);
        let second = archive.defines("second").unwrap();
        assert_eq!(archive.data(second), b"BC\xC0\xDEtwo!");
        assert_eq!(archive.name(archive.defines("first").unwrap()), "a_rather_long_member_name.o");
        assert_eq!(archive.defines("third"), None);
    }

    #[test]
    fn damage_is_told() {
        let whole = archive();
        assert_eq!(Archive::parse(b"ELF".to_vec()).err().unwrap(), "it does not begin as an archive");
        let cut = Archive::parse(whole[..whole.len() - 4].to_vec()).err().unwrap();
        assert!(cut.ends_with("ends after the file does"), "{cut}");
        let mut index = whole;
        index[MAGIC.len() + HEADER] = 0x7f;
        assert_eq!(Archive::parse(index).err().unwrap(), "its symbol index is cut short");
    }
}
