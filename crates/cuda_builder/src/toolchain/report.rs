//! A readable report of the toolchain: the components found, and those missing.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{
    Compiler, INSTALL_VARIABLE, LlvmLibrary, ROUTE_VARIABLE, Route, distribution, library, llvm_library,
};

/// The state of the toolchain, as a build of the crate in some folder would find it. Looking changes nothing: nothing is
/// installed or fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The active compiler, or the distribution's if that is the one to be used.
    pub rustc: Option<PathBuf>,
    /// The version that it reports.
    pub version: Option<String>,
    /// Its root folder.
    pub sysroot: Option<PathBuf>,
    /// The source of its library, if it is there already.
    pub library_source: Option<PathBuf>,
    /// The origin from which a build gets that source; `None` if it is known that it cannot.
    pub route: Option<Route>,
    /// Its libLLVM.
    pub llvm: Option<LlvmLibrary>,
    /// Components that are missing or will be fetched, one paragraph each.
    pub missing: Vec<String>,
}

impl Report {
    /// Whether a build can start without fetching anything for itself.
    pub fn is_complete(&self) -> bool {
        self.library_source.is_some() && self.llvm.is_some()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Option<PathBuf>| {
            path.as_ref().map_or_else(|| String::from("missing"), |path| path.display().to_string())
        };
        let version = self.version.as_deref().unwrap_or("unknown version");
        writeln!(f, "compiler        {} ({version})", path(&self.rustc))?;
        writeln!(f, "sysroot         {}", path(&self.sysroot))?;
        let route = self.route.map_or_else(|| String::from("none"), |route| route.to_string());
        writeln!(f, "library source  {} (route: {route})", path(&self.library_source))?;
        match &self.llvm {
            Some(llvm) => writeln!(f, "libLLVM         {} ({})", llvm.path.display(), llvm.version)?,
            None => writeln!(f, "libLLVM         missing")?,
        }
        self.missing.iter().try_for_each(|text| writeln!(f, "missing: {text}"))
    }
}

/// Finds the components that a build of the crate in `krate` would use. `scratch` is the build's
/// [`target_dir`](crate::CudaBuilder::target_dir), where a distribution's compiler may have been unpacked.
pub fn report(krate: &Path, scratch: &Path) -> Report {
    let mut report = Report::default();
    let forced = std::env::var(ROUTE_VARIABLE).ok().filter(|name| !name.is_empty());
    let forced = match forced.map(|name| name.parse::<Route>()).transpose() {
        Ok(forced) => forced,
        Err(error) => {
            report.missing.push(error.to_string());
            return report;
        }
    };
    if forced == Some(Route::Distribution) {
        of_distribution(&mut report, scratch);
        return report;
    }
    match Compiler::active(krate) {
        Ok(active) => of_active(&mut report, &active, forced, scratch),
        Err(error) => report.missing.push(error.to_string()),
    }
    report
}

fn of_active(report: &mut Report, active: &Compiler, forced: Option<Route>, scratch: &Path) {
    match library::installed(&active.sysroot) {
        Ok(source) => {
            report.route = Some(Route::Toolchain);
            report.library_source = Some(source);
        }
        Err(reason) => {
            // An unpacked one was used by an earlier build, so nothing is missing.
            if forced.is_none() && distribution::unpacked(&active.cargo, &distribution_root(scratch)).is_ok()
            {
                of_distribution(report, scratch);
                return;
            }
            report.missing.push(format!(
                "the source of `core`: {reason}. Run `{}`, or build with {INSTALL_VARIABLE}=1 in the environment, which runs it.",
                library::command(active)
            ));
            report.route = (forced != Some(Route::Toolchain)).then_some(Route::Rustup);
        }
    }
    of_compiler(report, active);
}

fn of_distribution(report: &mut Report, scratch: &Path) {
    report.route = Some(Route::Distribution);
    let cargo = super::cargo();
    let found = distribution::installed(&cargo)
        .or_else(|_| distribution::unpacked(&cargo, &distribution_root(scratch)));
    match found {
        Ok((compiler, source)) => {
            report.library_source = Some(source);
            of_compiler(report, &compiler);
        }
        Err(reason) => report.missing.push(format!(
            "a distribution's compiler with its source: {reason}. With {INSTALL_VARIABLE}=1 or {ROUTE_VARIABLE}=distribution in the environment a \
             build fetches Debian's packages where there is apt."
        )),
    }
}

fn distribution_root(scratch: &Path) -> PathBuf {
    scratch.join(distribution::FOLDER)
}

fn of_compiler(report: &mut Report, compiler: &Compiler) {
    report.rustc = Some(compiler.rustc.clone());
    report.version = Some(compiler.version.clone());
    report.sysroot = Some(compiler.sysroot.clone());
    match llvm_library::find(compiler) {
        Ok(llvm) => report.llvm = Some(llvm),
        Err(error) => report.missing.push(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn this_machine_can_be_described() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let report = report(here, &here.join("no-such-folder"));
        assert!(
            report.version.as_deref().is_some_and(|version| version.starts_with("rustc 1.")),
            "{report:?}"
        );
        let text = report.to_string();
        for part in ["compiler        /", "sysroot         /", "libLLVM         /", "(22.1."] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert_eq!(report.is_complete(), report.missing.is_empty(), "{report:?}");
    }

    #[test]
    fn with_a_distributions_compiler_in_use_nothing_is_missing() {
        use std::os::unix::fs::PermissionsExt;

        let real = Compiler::active(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let without_source = testing::compiler(&folder.path().join("toolchain"));
        let mut report = Report::default();
        of_active(&mut report, &without_source, None, folder.path());
        assert_eq!((report.route, report.is_complete()), (Some(Route::Rustup), false));
        assert!(report.missing[0].starts_with("the source of `core`: there is no "), "{report:?}");

        // An unpacked one: a script that answers as a compiler of these packages would, and its files.
        let root = distribution_root(folder.path()).join("usr");
        testing::library_source(&root);
        let llvm = llvm_library::find(&real).unwrap().path;
        std::os::unix::fs::symlink(&llvm, root.join("lib").join(llvm.file_name().unwrap())).unwrap();
        std::fs::create_dir(root.join("bin")).unwrap();
        let rustc = root.join("bin/rustc");
        let answers = format!(
            "#!/bin/sh\nif [ \"$1\" = --print ]; then echo '{}'; else exec '{}' \"$@\"; fi\n",
            root.display(),
            real.rustc.display()
        );
        std::fs::write(&rustc, answers).unwrap();
        std::fs::set_permissions(&rustc, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut report = Report::default();
        of_active(&mut report, &without_source, None, folder.path());
        assert_eq!(report.missing, [""; 0]);
        assert_eq!((report.route, report.is_complete()), (Some(Route::Distribution), true));
        assert!(report.library_source.as_ref().is_some_and(|source| source.starts_with(&root)), "{report:?}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut report = Report::default();
        report.missing.push(String::from("the source of `core`: there is none."));
        let text = report.to_string();
        assert!(text.contains("library source  missing (route: none)"), "{text}");
        assert!(text.contains("libLLVM         missing"), "{text}");
        assert!(text.contains("missing: the source of `core`"), "{text}");
        assert!(!report.is_complete());
    }
}
