//! Keeps machine code on disk, where later processes find it.
//!
//! A kernel's file is named by a hash of its *source*: the text that LLVM compiles, and all else that decides about the code, such
//! as the processor. The file holds that source whole, so that code is never another kernel's, and never out of date:
//!
//! ```text
//! bytes        content
//! 0 to 7       a mark
//! 8 to 15      bytes of the source
//! 16 to 23     hash of the object
//! from 24 on   the source, then the object
//! ```
//!
//! The folder is `coalesce/code` in `$XDG_CACHE_HOME`, or in `~/.cache`. The variable `COALESCE_CODE` names another one, or none if it is
//! empty. What is found there is executed, so a folder that others own or may write to is not used. A file that cannot be
//! read or written is as good as none: the kernel is compiled.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

const MARK: u64 = u64::from_le_bytes(*b"simtcod1");

/// Bytes before the source.
const HEAD: usize = 24;

/// Bytes of all files beyond which those are removed that were used longest ago, until half of it is left.
const MOST_BYTES: u64 = 256 << 20;

/// A folder with code.
pub(super) struct CodeCache {
    folder: PathBuf,
    /// Whether this process has looked at the size of the folder.
    is_trimmed: AtomicBool,
}

/// Returns the user's cache.
///
/// # Errors
/// Says why there is none.
pub(super) fn code_cache() -> Result<&'static CodeCache, &'static str> {
    static CACHE: LazyLock<Result<CodeCache, String>> = LazyLock::new(|| {
        let folder = folder()?;
        let named = format!("{}", folder.display());
        CodeCache::open(folder).map_err(|error| format!("{named}: {error}"))
    });
    CACHE.as_ref().map_err(String::as_str)
}

/// Returns where the user's cache is to be, or why it is to be nowhere.
fn folder() -> Result<PathBuf, &'static str> {
    let named = |variable| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    if std::env::var_os("COALESCE_CODE").is_some() {
        return named("COALESCE_CODE").ok_or("COALESCE_CODE is empty");
    }
    let of_user = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    Ok(of_user.ok_or("HOME is not set")?.join("coalesce").join("code"))
}

/// Returns a hash that is the same in each process.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

impl CodeCache {
    /// Opens a folder, which is made if need be.
    fn open(folder: PathBuf) -> io::Result<Self> {
        make(&folder)?;
        if !is_ours(&fs::metadata(&folder)?) {
            return Err(io::Error::other("another user owns the folder or may write to it"));
        }
        Ok(Self { folder, is_trimmed: AtomicBool::new(false) })
    }

    /// Returns the folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the object of a source.
    pub(super) fn find(&self, source: &str) -> Option<Vec<u8>> {
        let path = self.path(source);
        let mut content = fs::read(&path).ok()?;
        let number = |at: usize| Some(u64::from_le_bytes(content.get(at..at + 8)?.try_into().ok()?));
        let (mark, length, hashed) = (number(0)?, number(8)?, number(16)?);
        let rest = content[HEAD..].strip_prefix(source.as_bytes())?;
        if mark != MARK || length != source.len() as u64 || hashed != hash(rest) {
            return None;
        }
        // Files that are used stay longest.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        content.drain(..HEAD + source.len());
        Some(content)
    }

    /// Keeps the object of a source.
    pub(super) fn keep(&self, source: &str, object: &[u8]) {
        let path = self.path(source);
        // Under a name of its own first: other processes find it whole or not at all.
        let new = path.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
        let mut content = Vec::with_capacity(HEAD + source.len() + object.len());
        for number in [MARK, source.len() as u64, hash(object)] {
            content.extend(number.to_le_bytes());
        }
        content.extend(source.as_bytes());
        content.extend(object);
        if fs::write(&new, content).and_then(|()| fs::rename(&new, &path)).is_err() {
            let _ = fs::remove_file(&new);
        }
        if !self.is_trimmed.swap(true, Ordering::Relaxed) {
            let _ = self.trim(MOST_BYTES);
        }
    }

    fn path(&self, source: &str) -> PathBuf {
        self.folder.join(format!("{:016x}", hash(source.as_bytes())))
    }

    /// Removes the files that were used longest ago if there are more bytes than this, until half of it is left.
    fn trim(&self, most: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let about = entry.metadata()?;
            files.push((about.modified()?, about.len(), entry.path()));
        }
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        if bytes <= most {
            return Ok(());
        }
        files.sort();
        for (_, of_file, path) in files {
            if bytes <= most / 2 {
                break;
            }
            fs::remove_file(path)?;
            bytes -= of_file;
        }
        Ok(())
    }
}

/// Makes a folder that only the user may open.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns true if a folder is the user's, and nobody else may write to it.
#[cfg(unix)]
fn is_ours(folder: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    // SAFETY: the function has no preconditions.
    let user = unsafe { libc::geteuid() };
    folder.is_dir() && folder.uid() == user && folder.mode() & WRITABLE_BY_OTHERS == 0
}

#[cfg(not(unix))]
fn is_ours(folder: &fs::Metadata) -> bool {
    folder.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_object_is_found_for_its_source_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CodeCache::open(folder.path().join("coalesce/code")).expect("it is made");
        assert_eq!(cache.find("one"), None);
        cache.keep("one", &[1, 2, 3]);
        cache.keep("two", &[4]);
        cache.keep("one", &[1, 2, 3, 5]);
        assert_eq!((cache.find("one"), cache.find("two")), (Some(vec![1, 2, 3, 5]), Some(vec![4])));
        assert_eq!((cache.find("on"), cache.find("one\u{1}")), (None, None));
        assert_eq!(fs::read_dir(cache.folder()).expect("the folder").count(), 2);
        // Another source's file under this one's name, as if both had one hash.
        fs::copy(cache.path("two"), cache.path("one")).expect("a copy");
        assert_eq!(cache.find("one"), None);
    }

    #[test]
    fn files_that_are_cut_or_changed_are_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CodeCache::open(folder.path().to_owned()).expect("it is there");
        cache.keep("source", &[7; 100]);
        let path = cache.path("source");
        let whole = fs::read(&path).expect("the file");
        assert_eq!(whole.len(), HEAD + 6 + 100);
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            assert_eq!(cache.find("source"), None, "{length} bytes");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, changed).expect("written");
            assert_eq!(cache.find("source"), None, "byte {at}");
        }
        fs::write(&path, whole).expect("written");
        assert_eq!(cache.find("source"), Some(vec![7; 100]));
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CodeCache::open(folder.path().to_owned()).expect("it is there");
        let now = SystemTime::now();
        for (hours, source) in (1..=8).zip(["a", "b", "c", "d", "e", "f", "g", "h"]) {
            cache.keep(source, &[0; 75]);
            let file = File::open(cache.path(source)).expect("the file");
            file.set_modified(now - Duration::from_secs(3600 * hours)).expect("it is ours");
        }
        // The oldest but one is used again.
        assert!(cache.find("g").is_some());
        cache.trim(800).expect("it is ours");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 8);
        cache.trim(799).expect("it is ours");
        let left = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|source| cache.find(source).is_some());
        assert_eq!(left, [true, true, false, false, false, false, true, false]);
    }

    #[cfg(unix)]
    #[test]
    fn folders_that_others_may_write_to_are_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        for (mode, is_used) in [(0o755, true), (0o775, false), (0o757, false), (0o700, true)] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).expect("it is ours");
            assert_eq!(CodeCache::open(folder.path().to_owned()).is_ok(), is_used, "{mode:o}");
        }
    }
}
