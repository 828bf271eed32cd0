//! Fat binaries: containers in which nvcc stores the same kernels as PTX and as machine code, once per architecture.
//!
//! NVIDIA does not document the layout. This is what `fatbinary` of CUDA 11 to 13 writes, in little-endian numbers:
//!
//! ```text
//! wrapper   0  u32  0x466243b1, then a u32 version, then the address of the container: what nvcc links into a program
//! container 0  u32  0xba55ed50
//!           4  u16  version
//!           6  u16  bytes of this header
//!           8  u64  bytes of the entries behind it
//! entry     0  u16  kind: 1 PTX, 2 machine code
//!           4  u32  bytes of this header
//!           8  u64  bytes of the contents, padding included
//!          16  u32  bytes of the contents when compressed, without padding
//!          28  u32  architecture, 90 for compute_90
//!          40  u64  flags: 0x2000 compressed as an LZ4 block, 0x8000 as a Zstandard frame
//!          56  u64  bytes of the contents after decompression
//! ```

use std::io::Read;

use thiserror::Error;

/// The first bytes of a container.
pub(super) const CONTAINER: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
/// The first bytes of the record that points to a container.
pub(super) const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
/// Bytes of a container's header.
pub(super) const HEADER_BYTES: usize = 16;
/// Offset of the container's address in the wrapper.
pub(super) const WRAPPED_AT: usize = 8;

const ENTRY_BYTES: usize = 64;
const PTX: u16 = 1;
const MACHINE_CODE: u16 = 2;
const LZ4: u64 = 0x2000;
const ZSTANDARD: u64 = 0x8000;

/// Most bytes of a container, or of a text after decompression; a greater length is damaged.
const MOST_BYTES: u64 = 1 << 30;

/// The parts of a container that the simulated driver uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// PTX texts, each with its architecture: 90 for compute_90.
    pub texts: Vec<(u32, Vec<u8>)>,
    /// Architectures with machine code.
    pub machine_code: Vec<u32>,
}

/// Why a container cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum FatError {
    #[error("the fat binary is damaged: {0} ends outside of it")]
    Cut(&'static str),
    #[error("the PTX for compute_{0} in the fat binary cannot be decompressed: {1}")]
    Compressed(u32, String),
}

fn number<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    number(bytes, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    number(bytes, offset).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    number(bytes, offset).map(u64::from_le_bytes)
}

/// Returns the bytes of a whole container from its header; `None` if its sizes are impossible.
pub(super) fn container_bytes(header: &[u8]) -> Option<usize> {
    let own = usize::from(u16_at(header, 6)?);
    let entries = u64_at(header, 8).filter(|entries| own >= HEADER_BYTES && *entries <= MOST_BYTES)?;
    Some(own + entries as usize)
}

/// Reads a container.
pub(super) fn read(bytes: &[u8]) -> Result<Contents, FatError> {
    let end =
        container_bytes(bytes).filter(|end| *end <= bytes.len()).ok_or(FatError::Cut("the container"))?;
    let mut rest = bytes.get(usize::from(u16_at(bytes, 6).unwrap_or(0))..end).unwrap_or_default();
    let mut contents = Contents::default();
    while !rest.is_empty() {
        let entry = Entry::of(rest).ok_or(FatError::Cut("an entry"))?;
        match entry.kind {
            PTX => contents.texts.push((entry.architecture, entry.text()?)),
            MACHINE_CODE => contents.machine_code.push(entry.architecture),
            _ => {}
        }
        rest = entry.rest;
    }
    Ok(contents)
}

struct Entry<'a> {
    kind: u16,
    architecture: u32,
    flags: u64,
    /// Stored contents; without padding if compressed.
    stored: &'a [u8],
    bytes: u64,
    rest: &'a [u8],
}

impl<'a> Entry<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let header = u32_at(bytes, 4)? as usize;
        let padded = usize::try_from(u64_at(bytes, 8)?).ok()?;
        if header < ENTRY_BYTES {
            return None;
        }
        let flags = u64_at(bytes, 40)?;
        let padded_contents = bytes.get(header..header.checked_add(padded)?)?;
        let compressed = flags & (LZ4 | ZSTANDARD) != 0;
        let stored =
            if compressed { padded_contents.get(..u32_at(bytes, 16)? as usize)? } else { padded_contents };
        Some(Self {
            kind: u16_at(bytes, 0)?,
            architecture: u32_at(bytes, 28)?,
            flags,
            stored,
            bytes: u64_at(bytes, 56)?,
            rest: bytes.get(header + padded..)?,
        })
    }

    /// Returns the contents, decompressed, up to the first NUL.
    fn text(&self) -> Result<Vec<u8>, FatError> {
        let failed = |cause: String| FatError::Compressed(self.architecture, cause);
        let mut text = if self.flags & (LZ4 | ZSTANDARD) == 0 {
            self.stored.to_vec()
        } else if self.bytes > MOST_BYTES {
            return Err(failed(format!("{} bytes are too many for PTX", self.bytes)));
        } else if self.flags & LZ4 != 0 {
            lz4_flex::block::decompress(self.stored, self.bytes as usize)
                .map_err(|cause| failed(cause.to_string()))?
        } else {
            let decoder = ruzstd::decoding::StreamingDecoder::new(self.stored)
                .map_err(|cause| failed(cause.to_string()))?;
            let mut text = Vec::new();
            // One byte more than stated reveals a damaged length.
            decoder.take(self.bytes + 1).read_to_end(&mut text).map_err(|cause| failed(cause.to_string()))?;
            text
        };
        if self.flags & (LZ4 | ZSTANDARD) != 0 && text.len() as u64 != self.bytes {
            return Err(failed(format!("it has {} bytes instead of {}", text.len(), self.bytes)));
        }
        text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, architecture: u32, flags: u64, contents: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; ENTRY_BYTES];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&(ENTRY_BYTES as u32).to_le_bytes());
        bytes[8..16].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        bytes[16..20].copy_from_slice(&(contents.len() as u32).to_le_bytes());
        bytes[28..32].copy_from_slice(&architecture.to_le_bytes());
        bytes[40..48].copy_from_slice(&flags.to_le_bytes());
        bytes[56..64].copy_from_slice(&9_u64.to_le_bytes());
        bytes.extend(contents);
        bytes
    }

    fn container(entries: &[Vec<u8>]) -> Vec<u8> {
        let entries = entries.concat();
        let mut bytes = CONTAINER.to_vec();
        bytes.extend([1, 0, HEADER_BYTES as u8, 0]);
        bytes.extend((entries.len() as u64).to_le_bytes());
        bytes.extend(entries);
        bytes
    }

    #[test]
    fn texts_and_machine_code_are_told_apart() {
        let bytes = container(&[entry(MACHINE_CODE, 80, 0, b"\x7fELF"), entry(PTX, 90, 0, b".version\0\0")]);
        let expected = Contents { texts: vec![(90, b".version".to_vec())], machine_code: vec![80] };
        assert_eq!(read(&bytes), Ok(expected));
    }

    #[test]
    fn damaged_containers_are_refused() {
        let bytes = container(&[entry(PTX, 90, 0, b".version")]);
        assert_eq!(read(&bytes[..bytes.len() - 1]), Err(FatError::Cut("the container")));
        let mut longer = bytes.clone();
        longer[HEADER_BYTES + 8] += 1;
        assert_eq!(read(&longer), Err(FatError::Cut("an entry")));
        for flags in [LZ4, ZSTANDARD] {
            let damaged = read(&container(&[entry(PTX, 90, flags, b"\xff\xff\xff\xff")]));
            assert!(matches!(damaged, Err(FatError::Compressed(90, _))), "{damaged:?}");
        }
    }
}
