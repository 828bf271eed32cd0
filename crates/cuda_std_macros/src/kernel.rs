//! `#[kernel]`: the user's function, an entry point for the device, and a type for the host.
//!
//! A safe `fn` becomes a safe kernel, whose parameters are types of `cuda_safe`; an `unsafe fn` takes what Rust-CUDA's
//! kernels take. A generic function becomes the kernels that `#[kernel(name = <type>)]` names.

mod device;
mod host;
mod options;
mod parameter;
mod signature;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, FnArg, GenericArgument, GenericParam, ItemFn, Token};

pub(crate) use options::Options;
use parameter::{Parameter, Roots};
#[cfg(test)]
pub(crate) use signature::readable_tokens as readable;

pub(crate) fn expand(options: &Options, mut function: ItemFn) -> syn::Result<TokenStream> {
    signature::check(&function, options)?;
    // What only repeats what the entry point is anyway would make the user's function a second symbol of that name.
    function.attrs.retain(|attribute| {
        !attribute.path().is_ident("no_mangle") && !signature::is_unsafe_no_mangle(attribute)
    });
    function.sig.abi = None;
    let is_safe = function.sig.unsafety.is_none();
    let roots = Roots::of(is_safe);
    let typed: Vec<_> = function
        .sig
        .inputs
        .iter()
        .map(|argument| match argument {
            FnArg::Typed(argument) => argument,
            FnArg::Receiver(_) => unreachable!("the signature was checked"),
        })
        .collect();
    let shape = typed.first().and_then(|first| parameter::shape(&first.ty));
    if is_safe && shape.is_none() {
        let name = &function.sig.ident;
        let message = format!(
            "a safe kernel's first parameter is the `Thread` or the `Block` whose code it is, as in `fn {name}(thread: Thread, \
             ..)`; a kernel without one must be an `unsafe fn`, because any launch may pass it anything"
        );
        return Err(Error::new_spanned(&function.sig, message));
    }
    let parameters: Vec<Parameter> = typed
        .iter()
        .enumerate()
        .map(|(index, argument)| Parameter::new(index, &argument.pat, &argument.ty, &roots))
        .collect::<syn::Result<_>>()?;

    // What is hidden from this by an alias is an error of the compiler in what is written below.
    for (index, parameter) in parameters.iter().enumerate() {
        let Some(number) = parameter.number() else { continue };
        if let Some(first) = parameters[..index].iter().find(|one| one.number().as_ref() == Some(&number)) {
            let message = if number.ends_with("::PerBlock") {
                format!("a launch has one `PerBlock`, which `{}` is already", first.name)
            } else {
                format!(
                    "a launch has one number of each name: `{}` is `{number}` already. Give `{}` a name of its own, with \
                     `enum Other {{}}`",
                    first.name, parameter.name
                )
            };
            return Err(Error::new_spanned(&typed[index].ty, message));
        }
    }

    let mut body = function.block.clone();
    let name = &function.sig.ident;
    let generics = &function.sig.generics;
    let where_clause = &generics.where_clause;
    let copied = parameters.iter().filter_map(|parameter| parameter.device.copied.as_ref());
    let copied: Vec<_> =
        copied.map(|ty| quote_spanned!(ty.span()=> a_kernel_parameter_must_be_copy::<#ty>();)).collect();
    let copied = (!is_safe).then(|| {
        quote! {
            const fn a_kernel_parameter_must_be_copy<T: ::core::marker::Copy>() {}
            #[allow(dead_code, clippy::extra_unused_lifetimes)]
            fn kernel_parameters_are_copy #generics () #where_clause { #(#copied)* }
        }
    });

    // A number that only types name is used all the same.
    for parameter in parameters.iter().filter(|parameter| parameter.is_number()) {
        let name = &parameter.name;
        let used: syn::Stmt = syn::parse_quote!(let _ = #name;);
        body.stmts.insert(0, used);
    }

    let only = Punctuated::new();
    let instances: Vec<_> = if options.instances.is_empty() {
        vec![(name, &only)]
    } else {
        options.instances.iter().map(|instance| (&instance.name, &instance.arguments)).collect()
    };
    let kernels = instances.into_iter().map(|(symbol, arguments)| {
        let aliases = aliases(&function, arguments)?;
        let generic = if arguments.is_empty() { TokenStream::new() } else { quote!(::<#arguments>) };
        let device = device::expand(
            &device::Kernel {
                name: symbol,
                function: &function,
                options,
                parameters: &parameters,
                generic: &generic,
                shape: shape.as_ref(),
            },
            &roots,
        );
        let host = host::expand(
            &host::Kernel {
                name: symbol,
                function: name,
                visibility: &function.vis,
                options,
                parameters: &parameters,
                shape: shape.as_ref(),
                aliases: &aliases,
            },
            &roots,
        );
        let host = signature::without_lifetimes(host, &function);
        Ok(quote! {
            #[allow(dead_code, unused_imports)]
            const _: () = {
                #aliases
                #device
            };

            #host
        })
    });
    let kernels: Vec<TokenStream> = kernels.collect::<syn::Result<_>>()?;
    let copied = copied.map(|copied| quote!(const _: () = { #copied };));
    let function = ItemFn { block: body, ..function.clone() };
    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #[allow(dead_code)]
        #function

        #copied
        #(#kernels)*
    })
}

/// Items by which the function's generic parameters mean an instance's arguments.
fn aliases(
    function: &ItemFn,
    arguments: &Punctuated<GenericArgument, Token![,]>,
) -> syn::Result<TokenStream> {
    let parameters: Vec<&GenericParam> = function
        .sig
        .generics
        .params
        .iter()
        .filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
        .collect();
    if parameters.len() != arguments.len() {
        let message = format!(
            "the function has {} generic parameters, and this instance names {}",
            parameters.len(),
            arguments.len()
        );
        return Err(Error::new_spanned(arguments, message));
    }
    let aliases = parameters.into_iter().zip(arguments).map(|(parameter, argument)| match parameter {
        GenericParam::Type(parameter) => {
            let name = &parameter.ident;
            quote!(#[allow(dead_code)] type #name = #argument;)
        }
        GenericParam::Const(parameter) => {
            let (name, ty) = (&parameter.ident, &parameter.ty);
            quote!(#[allow(dead_code)] const #name: #ty = #argument;)
        }
        GenericParam::Lifetime(_) => unreachable!("lifetimes are left out"),
    });
    Ok(quote!(#(#aliases)*))
}
