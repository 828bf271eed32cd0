//! `new-project`: makes a project outside this repository that uses our crates; it runs and passes its tests unchanged.

use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use xtask::misuse::Misuse;

use crate::layout::Layout;
use crate::process;

/// Arguments of `new-project`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder to make; its name becomes the program's
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Name our crates by their paths in this checkout instead of by its commit
    #[arg(long, conflicts_with = "git")]
    path: bool,
    /// URL from which cargo fetches this repository [default: the checkout's origin, or the checkout itself]
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

/// The files, and what they are made from.
const FILES: [(&str, &str); 10] = [
    ("Cargo.toml", include_str!("../../templates/project/Cargo.toml.in")),
    ("README.md", include_str!("../../templates/project/README.md.in")),
    (".gitignore", include_str!("../../templates/project/gitignore.in")),
    (".github/workflows/test.yml", include_str!("../../templates/project/test.yml.in")),
    ("rust-toolchain.toml", include_str!("../../../rust-toolchain.toml")),
    ("kernels/Cargo.toml", include_str!("../../templates/project/kernels/Cargo.toml.in")),
    ("kernels/src/lib.rs", include_str!("../../templates/project/kernels/lib.rs.in")),
    ("host/Cargo.toml", include_str!("../../templates/project/host/Cargo.toml.in")),
    ("host/build.rs", include_str!("../../templates/project/host/build.rs.in")),
    ("host/src/main.rs", include_str!("../../templates/project/host/main.rs.in")),
];

/// The crates that a project can name.
const CRATES: [&str; 6] =
    ["cuda_builder", "cuda_launch", "cuda_safe", "cuda_std", "cust_core", "find_cuda_helper"];

/// The source of our crates for a project.
pub(crate) enum Source {
    /// The folder `crates` of a checkout.
    Path(PathBuf),
    /// A commit of a repository.
    Git {
        /// As cargo takes it.
        url: String,
        /// In full.
        commit: String,
    },
}

impl Source {
    /// The repository at its present commit.
    pub(crate) fn of_checkout(root: &Path, url: Option<&str>) -> Result<Self> {
        let commit = git(root, &["rev-parse", "HEAD"]).with_context(|| {
            format!(
                "{} has no commit that a project could name; --path names the folder instead",
                root.display()
            )
        })?;
        let origin = || git(root, &["remote", "get-url", "origin"]).ok();
        let url = url.map(str::to_owned).or_else(origin).unwrap_or_else(|| ".".to_owned());
        Ok(Source::Git { url: url_of(&url, root), commit })
    }

    /// A crate as a manifest names it.
    fn dependency(&self, name: &str) -> String {
        match self {
            Source::Path(crates) => format!("{{ path = {:?} }}", crates.join(name)),
            Source::Git { url, commit } => format!("{{ git = {url:?}, rev = {commit:?} }}"),
        }
    }
}

/// Returns the URL of a repository as cargo takes it. Git also takes paths, relative ones from the checkout's `root` on, and `host:path`
/// for SSH.
fn url_of(repository: &str, root: &Path) -> String {
    if repository.contains("://") {
        return repository.to_owned();
    }
    match repository.split_once(':') {
        Some((host, path)) if !host.contains('/') => format!("ssh://{host}/{}", path.trim_start_matches('/')),
        _ => {
            let path = root.join(repository);
            format!("file://{}", path.canonicalize().unwrap_or(path).display())
        }
    }
}

/// Makes the project.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let layout = Layout::find()?;
    let root = layout.root("new-project")?;
    let source = if arguments.path {
        Source::Path(root.join("crates"))
    } else {
        let source = Source::of_checkout(root, arguments.git.as_deref())?;
        if git(root, &["status", "--porcelain"]).is_ok_and(|changes| !changes.is_empty()) {
            eprintln!(
                "note: {} has uncommitted changes, which the project's commit does not contain; --path takes the files as they are",
                root.display()
            );
        }
        source
    };
    generate(&arguments.folder, &source)?;
    let folder = arguments.folder.display();
    crate::print(&format!(
        "made {folder}:\n\
         kernels/src/lib.rs     the kernel, in safe Rust\n\
         host/src/main.rs       the program that launches it, with its tests\n\n\
         cd {folder}\n\
         cargo run              on the GPU, or on a simulated one (the first build takes some minutes)\n\
         cargo test             needs no GPU\n"
    ))?;
    Ok(0)
}

/// Writes the project's files.
pub(crate) fn generate(folder: &Path, source: &Source) -> Result<()> {
    let folder = absolute(folder).with_context(|| format!("no folder can be at {}", folder.display()))?;
    if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) || folder.is_file() {
        let words = format!("{} exists and is not an empty folder; name a new one", folder.display());
        return Err(Misuse::error(words));
    }
    let name = name(&folder)?;
    for (path, template) in FILES {
        let mut text = template.replace("@name@", &name);
        for dependency in CRATES {
            text = text.replace(&format!("@{dependency}@"), &source.dependency(dependency));
        }
        let path = folder.join(path);
        let parent = path.parent().expect("a file is in a folder");
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The package's name: the folder's, if cargo takes it.
fn name(folder: &Path) -> Result<String> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_fine = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !is_fine || ["kernels", "test", "cust", "anyhow", "cuda_launch"].contains(&name) {
        return Err(Misuse::error(format!(
            "{name:?} cannot be a package's name, which the folder's name becomes: use letters, digits, - and _, begin with a \
             letter, and avoid the names of crates that the project uses"
        )));
    }
    Ok(name.to_owned())
}

/// Runs git and returns its output as one line.
fn git(root: &Path, words: &[&str]) -> Result<String> {
    let text = process::data(Command::new("git").arg("-C").arg(root).args(words))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_names_our_crates_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let by_path = folder.path().join("by-path");
        generate(&by_path, &Source::Path("/checkout/crates".into())).unwrap();
        let manifest = fs::read_to_string(by_path.join("host/Cargo.toml")).unwrap();
        assert!(manifest.contains("name = \"by-path\"\n"), "{manifest}");
        assert!(
            manifest.contains("cuda_launch = { path = \"/checkout/crates/cuda_launch\" }\n"),
            "{manifest}"
        );

        let by_git = folder.path().join("by_git");
        let source = Source::Git { url: "https://example.org/c.git".into(), commit: "0123abcd".into() };
        generate(&by_git, &source).unwrap();
        let manifest = fs::read_to_string(by_git.join("Cargo.toml")).unwrap();
        let expected = "cust_core = { git = \"https://example.org/c.git\", rev = \"0123abcd\" }\n";
        assert!(manifest.contains(expected), "{manifest}");
        for (path, _) in FILES {
            let text = fs::read_to_string(by_git.join(path)).unwrap();
            assert!(!CRATES.iter().any(|name| text.contains(&format!("@{name}@"))), "{path}");
        }
    }

    #[test]
    fn repositories_have_urls_that_cargo_takes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("other")).unwrap();
        let of = |repository: &str| url_of(repository, &root);
        assert_eq!(of("https://example.org/c.git"), "https://example.org/c.git");
        assert_eq!(of("git@example.org:someone/c.git"), "ssh://git@example.org/someone/c.git");
        assert_eq!(of("example.org:/srv/c.git"), "ssh://example.org/srv/c.git");
        assert_eq!(of("/srv/c"), "file:///srv/c");
        assert_eq!(of("."), format!("file://{}", root.display()));
        assert_eq!(of("other"), format!("file://{}/other", root.display()));
    }

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine"), "").unwrap();
        let error = generate(folder.path(), &Source::Path("crates".into())).unwrap_err().to_string();
        assert!(error.contains("exists and is not an empty folder"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn names_that_cargo_refuses_are_refused_first() {
        for folder in ["/tmp/1st", "/tmp/with space", "/tmp/kernels", "/"] {
            assert!(name(Path::new(folder)).is_err(), "{folder}");
        }
        assert_eq!(name(Path::new("/tmp/my-first_1")).unwrap(), "my-first_1");
    }
}
