//! Expansions, token by token, and the wording of refusals.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{address_space, export, gpu_only, kernel};

fn expand_kernel(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    kernel::expand(&syn::parse2(options)?, syn::parse2(item)?)
}

#[track_caller]
fn assert_tokens(expansion: syn::Result<TokenStream>, expected: TokenStream) {
    let expansion = expansion.unwrap_or_else(|error| panic!("refused: {error}"));
    assert_eq!(expansion.to_string(), expected.to_string());
}

/// The wording of each error, in order.
fn refusals(expansion: syn::Result<TokenStream>) -> Vec<String> {
    expansion.expect_err("accepted").into_iter().map(|error| error.to_string()).collect()
}

/// The tokens as text without spaces: how many of them stand between two `>` depends on where the tokens come from.
fn compact(tokens: impl ToString) -> String {
    tokens.to_string().split_whitespace().collect()
}

/// What the device build sees of an expansion.
fn device(expansion: syn::Result<TokenStream>) -> String {
    let text = expansion.unwrap_or_else(|error| panic!("refused: {error}")).to_string();
    let host = quote!(#[cfg(not(target_arch = "nvptx64"))]).to_string();
    let (device, _) = text.split_once(&host).expect("the host's part comes last");
    device.trim().to_owned()
}

#[test]
fn an_architecture_is_the_last_part_of_the_descriptor() {
    let function = quote! { pub unsafe fn product(k: u32) {} };
    let text = device(expand_kernel(quote!(arch = "90a", launch_bounds(384)), function.clone()));
    assert!(text.contains(r#", b"\0arch=compute_90a""#), "{text}");
    assert!(text.contains(&format!("[u8 ; {}usize]", "product,384,0,-,arch=compute_90a".len())), "{text}");
    let host = |options| expand_kernel(options, function.clone()).expect("a kernel").to_string();
    let constant = "const ARCH : :: core :: option :: Option < & 'static str > = :: core :: option :: Option :: Some (\"compute_90a\") ;";
    assert!(host(quote!(arch = "90a")).contains(constant), "{}", host(quote!(arch = "90a")));
    assert!(!host(quote!()).contains("const ARCH"));
    for wrong in ["", "9", "90A", "sm_90a", "90af", "1000"] {
        let error = refusals(expand_kernel(quote!(arch = #wrong), function.clone()));
        assert!(error[0].starts_with(&format!("`{wrong}` is not a compute capability")), "{error:?}");
    }
    let twice = refusals(expand_kernel(quote!(arch = "80", arch = "90a"), function));
    assert_eq!(twice, ["arch is given twice"]);
}

#[test]
fn clusters_are_in_the_descriptor_and_in_the_contract() {
    let function = quote! { pub unsafe fn product(k: u32) {} };
    let expand = |options| expand_kernel(options, function.clone());
    let text = device(expand(quote!(cluster(2), arch = "90a")));
    assert!(
        text.contains(r#", b"\0arch=compute_90a" , b"\0cluster=" , b"2" , b"," , b"1" , b"," , b"1""#),
        "{text}"
    );
    let descriptor = "product,0,0,-,arch=compute_90a,cluster=2,1,1";
    assert!(text.contains(&format!("[u8 ; {}usize]", descriptor.len())), "{text}");
    let text = compact(expand(quote!(cluster(PAIR, 2, 1))).expect("accepted"));
    for part in [
        quote!(b"\0cluster=", &::cuda_std::__kernel::decimal(PAIR, 8u32), b",", b"2", b",", b"1"),
        quote!(
            const CLUSTER: ::cuda_std::launch::Cluster = ::cuda_std::launch::Cluster::new([PAIR, 2, 1]);
        ),
        quote!(#[doc = " - `grid a multiple of its clusters of PAIR x 2 x 1 blocks`"]),
        quote!(cluster.check(NAME, &shape)?;),
    ] {
        assert!(text.contains(&compact(&part)), "{part}\n{text}");
    }

    let axes = "cluster takes its blocks along one or three axes: cluster(x) or cluster(x, y, z)";
    let number = "the blocks of a cluster: expected a whole number in 1..=8";
    for (options, error) in [
        (quote!(cluster), axes),
        (quote!(cluster()), axes),
        (quote!(cluster(2, 2)), axes),
        (quote!(cluster(0)), number),
        (quote!(cluster(16)), number),
        (quote!(cluster(4, 4, 1)), "a cluster has at most 8 blocks, and this one 16"),
        (quote!(cluster(2), cluster(2)), "cluster is given twice"),
        (
            quote!(cluster(2), arch = "80"),
            "clusters begin with compute capability 9.0, and this kernel is for compute_80 on: write arch = \"90\" or later",
        ),
    ] {
        assert_eq!(refusals(expand(options)), [error]);
    }
}

#[test]
fn a_grid_constant_is_found_by_its_name_in_ptx() {
    let function = quote! { pub unsafe fn product(x: &[f32], map: GridConstant<'_, TensorMap>, n: u32) {} };
    let expansion = expand_kernel(quote!(), function);
    let text = compact(expansion.expect("accepted"));
    let asm = "{{ .reg .b64 %at; mov.b64 %at, product_param_2; cvta.param.u64 {}, %at; }}";
    for part in [
        quote!(parameter_1: [u8; ::core::mem::size_of::<TensorMap>()], parameter_2: u32),
        quote!(::cuda_std::GridConstant::<TensorMap>::new({
            let address: usize;
            ::core::arch::asm!(#asm, out(reg64) address, options(pure, nomem, nostack, preserves_flags));
            &*::core::ptr::with_exposed_provenance::<TensorMap>(address)
        })),
        quote!(&[::cuda_std::__kernel::Access::<f32>::BYTE, b'-', b'c', b'-']),
        quote!(::cuda_std::launch::Slice<'argument, f32>, TensorMap, u32),
        quote!(ty: "GridConstant<TensorMap>"),
        quote!(words.push_constant(argument_1);),
    ] {
        assert!(text.contains(&compact(&part)), "{part}\n{text}");
    }
}

#[test]
fn a_kernel_is_a_function_an_entry_point_and_a_descriptor() {
    let function = quote! {
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn saxpy(factor: f32, x: &[f32], mut y: &mut [f32], one: &u32) { y[0] = factor * x[0]; }
    };
    let expected = quote! {
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #[allow(dead_code)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn saxpy(factor: f32, x: &[f32], mut y: &mut [f32], one: &u32) { y[0] = factor * x[0]; }

        const _: () = {
            const fn a_kernel_parameter_must_be_copy<T: ::core::marker::Copy>() {}
            #[allow(dead_code, clippy::extra_unused_lifetimes)]
            fn kernel_parameters_are_copy() { a_kernel_parameter_must_be_copy::<f32>(); }
        };

        #[allow(dead_code, unused_imports)]
        const _: () = {
            #[cfg(target_arch = "nvptx64")]
            #[allow(clippy::missing_safety_doc, unused_variables, unused_mut)]
            #[unsafe(export_name = "saxpy")]
            pub unsafe extern "ptx-kernel" fn entry(
                parameter_0: f32,
                parameter_1: *const f32, parameter_1_length: usize,
                parameter_2: *mut f32, parameter_2_length: usize,
                parameter_3: &u32
            ) {
                unsafe {
                    saxpy(
                        parameter_0,
                        ::core::slice::from_raw_parts(parameter_1, parameter_1_length),
                        ::core::slice::from_raw_parts_mut(parameter_2, parameter_2_length),
                        parameter_3
                    )
                }
            }

            #[cfg(target_arch = "nvptx64")]
            #[allow(unused_imports)]
            use ::cuda_std::__kernel::MayBeWritten as _;

            #[cfg(target_arch = "nvptx64")]
            #[used]
            #[allow(clippy::byte_char_slices)]
            #[unsafe(link_section = ".cuda.kernel")]
            static DESCRIPTOR: [u8; 18usize] = ::cuda_std::__kernel::descriptor(&[
                b"saxpy", b"\0", b"256", b"\0", b"2", b"\0",
                &[b'-', ::cuda_std::__kernel::Access::<f32>::BYTE, b'-', b'-', b'-', b'-']
            ]);
        };
    };
    assert_eq!(device(expand_kernel(quote!(launch_bounds(256, 2)), function)), expected.to_string());
}

#[test]
fn a_safe_kernel_gets_its_parameters_from_its_library() {
    let function = quote! {
        fn scale(thread: Thread, x: In<f32, Each<N>>, y: Out<f32, Each<N>>, n: Extent<N>, factor: f32) {}
    };
    let text = device(expand_kernel(quote!(), function));
    let text = compact(text);
    let contains = |tokens: TokenStream| assert!(text.contains(&compact(&tokens)), "{tokens}\n{text}");
    contains(quote!(
        pub unsafe extern "ptx-kernel" fn entry(
            parameter_1: *const f32, parameter_1_length: usize,
            parameter_2: *mut f32,
            parameter_3: <Extent<N> as ::cuda_safe::__kernel::Value>::Wire,
            parameter_4: <f32 as ::cuda_safe::__kernel::Value>::Wire
        )
    ));
    contains(quote!(let __launch = Launch { number_0: parameter_3 };));
    // Marked as safe for the audit; whether an array is only read is for its type to say.
    contains(quote!(
        &[<In<f32, Each<N>> as ::cuda_safe::__kernel::FromSlice<Launch>>::ACCESS, b'-', b'-', b'-', b'-'],
        b"\0safe"
    ));
    contains(quote!(
        fn scale(thread: Thread, x: In<f32, Each<N>>, y: Out<f32, Each<N>>, n: Extent<N>, factor: f32) {
            let _ = n;
        }
    ));
}

#[test]
fn a_generic_function_is_one_kernel_for_each_name() {
    let function = quote! {
        fn fill<T: Number, const W: u32>(thread: Thread, a: Out<T, EachThread>) {}
    };
    let text = expand_kernel(quote!(fill_f32 = <f32, 16>, fill_f64 = <f64, 32>), function).expect("accepted");
    let text = compact(text);
    for (name, precision, width) in
        [("fill_f32", quote!(f32), quote!(16)), ("fill_f64", quote!(f64), quote!(32))]
    {
        for part in [
            quote!(type T = #precision;),
            quote!(const W: u32 = #width;),
            quote!(#[unsafe(export_name = #name)]),
            quote!(fill::<#precision, #width>),
        ] {
            assert!(text.contains(&compact(&part)), "{part}\n{text}");
        }
    }
    let refusal = refusals(expand_kernel(
        quote!(fill_f32 = <f32>),
        quote!(
            fn fill<T, U>(thread: Thread) {}
        ),
    ));
    assert_eq!(refusal, ["the function has 2 generic parameters, and this instance names 1"]);
}

#[test]
fn what_a_safe_kernel_cannot_take_is_refused() {
    let refusal = |item: TokenStream| refusals(expand_kernel(quote!(), item)).join("; ");
    assert!(
        refusal(quote!(fn k(x: u32) {})).starts_with(
            "a safe kernel's first parameter is the `Thread` or the `Block` whose code it is, as in `fn k(thread: Thread, ..)`"
        )
    );
    assert!(
        refusal(quote!(
            fn k(t: Thread, y: &mut [f32]) {}
        ))
        .contains("as in `y: Out<f32, Each<N>>`")
    );
    assert!(
        refusal(quote!(
            fn k(t: Thread, y: *mut f32) {}
        ))
        .starts_with("a safe kernel takes no pointers")
    );
    assert!(
        refusal(quote!(
            fn k(t: Thread, u: Thread) {}
        ))
        .starts_with("a safe kernel has one `Thread` or `Block`")
    );
}

#[test]
fn types_and_clauses_are_written_as_people_write_them() {
    let readable = |tokens: TokenStream| kernel::readable(tokens);
    assert_eq!(readable(quote!(In<f32, AlongRows<Ny, Nx>>)), "In<f32, AlongRows<Ny, Nx>>");
    assert_eq!(readable(quote!(&[f32])), "&[f32]");
    assert_eq!(readable(quote!(*mut cuda_std::F32x4)), "*mut cuda_std::F32x4");
    assert_eq!(readable(quote!(source.len() == nx * ny)), "source.len() == nx * ny");
    assert_eq!(readable(quote!(block.x % 32 == 0 && n <= 32)), "block.x % 32 == 0 && n <= 32");
    assert_eq!(readable(quote!((block.x + 8) * 4)), "(block.x + 8) * 4");
}

/// What stands between the descriptor's brackets.
fn descriptor(options: TokenStream, item: TokenStream) -> String {
    let text = expand_kernel(options, item).expect("accepted").to_string();
    let (_, after) = text.split_once("descriptor (& [").expect("a descriptor");
    after.split_once("]) ;").expect("its end").0.trim().to_owned()
}

#[test]
fn launch_bounds_may_be_left_out_or_be_constants() {
    let item = quote!(
        unsafe fn k() {}
    );
    let tokens = |expected: TokenStream| expected.to_string();
    assert_eq!(
        descriptor(quote!(), item.clone()),
        tokens(quote!(b"k", b"\0", b"0", b"\0", b"0", b"\0", &[]))
    );
    assert_eq!(
        descriptor(quote!(launch_bounds(THREADS)), item.clone()),
        tokens(quote!(
            b"k",
            b"\0",
            &::cuda_std::__kernel::decimal(THREADS, 1024u32),
            b"\0",
            b"0",
            b"\0",
            &[]
        ))
    );
    assert_eq!(
        descriptor(quote!(grid_dim = 1d, block_dim = 2d, launch_bounds(64)), item),
        tokens(quote!(b"k", b"\0", b"64", b"\0", b"0", b"\0", &[]))
    );
}

#[test]
fn named_lifetimes_do_not_reach_the_descriptor() {
    let text = descriptor(
        quote!(),
        quote!(
            unsafe fn k<'a>(x: &'a [&'a f32], r: &'a [f32]) {}
        ),
    );
    let expected = quote!(&[
        ::cuda_std::__kernel::Access::<&'static f32>::BYTE,
        b'-',
        ::cuda_std::__kernel::Access::<f32>::BYTE,
        b'-'
    ]);
    assert!(text.ends_with(&expected.to_string()), "{text}");
}

#[test]
fn what_repeats_the_export_is_dropped() {
    let text = expand_kernel(
        quote!(),
        quote! { #[no_mangle] #[unsafe(no_mangle)] #[inline] pub unsafe extern "C" fn k() {} },
    );
    let text = text.expect("accepted").to_string();
    assert!(
        !text.contains("no_mangle") && !text.contains("extern \"C\"") && text.contains("# [inline]"),
        "{text}"
    );
}

#[test]
fn all_that_is_wrong_with_a_kernel_is_said_at_once() {
    let expansion = expand_kernel(
        quote!(),
        quote!(
            async fn k<T>(&self, x: T) -> u32 {
                0
            }
        ),
    );
    assert_eq!(
        refusals(expansion),
        [
            "a kernel cannot be async: nothing polls it on the GPU",
            "a generic kernel needs a name for each type that it is compiled for, because the host looks it up by its name: \
             `#[kernel(name_f32 = <f32>, name_f64 = <f64>)]`",
            "a kernel cannot take `self`: it must be a free function",
            "a kernel returns nothing: write results through a pointer or slice parameter",
        ]
    );
}

#[test]
fn parameters_that_the_host_cannot_pass_are_refused() {
    let refusal =
        |ty: TokenStream| refusals(expand_kernel(quote!(), quote!(unsafe fn k(x: #ty) {}))).join("; ");
    assert_eq!(refusal(quote!(&str)), "a kernel cannot take a `str`: take its bytes, `&[u8]`");
    assert!(refusal(quote!(&dyn Fn())).starts_with("a kernel cannot take a trait object"));
    assert!(refusal(quote!(*mut [f32])).starts_with("a kernel cannot take a raw slice pointer"));
    assert!(refusal(quote!(impl Copy)).starts_with("a kernel cannot be generic"));
}

#[test]
fn options_are_named_when_one_is_unknown() {
    let refusal = |options: TokenStream| {
        refusals(expand_kernel(
            options,
            quote!(
                unsafe fn k() {}
            ),
        ))
        .join("; ")
    };
    let all = "launch_bounds(threads), launch_bounds(threads, min_blocks), requires(clause, ..), shared = bytes, \
               arch = \"90a\", cluster(x), cluster(x, y, z), name = <type, ..>, grid_dim = 1d|2d|3d, block_dim = 1d|2d|3d";
    assert_eq!(
        refusal(quote!(launch_bound(256))),
        format!("unknown option `launch_bound` of #[kernel], expected one of: {all}")
    );
    assert_eq!(refusal(quote!(256)), format!("expected an option of #[kernel], one of: {all}"));
    assert_eq!(
        refusal(quote!(launch_bounds(0))),
        "the threads of a block: expected a whole number in 1..=1024"
    );
    assert_eq!(
        refusal(quote!(launch_bounds(1025))),
        "the threads of a block: expected a whole number in 1..=1024"
    );
    assert_eq!(
        refusal(quote!(launch_bounds("a"))),
        "the threads of a block: expected a whole number in 1..=1024"
    );
    assert_eq!(
        refusal(quote!(launch_bounds(32, 33))),
        "the blocks of a multiprocessor: expected a whole number in 1..=32"
    );
    assert!(refusal(quote!(launch_bounds())).starts_with("launch_bounds takes one or two numbers"));
    assert!(refusal(quote!(launch_bounds(1, 2, 3))).starts_with("launch_bounds takes one or two numbers"));
    assert!(refusal(quote!(launch_bounds)).starts_with("launch_bounds needs its numbers in parentheses"));
    assert_eq!(refusal(quote!(launch_bounds(1), launch_bounds(2))), "launch_bounds is given twice");
    assert_eq!(refusal(quote!(grid_dim = 4d)), "unknown dimension `4d`, expected 1d, 2d or 3d");
}

#[test]
fn an_address_space_is_a_section() {
    for (space, section) in [
        (quote!(shared), ".cuda.shared"),
        (quote!(constant), ".cuda.constant"),
        (quote!(global), ".cuda.global"),
        (quote!(managed), ".cuda.managed"),
    ] {
        assert_tokens(
            address_space::expand(
                space,
                quote!(
                    static mut X: u32 = 1;
                ),
            ),
            quote! {
                #[cfg_attr(target_os = "cuda", unsafe(link_section = #section))]
                static mut X: u32 = 1;
            },
        );
    }
}

#[test]
fn other_address_spaces_are_refused() {
    let refusal =
        |space: TokenStream, item: TokenStream| refusals(address_space::expand(space, item)).join("; ");
    let variable = quote!(
        static mut X: u32 = 1;
    );
    assert!(refusal(quote!(local), variable.clone()).starts_with("a static cannot be in the local space"));
    assert_eq!(
        refusal(quote!(texture), variable.clone()),
        "unknown address space `texture`, expected one of: shared, constant, global, managed"
    );
    assert!(refusal(quote!(), variable).starts_with("#[address_space] needs the space in parentheses"));
    assert!(
        refusal(
            quote!(shared),
            quote!(
                fn f() {}
            )
        )
        .starts_with("#[address_space(shared)] belongs on a static")
    );
}

#[test]
fn what_is_externally_visible_leaves_its_name() {
    assert_tokens(
        export::expand(
            quote!(),
            quote!(
                #[unsafe(export_name = "scale_2")]
                pub fn scale() {}
            ),
        ),
        quote! {
            #[unsafe(export_name = "scale_2")] pub fn scale() {}

            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #[used]
                #[unsafe(link_section = ".cuda.export")]
                static EXPORT: [u8; 7usize] = *b"scale_2";
            };
        },
    );
    assert_tokens(
        export::expand(
            quote!(),
            quote!(
                #[no_mangle]
                pub static TABLE: u32 = 1;
            ),
        ),
        quote! {
            #[cfg_attr(target_arch = "nvptx64", used)]
            #[no_mangle] pub static TABLE: u32 = 1;
        },
    );
    let refusal = refusals(export::expand(
        quote!(),
        quote!(
            pub fn scale() {}
        ),
    ));
    assert!(refusal[0].contains("add #[unsafe(no_mangle)] to `scale`"), "{refusal:?}");
    let refusal = refusals(export::expand(
        quote!(),
        quote!(
            struct Scale;
        ),
    ));
    assert_eq!(refusal, ["#[externally_visible] belongs on a function or a static"]);
}

#[test]
fn a_gpu_only_function_has_a_host_twin() {
    assert_tokens(
        gpu_only::expand(
            quote!(),
            quote!(
                #[inline]
                pub fn clock(x: u32) -> u64 {
                    now(x)
                }
            ),
        ),
        quote! {
            #[cfg(target_arch = "nvptx64")]
            #[inline]
            pub fn clock(x: u32) -> u64 { now(x) }

            #[cfg(not(target_arch = "nvptx64"))]
            #[inline]
            #[allow(unused_variables, unused_mut, clippy::extra_unused_type_parameters)]
            pub fn clock(x: u32) -> u64 {
                ::core::panic!(::core::concat!(
                    ::core::module_path!(), "::clock is only on the GPU: it was called on the host"
                ))
            }
        },
    );
}
