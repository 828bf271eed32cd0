//! A C program that asks for every function by `cuGetProcAddress` and loads code by `cuLibrary*`.

use std::process::Command;

use super::{file, run, stderr, stdout};

const KERNEL: &str = "KERNEL scale of 1, same 1, parameter 1 at 8 of 4, 1024 threads, 65536 bytes\n\
    VALUES 9 891, counter 5 of 4\n\
    AFTERWARDS 400 201\n";

#[test]
fn a_c_program_loads_libraries() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("client");
    // The linker that Rust needs is a C compiler.
    let built =
        Command::new("cc").arg(file("client.c")).arg("-o").arg(&program).args(["-w", "-ldl"]).status();
    assert!(built.expect("cc, which links Rust programs too").success(), "client.c does not compile");
    let mut command = Command::new(&program);
    command.args(["scale_plain.fatbin", "scale_zstd.fatbin", "scale_lz4.fatbin", "scale.cubin"].map(file));
    let output = run(command, &[]);
    let expected =
        format!("DEVICE 0, of CUDA 11.8: code 500, status 2\n{}REFUSED with 209\n", KERNEL.repeat(3));
    assert_eq!(stdout(&output), expected, "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.starts_with(
            "simulated driver: a module was given as a cubin, machine code for sm_90, without PTX. The simulated driver \
             executes PTX alone. Ask the compiler for PTX: `nvcc --ptx`"
        ),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}
