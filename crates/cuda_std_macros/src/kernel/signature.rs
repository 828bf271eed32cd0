//! What holds for the signature of every kernel, and how its types are read.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, FnArg, GenericParam, ItemFn, ReturnType, Type};

use super::options::Options;

/// The type under parentheses and under the invisible groups that macros leave.
pub(super) fn strip(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => strip(&inner.elem),
        Type::Group(inner) => strip(&inner.elem),
        other => other,
    }
}

/// Refuses what no kernel can be.
pub(super) fn check(function: &ItemFn, options: &Options) -> syn::Result<()> {
    let signature = &function.sig;
    let mut errors: Option<Error> = None;
    let mut refuse = |error: Error| match &mut errors {
        Some(errors) => errors.combine(error),
        None => errors = Some(error),
    };

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
        if options.instances.is_empty() && !matches!(parameter, GenericParam::Lifetime(_)) {
            refuse(Error::new_spanned(
                parameter,
                "a generic kernel needs a name for each type that it is compiled for, because the host looks it up by its name: \
                 `#[kernel(name_f32 = <f32>, name_f64 = <f64>)]`",
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

pub(super) fn is_unsafe_no_mangle(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("unsafe")
        && attribute.parse_args::<syn::Path>().is_ok_and(|inner| inner.is_ident("no_mangle"))
}

/// The tokens with the function's own lifetimes replaced by `'static`: the descriptor stands outside the function.
pub(super) fn without_lifetimes(tokens: TokenStream, function: &ItemFn) -> TokenStream {
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

/// A type as people write it.
pub(super) fn readable(ty: &Type) -> String {
    readable_tokens(strip(ty).to_token_stream())
}

/// Tokens as people write them: `In<f32, Each<N>>` and not `In < f32 , Each < N > >`.
pub(crate) fn readable_tokens(tokens: TokenStream) -> String {
    let mut text = String::new();
    write(tokens, &mut text);
    text
}

fn write(tokens: TokenStream, text: &mut String) {
    // Brackets of generics stand close to what they hold; comparisons have a space on either side.
    let mut depth = 0_usize;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) => {
                if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
                    text.push(' ');
                }
                text.push_str(&ident.to_string());
            }
            TokenTree::Literal(literal) => text.push_str(&literal.to_string()),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    proc_macro2::Delimiter::Brace => ("{ ", " }"),
                    proc_macro2::Delimiter::None => ("", ""),
                };
                text.push_str(open);
                write(group.stream(), text);
                text.push_str(close);
            }
            TokenTree::Punct(punct) => {
                let character = punct.as_char();
                let joined = punct.spacing() == proc_macro2::Spacing::Joint;
                let is_type = text.ends_with(|last: char| last.is_alphanumeric())
                    && text
                        .rsplit(|c: char| !c.is_alphanumeric())
                        .next()
                        .is_some_and(|word| word.starts_with(|first: char| first.is_uppercase()));
                match character {
                    '<' if is_type && !joined => {
                        depth += 1;
                        text.push('<');
                    }
                    '>' if depth > 0 => {
                        depth -= 1;
                        text.push('>');
                    }
                    ',' | ';' => {
                        text.push(character);
                        text.push(' ');
                    }
                    // A lifetime: a launch has one for all of its arguments.
                    '\'' => {
                        tokens.next();
                        let is_comma = |next: &TokenTree| matches!(next, TokenTree::Punct(next) if next.as_char() == ',');
                        tokens.next_if(is_comma);
                    }
                    '.' | ':' | '&' | '!' if character != '&' || !(joined || text.ends_with('&')) => {
                        text.push(character);
                    }
                    // A raw pointer's type.
                    '*' if matches!(tokens.peek(), Some(TokenTree::Ident(next)) if next == "mut" || next == "const") =>
                    {
                        text.push('*');
                    }
                    _ => {
                        if !text.ends_with(' ') && !text.ends_with(['=', '<', '>', '&', '|']) {
                            text.push(' ');
                        }
                        text.push(character);
                        if !joined {
                            text.push(' ');
                        }
                    }
                }
            }
        }
    }
}
