//! Kernels that must not compile, and what the compiler says about each.

#[test]
fn refused() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
