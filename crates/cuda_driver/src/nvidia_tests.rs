use super::*;

#[path = "../tests/support/made.rs"]
mod made;

/// A search that finds nothing on the machine that runs the test.
fn search(library: &'static str, folders: &[&Path]) -> Search {
    Search { named: None, library, folders: folders.iter().map(|folder| folder.to_path_buf()).collect() }
}

fn named(path: impl Into<OsString>) -> Search {
    Search { named: Some(path.into()), ..Search::of_this_machine() }
}

#[test]
fn a_machine_without_driver_is_told_what_was_looked_for_and_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second, third) =
        (folder.path().join("first"), folder.path().join("second"), folder.path().join("third"));
    std::fs::create_dir(&third).expect("a folder");
    std::fs::write(third.join("libno-such-driver.so.1"), "text").expect("a file");
    let error = search("libno-such-driver.so.1", &[&first, &second, &third]).bind().expect_err("no driver");

    let BindError::NotFound { library, attempts } = &error else { panic!("{error:?}") };
    assert_eq!(*library, "libno-such-driver.so.1");
    let paths: Vec<_> = attempts.iter().map(|attempt| attempt.path.clone()).collect();
    let expected = [
        PathBuf::from("libno-such-driver.so.1"),
        first.join("libno-such-driver.so.1"),
        second.join("libno-such-driver.so.1"),
        third.join("libno-such-driver.so.1"),
    ];
    assert_eq!(paths, expected);

    let message = error.to_string().replace(&folder.path().display().to_string(), "FOLDER");
    assert_eq!(
        message,
        "no NVIDIA driver found. Looked for libno-such-driver.so.1 where the system's loader looks \
         (libno-such-driver.so.1: cannot open shared object file: No such file or directory) and in \
         FOLDER/first, FOLDER/second (no such file), FOLDER/third \
         (FOLDER/third/libno-such-driver.so.1: file too short). On a machine with an NVIDIA GPU, install NVIDIA's \
         driver (`nvidia-smi` shows one that works), start a container with its GPUs passed in (`--gpus all`), or \
         name the library in the environment variable COALESCE_DRIVER."
    );
    assert!(crate::bound().is_none());
}

#[test]
fn a_named_file_that_is_no_library_is_refused_with_the_loaders_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("driver.txt");
    std::fs::write(&file, "A driver library should be here.\n".repeat(100)).expect("a file");
    let error = named(&file).bind().expect_err("a text");
    let BindError::NotLoadable { path, words } = &error else { panic!("{error:?}") };
    assert_eq!(*path, file);
    assert!(words.contains("invalid ELF header"), "{words}");
    assert!(error.to_string().contains("unset it"), "{error}");
    assert!(crate::bound().is_none());
}

#[test]
fn a_named_file_that_is_missing_is_not_replaced_by_another() {
    let error = named("/no/such/folder/libcuda.so.1").bind().expect_err("no file");
    assert_eq!(
        error,
        BindError::NotLoadable {
            path: PathBuf::from("/no/such/folder/libcuda.so.1"),
            words: "no such file".to_owned()
        }
    );
}

#[test]
fn another_library_is_no_driver() {
    let error = named("libm.so.6").bind().expect_err("a library for mathematics");
    let BindError::NotADriver { path } = &error else { panic!("{error:?}") };
    assert_eq!(path, Path::new("libm.so.6"));
    assert!(error.to_string().starts_with("libm.so.6 is a library but not a CUDA driver: it has no cuInit"));

    // The same by searching: a library with the driver's name must be the driver.
    let error = search("libm.so.6", &[]).bind().expect_err("a library for mathematics");
    assert_eq!(error, BindError::NotADriver { path: PathBuf::from("libm.so.6") });
    assert!(crate::bound().is_none());
}

#[test]
fn a_driver_that_does_not_start_names_its_version_code_and_cure() {
    let error = BindError::NotStarted {
        path: PathBuf::from("/usr/lib64/libcuda.so.1"),
        version: Some(DriverVersion(12080)),
        code: Code(803),
    };
    let message = error.to_string();
    assert!(
        message.starts_with(
            "NVIDIA's driver /usr/lib64/libcuda.so.1 (CUDA 12.8) does not start: cuInit gave \
             CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803). The library and the loaded kernel module are of different \
             releases: restart"
        ),
        "{message}"
    );
}

#[test]
fn a_stub_is_passed_over_for_a_driver_behind_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (stubs, drivers) = (folder.path().join("stubs"), folder.path().join("drivers"));
    for (folder, code) in [(&stubs, 34), (&drivers, 0)] {
        std::fs::create_dir(folder).expect("a folder");
        made::library(folder, "libmade-driver.so.1", code);
    }
    let found = search("libmade-driver.so.1", &[&stubs, &drivers]).find().expect("a driver");
    assert_eq!(found.path, drivers.join("libmade-driver.so.1").canonicalize().expect("a path"));
    assert_eq!(found.version(), Ok(DriverVersion(13000)));

    let error = search("libmade-driver.so.1", &[&stubs]).find().err().expect("nothing but a stub");
    let path = stubs.join("libmade-driver.so.1").canonicalize().expect("a path");
    assert_eq!(error, BindError::StubLibrary { path });
}
