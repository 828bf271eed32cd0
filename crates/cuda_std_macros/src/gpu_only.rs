//! `#[gpu_only]`: one function for the GPU, and its host twin that panics.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn};

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !options.is_empty() {
        return Err(Error::new_spanned(options, "#[gpu_only] takes no options"));
    }
    let ItemFn { attrs, vis, sig, block } = syn::parse2(item).map_err(|error| {
        Error::new(error.span(), format!("#[gpu_only] belongs on a function with a body: {error}"))
    })?;
    let message = format!("::{} is only on the GPU: it was called on the host", sig.ident);

    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #vis #sig #block

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(unused_variables, unused_mut, clippy::extra_unused_type_parameters)]
        #vis #sig {
            ::core::panic!(::core::concat!(::core::module_path!(), #message))
        }
    })
}
