//! `mma.sync`: products of matrices by a warp.

use crate::exec_common::{Bench, HEAD};
use half::bf16;

/// Multiplies 16 x 16 by 16 x 8: `a` in rows, `b` in columns, both as `ldmatrix` loads them, and adds `c`, in rows.
const MULTIPLY: &str = ".visible .entry multiply(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{
	.reg .b32 %r<20>;
	.reg .f32 %f<10>;
	.reg .b64 %rd<10>;
	.shared .align 16 .b8 tile[768];
	mov.u32 %r1, %tid.x;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	ld.param.u64 %rd4, [d];
	// Sixteen bytes of A each, and of B for the first sixteen lanes and again for the others.
	mad.wide.u32 %rd1, %r1, 16, %rd1;
	ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1];
	mov.u32 %r6, tile;
	mad.lo.u32 %r7, %r1, 16, %r6;
	st.shared.v4.b32 [%r7], {%r2, %r3, %r4, %r5};
	and.b32 %r8, %r1, 15;
	mad.wide.u32 %rd2, %r8, 16, %rd2;
	ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd2];
	mad.lo.u32 %r7, %r8, 16, %r6;
	st.shared.v4.b32 [%r7+512], {%r2, %r3, %r4, %r5};
	bar.sync 0;
	// Row lane % 16 of A, unit lane / 16.
	shr.u32 %r9, %r1, 4;
	mad.lo.u32 %r7, %r8, 32, %r6;
	mad.lo.u32 %r7, %r9, 16, %r7;
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r7];
	// Column lane % 8 of B, unit lane / 8 % 2.
	and.b32 %r9, %r1, 7;
	mad.lo.u32 %r7, %r9, 32, %r6;
	shl.b32 %r9, %r1, 1;
	and.b32 %r9, %r9, 16;
	add.u32 %r7, %r7, %r9;
	ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r14, %r15}, [%r7+512];
	// Two neighbours of row lane / 4, and of the row eight below.
	mad.wide.u32 %rd3, %r1, 8, %rd3;
	ld.global.v2.f32 {%f1, %f2}, [%rd3];
	ld.global.v2.f32 {%f3, %f4}, [%rd3+256];
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f5, %f6, %f7, %f8}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f1, %f2, %f3, %f4};
	mad.wide.u32 %rd4, %r1, 8, %rd4;
	st.global.v2.f32 [%rd4], {%f5, %f6};
	st.global.v2.f32 [%rd4+256], {%f7, %f8};
	ret;
}
";

/// The product plus `c`, for matrices given by row and column.
fn multiply(a: impl Fn(usize, usize) -> f32, b: impl Fn(usize, usize) -> f32, c: &[f32]) -> Vec<f32> {
    let bench = Bench::with_head(MULTIPLY);
    let bits = |value: f32| bf16::from_f32(value).to_bits();
    let a: Vec<u16> = (0..256).map(|at| bits(a(at / 16, at % 16))).collect();
    let b: Vec<u16> = (0..128).map(|at| bits(b(at % 16, at / 16))).collect();
    let [a, b] = [a, b].map(|matrix| bench.upload(&matrix));
    let (c, d) = (bench.upload(c), bench.upload(&[f32::NAN; 128]));
    bench.run("multiply", [1; 3], [32, 1, 1], &[a.into(), b.into(), c.into(), d.into()]);
    bench.download(d, 128)
}

#[test]
fn whole_numbers_are_multiplied_exactly() {
    let a = |row: usize, column: usize| ((row * 37 + column * 11) % 17) as f32 - 8.0;
    let b = |row: usize, column: usize| ((row * 23 + column * 5) % 13) as f32 - 6.0;
    let c: Vec<f32> = (0..128).map(|at| (at as f32 - 64.0) * 1000.0).collect();
    let found = multiply(a, b, &c);
    for (at, found) in found.into_iter().enumerate() {
        let (row, column) = (at / 8, at % 8);
        let sum: f32 = (0..16).map(|nth| a(row, nth) * b(nth, column)).sum();
        assert_eq!(found, c[at] + sum, "row {row}, column {column}");
    }
}

#[test]
fn other_sums_are_rounded_once() {
    // 1 + 2^-30 times as many as sixteen: in single precision each alone would be lost.
    let tiny = 2_f32.powi(-15);
    let found = multiply(|_, _| tiny, |_, _| tiny, &[1.0; 128]);
    assert!(found.iter().all(|&sum| sum == 1.0));
    // 16 of 2^-27 are 2^-23, the last bit of 1.
    let found = multiply(|_, _| 2_f32.powi(-13), |_, _| 2_f32.powi(-14), &[1.0; 128]);
    assert!(found.iter().all(|&sum| sum == 1.0 + f32::EPSILON), "{found:?}");
    // Half of that, with a tie to even.
    let found = multiply(|_, _| 2_f32.powi(-14), |_, _| 2_f32.powi(-14), &[1.0; 128]);
    assert!(found.iter().all(|&sum| sum == 1.0));
}

#[test]
fn a_nan_is_the_canonical_one() {
    let a = |row: usize, column: usize| if (row, column) == (3, 5) { f32::INFINITY } else { 1.0 };
    let found = multiply(a, |row, _| if row == 5 { 0.0 } else { 1.0 }, &[0.0; 128]);
    for (at, found) in found.into_iter().enumerate() {
        let expected = if at / 8 == 3 { 0x7FFF_FFFF } else { 15_f32.to_bits() };
        assert_eq!(found.to_bits(), expected, "{at}");
    }
}

#[test]
fn other_products_and_parts_of_a_warp_are_refused() {
    let complaint = |product: &str| {
        let text = format!(
            "{HEAD}.visible .entry k()\n{{\n.reg .b32 %r<20>;\n.reg .f32 %f<9>;\n{product}\nret;\n}}\n"
        );
        let memory = simt::memory::Memory::new(1 << 30).expect("address space");
        let module = simt::ptx::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        simt::exec::Program::load(module, &memory).err().map(|error| error.to_string())
    };
    let known = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
    let operands = "{%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f5, %f6, %f7, %f8};";
    assert_eq!(complaint(&format!("{known} {operands}")), None);
    let other = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
    let says = complaint(&format!("{other} {operands}")).expect("it is unknown");
    assert!(says.starts_with(&format!("unsupported instruction {other}")), "{says}");
    let says = complaint(&format!("{known} {{%f1, %f2}}, {{%r1}}, {{%r5, %r6}}, {{%f5}};"));
    assert!(says.is_some_and(|says| says.contains("expected lists of 4, 4, 2 and 4 registers")));

    let bench = Bench::with_head(MULTIPLY);
    let (matrix, sums) = (bench.upload(&[0_u16; 256]), bench.upload(&[0_f32; 128]));
    let arguments = [matrix.into(), matrix.into(), sums.into(), sums.into()];
    let failure = bench.try_run("multiply", [1; 3], [24, 1, 1], &arguments).expect_err("24 lanes");
    assert!(format!("{failure:?}").contains("ldmatrix by lanes 0x00ffffff of a warp"), "{failure:?}");
}
