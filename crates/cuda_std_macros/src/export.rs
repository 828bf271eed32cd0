//! `#[externally_visible]`: what stays in the PTX without a kernel that uses it.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Error, Expr, ExprLit, Item, Lit, LitByteStr, Meta};

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !options.is_empty() {
        return Err(Error::new_spanned(options, "#[externally_visible] takes no options"));
    }
    let item: Item = syn::parse2(item)?;
    match &item {
        Item::Fn(function) => {
            let name = symbol(&function.attrs, &function.sig.ident)?;
            let bytes = LitByteStr::new(name.as_bytes(), Span::call_site());
            let length = name.len();
            Ok(quote! {
                #item

                #[cfg(target_arch = "nvptx64")]
                const _: () = {
                    #[used]
                    #[unsafe(link_section = ".cuda.export")]
                    static EXPORT: [u8; #length] = *#bytes;
                };
            })
        }
        Item::Static(variable) => {
            symbol(&variable.attrs, &variable.ident)?;
            Ok(quote! {
                #[cfg_attr(target_arch = "nvptx64", used)]
                #item
            })
        }
        other => Err(Error::new_spanned(other, "#[externally_visible] belongs on a function or a static")),
    }
}

/// The name under which the linker sees the item, from its `no_mangle` or `export_name`.
fn symbol(attributes: &[Attribute], ident: &syn::Ident) -> syn::Result<String> {
    for attribute in attributes {
        let mut meta = attribute.meta.clone();
        if meta.path().is_ident("unsafe") {
            meta = meta.require_list()?.parse_args()?;
        }
        if meta.path().is_ident("no_mangle") {
            return Ok(ident.to_string());
        }
        if let Meta::NameValue(pair) = &meta
            && pair.path.is_ident("export_name")
            && let Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) = &pair.value
        {
            return Ok(name.value());
        }
    }
    Err(Error::new_spanned(
        ident,
        format!(
            "#[externally_visible] needs a name that the host can ask for: add #[unsafe(no_mangle)] to `{ident}`, \
             below #[externally_visible]"
        ),
    ))
}
