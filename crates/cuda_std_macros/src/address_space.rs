//! `#[address_space(...)]`: a static's memory space, as the name of its section.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Ident, ItemStatic};

const SPACES: &str = "shared, constant, global, managed";

pub(crate) fn expand(space: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if space.is_empty() {
        return Err(Error::new(
            proc_macro2::Span::call_site(),
            format!("#[address_space] needs the space in parentheses, one of: {SPACES}"),
        ));
    }
    let space: Ident = syn::parse2(space).map_err(|error| {
        Error::new(error.span(), format!("#[address_space] takes one name, one of: {SPACES}"))
    })?;
    let section = match space.to_string().as_str() {
        "shared" => ".cuda.shared",
        "constant" => ".cuda.constant",
        "global" => ".cuda.global",
        "managed" => ".cuda.managed",
        "local" => {
            return Err(Error::new(
                space.span(),
                "a static cannot be in the local space: local memory belongs to one thread and ends with it. Use a \
                 `let` variable in the kernel, which the compiler keeps in registers or in local memory",
            ));
        }
        other => {
            return Err(Error::new(
                space.span(),
                format!("unknown address space `{other}`, expected one of: {SPACES}"),
            ));
        }
    };
    let variable: ItemStatic = syn::parse2(item).map_err(|error| {
        Error::new(
            error.span(),
            format!("#[address_space({space})] belongs on a static with an initial value: {error}"),
        )
    })?;

    Ok(quote! {
        #[cfg_attr(target_os = "cuda", unsafe(link_section = #section))]
        #variable
    })
}
