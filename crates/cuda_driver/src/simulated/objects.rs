//! Reads device code from the host linker's files: objects with fat binaries, and libraries of objects.
//!
//! nvcc stores the fat binaries of a source file in a section of the host's object: `.nv_fatbin`, or `__nv_relfatbin`
//! for code that is still to be linked. A library (`ar`'s format) has objects as its members. The simulated driver
//! links their PTX, of the newest architecture in each fat binary; machine code is refused.

use super::fat;
use crate::PtxVersion;

const ARCHIVE: &[u8] = b"!<arch>\n";
const ELF: &[u8] = b"\x7fELF";
/// The machine number of NVIDIA's GPUs in ELF files.
const CUDA: u16 = 190;
const SECTIONS: [&[u8]; 2] = [b".nv_fatbin", b"__nv_relfatbin"];
/// Alignment of fat binaries in a section.
const ALIGNMENT: usize = 8;

/// Returns the PTX in an object, a library, or a member of one; fails with the reason if there is none.
pub(super) fn texts(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut found = Vec::new();
    match bytes.strip_prefix(ARCHIVE) {
        Some(members) => {
            for (name, member) in self::members(members)? {
                let of_member = texts_of_file(member);
                found.extend(of_member.map_err(|reason| format!("its member `{name}` {reason}"))?);
            }
        }
        None => found = texts_of_file(bytes).map_err(|reason| format!("it {reason}"))?,
    }
    if found.is_empty() { Err("it has no device code".to_owned()) } else { Ok(found) }
}

fn texts_of_file(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    if bytes.starts_with(&fat::CONTAINER) {
        return texts_of_containers(bytes);
    }
    if !bytes.starts_with(ELF) {
        let is_ptx = std::str::from_utf8(bytes).ok().and_then(PtxVersion::of).is_some();
        return if is_ptx { Ok(vec![bytes.to_vec()]) } else { Ok(Vec::new()) };
    }
    if u16_at(bytes, 18) == Some(CUDA) {
        return Err("is machine code for a GPU (a cubin), without PTX".to_owned());
    }
    let mut found = Vec::new();
    for section in sections(bytes).ok_or("is a damaged ELF file")? {
        found.extend(texts_of_containers(section)?);
    }
    Ok(found)
}

/// Returns the newest PTX of each of several consecutive fat binaries.
fn texts_of_containers(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if !rest.starts_with(&fat::CONTAINER) {
            at += ALIGNMENT;
            continue;
        }
        let contents = fat::read(rest).map_err(|error| format!("cannot be read: {error}"))?;
        if contents.texts.is_empty() && !contents.machine_code.is_empty() {
            let made_for: Vec<String> =
                contents.machine_code.iter().map(|number| format!("sm_{number}")).collect();
            return Err(format!("has machine code for {}, without PTX", made_for.join(", ")));
        }
        found.extend(contents.texts.into_iter().max_by_key(|(number, _)| *number).map(|(_, text)| text));
        at += fat::container_bytes(rest).unwrap_or(rest.len()).next_multiple_of(ALIGNMENT);
    }
    Ok(found)
}

/// Returns the members of a library, with their names.
fn members(mut bytes: &[u8]) -> Result<Vec<(String, &[u8])>, String> {
    const HEADER: usize = 60;
    let damaged = || "it is a damaged library".to_owned();
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let header = bytes.get(..HEADER).ok_or_else(damaged)?;
        let field = |from: usize, to: usize| String::from_utf8_lossy(&header[from..to]).trim().to_owned();
        let size: usize = field(48, 58).parse().map_err(|_| damaged())?;
        let contents = bytes.get(HEADER..HEADER + size).ok_or_else(damaged)?;
        let name = field(0, 16);
        // The tables of symbols and of long names are members too.
        if !matches!(name.as_str(), "/" | "//" | "/SYM64/") {
            found.push((name.trim_end_matches('/').to_owned(), contents));
        }
        // Members are aligned to two bytes.
        bytes = bytes.get(HEADER + size + size % 2..).unwrap_or_default();
    }
    Ok(found)
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

fn word_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes_at(bytes, at).and_then(|word| usize::try_from(u64::from_le_bytes(word)).ok())
}

/// Returns the sections with fat binaries of a 64-bit ELF file; `None` if it is damaged.
fn sections(elf: &[u8]) -> Option<Vec<&[u8]>> {
    let table = word_at(elf, 40)?;
    let (entry, count, names) = (u16_at(elf, 58)?, u16_at(elf, 60)?, u16_at(elf, 62)?);
    let header = |index: u16| elf.get(table.checked_add(usize::from(index) * usize::from(entry))?..);
    let contents = |index: u16| {
        let header = header(index)?;
        let (start, bytes) = (word_at(header, 24)?, word_at(header, 32)?);
        elf.get(start..start.checked_add(bytes)?)
    };
    let names = contents(names)?;
    let mut found = Vec::new();
    for index in 0..count {
        let name = names.get(u32::from_le_bytes(bytes_at(header(index)?, 0)?) as usize..)?;
        let name = name.split(|&byte| byte == 0).next()?;
        if SECTIONS.contains(&name) {
            found.push(contents(index)?);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &[u8] = b".version 7.0\n.target sm_70\n.address_size 64\n";

    /// Makes a fat binary with one entry.
    fn container(kind: u16, contents: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; 64];
        entry[..2].copy_from_slice(&kind.to_le_bytes());
        entry[4] = 64;
        entry[8..16].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        entry[28] = 80;
        entry.extend(contents);
        let mut bytes = fat::CONTAINER.to_vec();
        bytes.extend([1, 0, fat::HEADER_BYTES as u8, 0]);
        bytes.extend((entry.len() as u64).to_le_bytes());
        bytes.extend(entry);
        bytes
    }

    /// Makes an ELF file with one section besides that of the names.
    fn object(machine: u16, section: &[u8]) -> Vec<u8> {
        let names = b"\0.nv_fatbin\0";
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(ELF);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        let table = 64 + names.len() + section.len();
        bytes[40..48].copy_from_slice(&(table as u64).to_le_bytes());
        bytes[58] = 64;
        bytes[60] = 2;
        bytes.extend(names);
        bytes.extend(section);
        for (name, start, size) in [(0, 64, names.len()), (1, 64 + names.len(), section.len())] {
            let mut header = [0; 64];
            header[0] = name;
            header[24..32].copy_from_slice(&(start as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
            bytes.extend(header);
        }
        bytes
    }

    fn library(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = ARCHIVE.to_vec();
        for (name, contents) in members {
            bytes.extend(format!("{name:<16}{:<32}{:<10}`\n", "", contents.len()).bytes());
            bytes.extend(*contents);
            bytes.resize(bytes.len().next_multiple_of(2), b'\n');
        }
        bytes
    }

    const HOST: u16 = 62;

    #[test]
    fn the_ptx_of_an_objects_fat_binaries_is_found() {
        let mut section = container(1, PTX);
        section.resize(section.len().next_multiple_of(ALIGNMENT), 0);
        section.extend(container(1, b".version 8.0\n"));
        assert_eq!(texts(&object(HOST, &section)), Ok(vec![PTX.to_vec(), b".version 8.0\n".to_vec()]));
    }

    #[test]
    fn the_ptx_of_a_librarys_members_is_found() {
        let object = object(HOST, &container(1, PTX));
        let host_only = self::object(HOST, b"");
        let symbols: &[u8] = b"\0\0\0";
        let bytes = library(&[("/", symbols), ("a.o/", &object), ("b.o/", &host_only), ("c.ptx/", PTX)]);
        assert_eq!(texts(&bytes), Ok(vec![PTX.to_vec(), PTX.to_vec()]));
        assert_eq!(texts(&bytes[..bytes.len() - 1]), Err("it is a damaged library".to_owned()));
    }

    #[test]
    fn machine_code_alone_is_refused() {
        let cubin = object(CUDA, b"");
        assert_eq!(
            texts(&library(&[("a.o/", &cubin)])),
            Err("its member `a.o` is machine code for a GPU (a cubin), without PTX".to_owned())
        );
        assert_eq!(
            texts(&object(HOST, &container(2, b"\x7fELF"))),
            Err("it has machine code for sm_80, without PTX".to_owned())
        );
        assert_eq!(texts(&object(HOST, b"")), Err("it has no device code".to_owned()));
    }
}
