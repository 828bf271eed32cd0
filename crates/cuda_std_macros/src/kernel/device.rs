//! What `#[kernel]` writes for the device: an entry point that takes what the host passes, and a descriptor for the builder.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ItemFn;
use syn::spanned::Spanned;

use super::options::{
    Bound, MOST_BLOCKS_A_CLUSTER, MOST_BLOCKS_A_MULTIPROCESSOR, MOST_THREADS_A_BLOCK, Options,
};
use super::parameter::{Parameter, Roots};

pub(super) struct Kernel<'a> {
    /// The entry point's name.
    pub(super) name: &'a Ident,
    pub(super) function: &'a ItemFn,
    pub(super) options: &'a Options,
    pub(super) parameters: &'a [Parameter],
    /// The arguments of a generic function, with their brackets.
    pub(super) generic: &'a TokenStream,
    /// The shape that a safe kernel names.
    pub(super) shape: Option<&'a TokenStream>,
}

pub(super) fn expand(kernel: &Kernel<'_>, roots: &Roots) -> TokenStream {
    let symbol = syn::ext::IdentExt::unraw(kernel.name).to_string();
    let std = &roots.std;
    let (name, generic) = (&kernel.function.sig.ident, kernel.generic);
    // What is generic over a lifetime is so at the entry point too.
    let lifetimes: Vec<_> = kernel.function.sig.generics.lifetimes().collect();
    let generics = if lifetimes.is_empty() { TokenStream::new() } else { quote!(<#(#lifetimes),*>) };
    let declared = kernel.parameters.iter().flat_map(|parameter| &parameter.device.declared);
    let passed = passed(kernel, roots, &symbol);
    let (descriptor, length) = descriptor(kernel, roots, &symbol);
    let (launch, before) = launch(kernel, roots);
    let check = match (&roots.safe, kernel.shape) {
        (Some(safe), Some(shape)) => quote_spanned! {Span::call_site().located_at(shape.span())=>
            const _: () = ::core::assert!(
                <#shape as #safe::Shape>::IS_POSSIBLE,
                "no launch has this shape: `Runs` and `Unrolled` give a thread 1 to 65536 places, and `Tiles` are a multiple of 32 wide"
            );
        },
        _ => TokenStream::new(),
    };
    quote! {
        #launch
        #check

        #[cfg(target_arch = "nvptx64")]
        #[allow(clippy::missing_safety_doc, unused_variables, unused_mut)]
        #[unsafe(export_name = #symbol)]
        pub unsafe extern "ptx-kernel" fn entry #generics (#(#declared),*) {
            #before
            unsafe { #name #generic (#(#passed),*) }
        }

        #[cfg(target_arch = "nvptx64")]
        #[allow(unused_imports)]
        use #std::__kernel::MayBeWritten as _;

        #[cfg(target_arch = "nvptx64")]
        #[used]
        #[allow(clippy::byte_char_slices)]
        #[unsafe(link_section = ".cuda.kernel")]
        static DESCRIPTOR: [u8; #length] = #std::__kernel::descriptor(&[#descriptor]);
    }
}

/// What the user's function gets.
fn passed(kernel: &Kernel<'_>, roots: &Roots, symbol: &str) -> Vec<TokenStream> {
    let std = &roots.std;
    let mut place = 0;
    let mut passed = Vec::new();
    for parameter in kernel.parameters {
        passed.push(match &parameter.device.constant {
            None => parameter.device.passed.clone(),
            // The parameter's own name in PTX, `kernel_param_0`: an address that Rust takes of it would be that of a copy.
            Some(of) => {
                let template = format!(
                    "{{{{ .reg .b64 %at; mov.b64 %at, {symbol}_param_{place}; cvta.param.u64 {{}}, %at; }}}}"
                );
                quote! {
                    #std::GridConstant::<#of>::new({
                        let address: usize;
                        ::core::arch::asm!(
                            #template, out(reg64) address, options(pure, nomem, nostack, preserves_flags)
                        );
                        &*::core::ptr::with_exposed_provenance::<#of>(address)
                    })
                }
            }
        });
        place += parameter.device.declared.len();
    }
    passed
}

/// The numbers of the launch, as a safe kernel's entry point has them.
fn launch(kernel: &Kernel<'_>, roots: &Roots) -> (TokenStream, TokenStream) {
    let Some(safe) = &roots.safe else { return Default::default() };
    let numbers: Vec<_> =
        kernel.parameters.iter().filter_map(|parameter| parameter.device.number.as_ref()).collect();
    let fields: Vec<Ident> = (0..numbers.len()).map(|nth| format_ident!("number_{nth}")).collect();
    let brands = numbers.iter().map(|number| &number.brand);
    let types = numbers.iter().map(|number| &number.ty);
    let values = numbers.iter().map(|number| &number.parameter);
    let items = quote! {
        #[cfg(target_arch = "nvptx64")]
        #[allow(dead_code)]
        struct Launch { #(#fields: u32),* }
        #(
            #[cfg(target_arch = "nvptx64")]
            impl #safe::Has<#brands> for Launch {
                #[inline(always)]
                fn value(&self) -> u32 {
                    self.#fields
                }
            }

            #[cfg(target_arch = "nvptx64")]
            impl #safe::Took<#types> for Launch {
                #[inline(always)]
                fn value(&self) -> u32 {
                    self.#fields
                }
            }
        )*
    };
    let before = quote! {
        let __launch = Launch { #(#fields: #values),* };
        let mut __offset = 0_usize;
    };
    (items, before)
}

/// The pieces of `NAME \0 THREADS \0 MIN_BLOCKS \0 ACCESS`, with `\0 safe` behind them for a safe kernel and
/// `\0 arch=compute_90a` for one that names its architecture, and `\0 cluster=2,1,1` for one that names its clusters; and
/// their length together.
fn descriptor(kernel: &Kernel<'_>, roots: &Roots, symbol: &str) -> (TokenStream, usize) {
    let name = Literal::byte_string(symbol.as_bytes());
    let options = kernel.options;
    let (threads, threads_length) = Bound::digits(options.threads.as_ref(), MOST_THREADS_A_BLOCK, &roots.std);
    let (blocks, blocks_length) =
        Bound::digits(options.min_blocks.as_ref(), MOST_BLOCKS_A_MULTIPROCESSOR, &roots.std);
    let access: Vec<_> = kernel.parameters.iter().flat_map(|parameter| &parameter.device.access).collect();
    let access_length = access.len();
    let access = super::signature::without_lifetimes(quote!(#(#access),*), kernel.function);
    let (safe, safe_length) =
        if roots.safe.is_some() { (quote!(, b"\0safe"), 5) } else { (TokenStream::new(), 0) };
    let arch = options.arch.as_ref().map(|arch| format!("\0arch={arch}"));
    let arch_length = arch.as_ref().map_or(0, String::len);
    let arch = arch.map(|arch| Literal::byte_string(arch.as_bytes())).map(|arch| quote!(, #arch));
    let mut cluster = TokenStream::new();
    let mut cluster_length = 0;
    for (axis, before) in options.cluster.iter().flatten().zip(["\0cluster=", ",", ","]) {
        let (digits, length) = Bound::digits(Some(axis), MOST_BLOCKS_A_CLUSTER, &roots.std);
        let before_bytes = Literal::byte_string(before.as_bytes());
        cluster.extend(quote!(, #before_bytes, #digits));
        cluster_length += before.len() + length;
    }
    let pieces = quote!(#name, b"\0", #threads, b"\0", #blocks, b"\0", &[#access] #safe #arch #cluster);
    let bounds_length = threads_length + blocks_length;
    let rest_length = access_length + safe_length + arch_length + cluster_length;
    (pieces, symbol.len() + bounds_length + 3 + rest_length)
}
