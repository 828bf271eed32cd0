//! `#[kernel]`: the user's function, an entry point that takes what `launch!` passes, and a descriptor for the builder.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, FnArg, GenericParam, ItemFn, Lit, ReturnType, Token, Type, parenthesized};

const OPTIONS: &str = "launch_bounds(threads), launch_bounds(threads, min_blocks), grid_dim = 1d|2d|3d, \
                       block_dim = 1d|2d|3d";
/// What every CUDA architecture so far allows.
const MOST_THREADS_A_BLOCK: u32 = 1024;
/// What the most capable multiprocessor so far holds.
const MOST_BLOCKS_A_MULTIPROCESSOR: u32 = 32;

/// What stands in the parentheses of `#[kernel(...)]`.
#[derive(Default)]
pub(crate) struct Options {
    threads: Option<Bound>,
    min_blocks: Option<Bound>,
}

/// One launch bound: known to the macro, or a constant expression that the compiler will evaluate.
enum Bound {
    Literal(u32),
    Constant(Expr),
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse().map_err(|error| {
                Error::new(error.span(), format!("expected an option of #[kernel], one of: {OPTIONS}"))
            })?;
            match name.to_string().as_str() {
                "launch_bounds" if options.threads.is_some() => {
                    return Err(Error::new(name.span(), "launch_bounds is given twice"));
                }
                "launch_bounds" => options.parse_launch_bounds(&name, input)?,
                "grid_dim" | "block_dim" => parse_dimension_hint(input)?,
                other => {
                    let message =
                        format!("unknown option `{other}` of #[kernel], expected one of: {OPTIONS}");
                    return Err(Error::new(name.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Options {
    fn parse_launch_bounds(&mut self, name: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        if !input.peek(syn::token::Paren) {
            let message =
                "launch_bounds needs its numbers in parentheses: launch_bounds(threads, min_blocks)";
            return Err(Error::new(name.span(), message));
        }
        let content;
        parenthesized!(content in input);
        let bounds = content.parse_terminated(Expr::parse, Token![,])?;
        let mut bounds = bounds.into_iter();
        let (Some(threads), min_blocks, None) = (bounds.next(), bounds.next(), bounds.next()) else {
            let message = "launch_bounds takes one or two numbers: launch_bounds(threads) or launch_bounds(threads, min_blocks)";
            return Err(Error::new(name.span(), message));
        };
        self.threads = Some(Bound::new(threads, "the threads of a block", MOST_THREADS_A_BLOCK)?);
        self.min_blocks = min_blocks
            .map(|blocks| Bound::new(blocks, "the blocks of a multiprocessor", MOST_BLOCKS_A_MULTIPROCESSOR))
            .transpose()?;
        Ok(())
    }
}

impl Bound {
    fn new(expression: Expr, what: &str, most: u32) -> syn::Result<Self> {
        let Expr::Lit(ExprLit { lit, .. }) = &expression else { return Ok(Self::Constant(expression)) };
        let out_of_range =
            || Error::new_spanned(lit, format!("{what}: expected a whole number in 1..={most}"));
        let Lit::Int(number) = lit else { return Err(out_of_range()) };
        match number.base10_parse::<u32>() {
            Ok(number) if (1..=most).contains(&number) => Ok(Self::Literal(number)),
            _ => Err(out_of_range()),
        }
    }

    /// The bound's decimal digits as the compiler sees them, and how many there are.
    fn digits(bound: Option<&Self>, most: u32) -> (TokenStream, usize) {
        match bound {
            None => (quote!(b"0"), 1),
            Some(Self::Literal(number)) => {
                let digits = number.to_string();
                let literal = Literal::byte_string(digits.as_bytes());
                (quote!(#literal), digits.len())
            }
            // A length that the macro knows before the compiler knows the number: leading zeros fill it up.
            Some(Self::Constant(expression)) => {
                (quote_spanned!(expression.span()=> &::cuda_std::__kernel::decimal(#expression, #most)), 10)
            }
        }
    }
}

/// `= 1d`: Rust-CUDA's hint about the launch's shape, which it ignores as we do.
fn parse_dimension_hint(input: ParseStream<'_>) -> syn::Result<()> {
    input.parse::<Token![=]>()?;
    // `1d` is an integer literal with the suffix `d`.
    let dimension: TokenTree = input.parse()?;
    match dimension.to_string().as_str() {
        "1d" | "2d" | "3d" => Ok(()),
        other => {
            Err(Error::new(dimension.span(), format!("unknown dimension `{other}`, expected 1d, 2d or 3d")))
        }
    }
}

/// How one parameter of the user's function crosses into the kernel.
struct Parameter {
    /// The entry point's parameters: one, or two for a slice.
    declared: TokenStream,
    /// What the user's function gets.
    passed: TokenStream,
    /// The descriptor's bytes, one for each of the entry point's parameters.
    access: TokenStream,
    /// How many bytes those are.
    width: usize,
    /// The type that must be `Copy`, if any.
    copied: Option<Type>,
}

pub(crate) fn expand(options: &Options, mut function: ItemFn) -> syn::Result<TokenStream> {
    check_signature(&function)?;
    // What only repeats what the entry point is anyway would make the user's function a second symbol of that name.
    function
        .attrs
        .retain(|attribute| !attribute.path().is_ident("no_mangle") && !is_unsafe_no_mangle(attribute));
    function.sig.abi = None;
    let parameters: Vec<Parameter> = function
        .sig
        .inputs
        .iter()
        .enumerate()
        .map(|(index, argument)| match argument {
            FnArg::Typed(argument) => Parameter::new(index, &argument.ty),
            FnArg::Receiver(_) => unreachable!("check_signature refuses self"),
        })
        .collect::<syn::Result<_>>()?;

    let name = &function.sig.ident;
    let symbol = syn::ext::IdentExt::unraw(name).to_string();
    let generics = &function.sig.generics;
    let where_clause = &generics.where_clause;
    let declared = parameters.iter().map(|parameter| &parameter.declared);
    let passed = parameters.iter().map(|parameter| &parameter.passed);
    let (descriptor, length) = descriptor(options, &symbol, &parameters, &function);
    let copied = parameters.iter().filter_map(|parameter| parameter.copied.as_ref());
    let copied = copied.map(|ty| quote_spanned!(ty.span()=> a_kernel_parameter_must_be_copy::<#ty>();));

    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #[allow(dead_code)]
        #function

        const _: () = {
            const fn a_kernel_parameter_must_be_copy<T: ::core::marker::Copy>() {}
            #[allow(dead_code, clippy::extra_unused_lifetimes)]
            fn kernel_parameters_are_copy #generics () #where_clause { #(#copied)* }

            #[cfg(target_arch = "nvptx64")]
            #[allow(clippy::missing_safety_doc)]
            #[unsafe(export_name = #symbol)]
            pub unsafe extern "ptx-kernel" fn entry #generics (#(#declared),*) #where_clause {
                unsafe { #name(#(#passed),*) }
            }

            #[cfg(target_arch = "nvptx64")]
            #[allow(unused_imports)]
            use ::cuda_std::__kernel::MayBeWritten as _;

            #[cfg(target_arch = "nvptx64")]
            #[used]
            #[allow(clippy::byte_char_slices)]
            #[unsafe(link_section = ".cuda.kernel")]
            static DESCRIPTOR: [u8; #length] = ::cuda_std::__kernel::descriptor(&[#descriptor]);
        };
    })
}

/// The pieces of `NAME \0 THREADS \0 MIN_BLOCKS \0 ACCESS`, and their length together.
fn descriptor(
    options: &Options,
    symbol: &str,
    parameters: &[Parameter],
    function: &ItemFn,
) -> (TokenStream, usize) {
    let name = Literal::byte_string(symbol.as_bytes());
    let (threads, threads_length) = Bound::digits(options.threads.as_ref(), MOST_THREADS_A_BLOCK);
    let (blocks, blocks_length) = Bound::digits(options.min_blocks.as_ref(), MOST_BLOCKS_A_MULTIPROCESSOR);
    let access = parameters.iter().map(|parameter| &parameter.access);
    let access = without_lifetimes(quote!(#(#access),*), function);
    let access_length: usize = parameters.iter().map(|parameter| parameter.width).sum();
    let pieces = quote!(#name, b"\0", #threads, b"\0", #blocks, b"\0", &[#access]);
    (pieces, symbol.len() + threads_length + blocks_length + 3 + access_length)
}

impl Parameter {
    fn new(index: usize, ty: &Type) -> syn::Result<Self> {
        let name = format_ident!("parameter_{index}");
        let plain = |copied: Option<Type>| Self {
            declared: quote!(#name: #ty),
            passed: quote!(#name),
            access: quote!(b'-'),
            width: 1,
            copied,
        };
        match strip(ty) {
            Type::Reference(reference) => match strip(&reference.elem) {
                Type::Slice(slice) => {
                    let element = &slice.elem;
                    let length = format_ident!("parameter_{index}_length");
                    let (pointer, rebuild, access) = match reference.mutability {
                        None => (
                            quote!(*const),
                            quote!(from_raw_parts),
                            quote!(::cuda_std::__kernel::Access::<#element>::BYTE),
                        ),
                        Some(_) => (quote!(*mut), quote!(from_raw_parts_mut), quote!(b'-')),
                    };
                    Ok(Self {
                        declared: quote!(#name: #pointer #element, #length: usize),
                        passed: quote!(::core::slice::#rebuild(#name, #length)),
                        access: quote!(#access, b'-'),
                        width: 2,
                        copied: None,
                    })
                }
                other => {
                    refuse_wide(other, ty)?;
                    Ok(plain(None))
                }
            },
            Type::Ptr(pointer) => {
                refuse_wide(strip(&pointer.elem), ty)?;
                if let Type::Slice(_) = strip(&pointer.elem) {
                    let message = "a kernel cannot take a raw slice pointer: take a pointer to the first element and a \
                                   length, or a slice reference";
                    return Err(Error::new_spanned(ty, message));
                }
                Ok(plain(None))
            }
            Type::ImplTrait(_) => Err(Error::new_spanned(
                ty,
                "a kernel cannot be generic: name the type instead of `impl Trait`",
            )),
            _ => Ok(plain(Some(ty.clone()))),
        }
    }
}

/// Refuses what is wide for another reason than being a slice: the host has no way to pass it.
fn refuse_wide(pointee: &Type, whole: &Type) -> syn::Result<()> {
    match pointee {
        Type::TraitObject(_) => Err(Error::new_spanned(
            whole,
            "a kernel cannot take a trait object: its method table lies in the host's memory",
        )),
        Type::Path(path) if path.path.is_ident("str") => {
            Err(Error::new_spanned(whole, "a kernel cannot take a `str`: take its bytes, `&[u8]`"))
        }
        _ => Ok(()),
    }
}

/// The type under parentheses and under the invisible groups that macros leave.
fn strip(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => strip(&inner.elem),
        Type::Group(inner) => strip(&inner.elem),
        other => other,
    }
}

fn check_signature(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    let name = &signature.ident;
    let mut errors: Option<Error> = None;
    let mut refuse = |error: Error| match &mut errors {
        Some(errors) => errors.combine(error),
        None => errors = Some(error),
    };

    if signature.unsafety.is_none() {
        refuse(Error::new_spanned(
            signature.fn_token,
            format!(
                "a kernel must be an unsafe fn, because any launch may pass it anything: `unsafe fn {name}`"
            ),
        ));
    }
    if let Some(asyncness) = signature.asyncness {
        refuse(Error::new_spanned(asyncness, "a kernel cannot be async: nothing polls it on the GPU"));
    }
    if let Some(constness) = signature.constness {
        refuse(Error::new_spanned(
            constness,
            "a kernel cannot be a const fn: it is never called by Rust code",
        ));
    }
    if let Some(abi) = &signature.abi
        && abi.name.as_ref().is_some_and(|name| name.value() != "C")
    {
        refuse(Error::new_spanned(abi, "a kernel's ABI is set by #[kernel]: leave `extern` away"));
    }
    for parameter in &signature.generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            refuse(Error::new_spanned(
                parameter,
                "a kernel cannot be generic, because the host looks it up by its name: write one kernel for each type \
                 around a generic #[inline] function",
            ));
        }
    }
    for argument in &signature.inputs {
        if let FnArg::Receiver(receiver) = argument {
            refuse(Error::new_spanned(receiver, "a kernel cannot take `self`: it must be a free function"));
        }
    }
    if let Some(variadic) = &signature.variadic {
        refuse(Error::new_spanned(variadic, "a kernel cannot take a variable number of parameters"));
    }
    match &signature.output {
        ReturnType::Default => {}
        ReturnType::Type(_, ty) if matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()) => {}
        ReturnType::Type(_, ty) => refuse(Error::new_spanned(
            ty,
            "a kernel returns nothing: write results through a pointer or slice parameter",
        )),
    }
    for attribute in &function.attrs {
        let path = attribute.path();
        if path.is_ident("export_name") {
            refuse(Error::new_spanned(attribute, "#[kernel] exports the function under its own name"));
        }
    }
    errors.map_or(Ok(()), Err)
}

fn is_unsafe_no_mangle(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("unsafe")
        && attribute.parse_args::<syn::Path>().is_ok_and(|inner| inner.is_ident("no_mangle"))
}

/// The tokens with the function's own lifetimes replaced by `'static`: the descriptor stands outside the function.
fn without_lifetimes(tokens: TokenStream, function: &ItemFn) -> TokenStream {
    let lifetimes: Vec<String> =
        function.sig.generics.lifetimes().map(|parameter| parameter.lifetime.ident.to_string()).collect();
    if lifetimes.is_empty() {
        return tokens;
    }
    replace_lifetimes(tokens, &lifetimes)
}

fn replace_lifetimes(tokens: TokenStream, lifetimes: &[String]) -> TokenStream {
    let mut after_apostrophe = false;
    tokens
        .into_iter()
        .map(|token| {
            let is_lifetime = std::mem::replace(
                &mut after_apostrophe,
                matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\''),
            );
            match token {
                TokenTree::Ident(ident) if is_lifetime && lifetimes.contains(&ident.to_string()) => {
                    TokenTree::Ident(Ident::new("static", Span::call_site()))
                }
                TokenTree::Group(group) => {
                    let inner = replace_lifetimes(group.stream(), lifetimes);
                    TokenTree::Group(proc_macro2::Group::new(group.delimiter(), inner))
                }
                other => other,
            }
        })
        .collect()
}
