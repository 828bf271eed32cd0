//! What `#[kernel]` writes for the host: a type of the kernel's name, which says what a launch takes and checks it.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, Visibility};

use super::options::{Bound, Options};
use super::parameter::{Host, Parameter, Roots};
use super::signature::readable_tokens;

/// A kernel to write the host's side of.
pub(super) struct Kernel<'a> {
    /// The entry point's name, and the type's.
    pub(super) name: &'a Ident,
    /// The function's name, which is another one for an instance of a generic function.
    pub(super) function: &'a Ident,
    pub(super) visibility: &'a Visibility,
    pub(super) options: &'a Options,
    pub(super) parameters: &'a [Parameter],
    /// The shape that a safe kernel names.
    pub(super) shape: Option<&'a TokenStream>,
    /// What stands for the function's generic parameters.
    pub(super) aliases: &'a TokenStream,
}

pub(super) fn expand(kernel: &Kernel<'_>, roots: &Roots) -> TokenStream {
    let Kernel { name, function, visibility, aliases, shape, .. } = kernel;
    let std = &roots.std;
    let symbol = syn::ext::IdentExt::unraw(*name).to_string();
    let documentation = documentation(kernel);
    let passed: Vec<(usize, &Parameter, &Host)> = kernel
        .parameters
        .iter()
        .enumerate()
        .filter_map(|(index, parameter)| Some((index, parameter, parameter.host.as_ref()?)))
        .filter(|(_, _, host)| host.tile.is_none())
        .collect();
    let arguments = passed.iter().map(|(_, _, host)| &host.argument);
    let names = passed.iter().map(|(index, ..)| format_ident!("argument_{index}"));
    let infos = passed.iter().map(|(_, parameter, host)| {
        let (label, ty, wires) = (parameter.name.to_string(), &parameter.ty, &host.wires);
        quote!(#std::launch::Parameter { name: #label, ty: #ty, wires: #wires })
    });
    let passes = passed.iter().map(|(_, _, host)| &host.pass);
    let count = passed.len() * 2;
    let numbers = numbers(&passed, roots);
    let clauses = clauses(kernel, &passed, roots);
    let contract = contract(kernel, &passed, roots);
    let shared = shared(kernel, roots);
    let safe = roots.safe.as_ref().map(|_| {
        quote! {
            // SAFETY: the function is safe, and takes nothing but what `cuda_safe` proves.
            unsafe impl #std::launch::SafeKernel for #name {}
        }
    });
    let check_shape = match (&roots.safe, shape) {
        (Some(safe), Some(layout)) => quote! {
            if !<#layout as #safe::Shape>::fits(&shape) {
                let needs = <#layout as #safe::Shape>::needs();
                return ::core::result::Result::Err(
                    #std::launch::Refusal::Shape { kernel: NAME, needs, found: shape }
                );
            }
        },
        _ => TokenStream::new(),
    };
    let (cluster, check_cluster) = cluster(kernel, roots);
    let NumberTokens { fields, implementations, values } = numbers;
    let arch = kernel.options.arch.as_ref().map(|arch| {
        quote!(const ARCH: ::core::option::Option<&'static str> = ::core::option::Option::Some(#arch);)
    });
    let _ = function;
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #(#[doc = #documentation])*
        #[allow(non_camel_case_types)]
        #[derive(Debug)]
        #visibility enum #name {}

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(dead_code, unused_imports, unused_variables, unused_mut, missing_docs, unreachable_pub)]
        #[allow(missing_debug_implementations, clippy::all, clippy::pedantic, unused_qualifications)]
        const _: () = {
            #aliases
            const NAME: &str = #symbol;
            pub struct Launch { #(#fields: u64),* }
            #(#implementations)*

            impl #std::launch::Kernel for #name {
                const NAME: &'static str = NAME;
                #arch
                type Arguments<'argument> = (#(#arguments,)*);

                fn parameters() -> #std::__kernel::Vec<#std::launch::Parameter> {
                    #std::__kernel::vec![#(#infos),*]
                }

                #cluster

                fn contract() -> #std::__kernel::Vec<#std::__kernel::String> {
                    let mut clauses = #std::__kernel::Vec::new();
                    #contract
                    clauses
                }

                fn pass(
                    (#(#names,)*): Self::Arguments<'_>,
                    shape: #std::launch::Shape,
                ) -> ::core::result::Result<(#std::launch::Words, #std::launch::Shape), #std::launch::Refusal> {
                    #check_shape
                    #check_cluster
                    let launch = Launch { #(#fields: #values),* };
                    #shared
                    #clauses
                    let mut words = #std::launch::Words::with_capacity(#count);
                    #(#passes)*
                    ::core::result::Result::Ok((words, shape))
                }
            }
            #safe
        };
    }
}

/// The lines of the type's documentation.
fn documentation(kernel: &Kernel<'_>) -> Vec<String> {
    let mut lines = vec![format!(
        " The kernel [`{0}`](fn@{1}) as the host launches it: `{0}::launch(..)` of the crate `cuda_launch`.",
        kernel.name, kernel.function
    )];
    if let Some(arch) = &kernel.options.arch {
        lines.push(String::new());
        lines.push(format!(
            " It is in PTX for `{arch}` only, and in that for architectures which run its code."
        ));
    }
    let mut clauses: Vec<String> =
        kernel.options.requires.iter().map(|clause| readable_tokens(clause.to_token_stream())).collect();
    if let Some(formula) = &kernel.options.shared {
        clauses.push(format!("shared >= {}", readable_tokens(formula.to_token_stream())));
    }
    if let Some(axes) = &kernel.options.cluster {
        let axes: Vec<String> = axes.iter().map(|axis| readable_tokens(axis.value())).collect();
        clauses.push(format!("grid a multiple of its clusters of {} blocks", axes.join(" x ")));
    }
    if !clauses.is_empty() {
        lines.push(String::new());
        lines.push(" A launch has to keep, beside what the types say:".to_owned());
        lines.extend(clauses.into_iter().map(|clause| format!(" - `{clause}`")));
    }
    lines
}

/// The numbers of a launch: fields, how they are found by their names, and their values.
struct NumberTokens {
    fields: Vec<Ident>,
    implementations: Vec<TokenStream>,
    values: Vec<TokenStream>,
}

/// Numbers that are parameters come first; the length of an array defines a name that no parameter does.
fn numbers(passed: &[(usize, &Parameter, &Host)], roots: &Roots) -> NumberTokens {
    let mut tokens = NumberTokens { fields: Vec::new(), implementations: Vec::new(), values: Vec::new() };
    let Some(safe) = &roots.safe else { return tokens };
    let mut defined: Vec<String> = Vec::new();
    for is_length in [false, true] {
        for (index, parameter, host) in passed {
            let Some(number) = host.number.as_ref().filter(|number| number.is_length == is_length) else {
                continue;
            };
            let brand = &number.brand;
            if is_length && defined.contains(&brand.to_string()) {
                continue;
            }
            defined.push(brand.to_string());
            let field = format_ident!("number_{index}");
            let argument = format_ident!("argument_{index}");
            let (label, value) = if is_length {
                (format!("{}.len()", parameter.name), quote!(#argument.len() as u64))
            } else {
                (parameter.name.to_string(), quote!(#argument as u64))
            };
            tokens.implementations.push(quote! {
                impl #safe::Size<#brand> for Launch {
                    fn name() -> #safe::String {
                        #label.into()
                    }

                    fn size(&self) -> u64 {
                        self.#field
                    }
                }
            });
            if number.is_extent {
                tokens.implementations.push(quote! {
                    impl #safe::Has<#brand> for Launch {
                        fn value(&self) -> u32 {
                            self.#field as u32
                        }
                    }
                });
            }
            tokens.fields.push(field);
            tokens.values.push(value);
        }
    }
    tokens
}

/// The identifiers in an expression.
fn identifiers(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if !found.contains(&ident.to_string()) => found.push(ident.to_string()),
            TokenTree::Group(group) => identifiers(group.stream(), found),
            _ => {}
        }
    }
}

/// The launch's shape as clauses name it.
const OF_SHAPE: [&str; 3] = ["grid", "block", "threads"];

/// Makes what an expression names available to it, and returns the names.
fn bind(
    expressions: &[&Expr],
    passed: &[(usize, &Parameter, &Host)],
    roots: &Roots,
) -> (TokenStream, Vec<String>) {
    let std = &roots.std;
    let mut mentioned = Vec::new();
    for expression in expressions {
        identifiers(expression.to_token_stream(), &mut mentioned);
    }
    let mut bindings = TokenStream::new();
    let mut names = Vec::new();
    for (index, parameter, _) in passed {
        let (name, argument) = (&parameter.name, format_ident!("argument_{index}"));
        if mentioned.contains(&name.to_string()) {
            bindings.extend(quote!(let #name = #std::launch::Quantity::quantity(&#argument);));
            names.push(name.to_string());
        }
    }
    for of_shape in OF_SHAPE {
        if mentioned.iter().any(|name| name == of_shape) && !names.iter().any(|name| name == of_shape) {
            let name = format_ident!("{of_shape}");
            bindings.extend(quote!(let #name = #std::launch::Dimensions::#name(&shape);));
            names.push(of_shape.to_owned());
        }
    }
    (bindings, names)
}

/// Code that refuses a launch that breaks a clause.
fn clauses(kernel: &Kernel<'_>, passed: &[(usize, &Parameter, &Host)], roots: &Roots) -> TokenStream {
    let std = &roots.std;
    let checks = kernel.options.requires.iter().map(|clause| {
        let (bindings, names) = bind(&[clause], passed, roots);
        let text = readable_tokens(clause.to_token_stream());
        let values = names.iter().map(|name| format!("{name} = {{}}")).collect::<Vec<_>>().join(", ");
        let names = names.iter().map(|name| format_ident!("{name}"));
        quote! {{
            #bindings
            // A function of its own, so that a `return` ends the clause and not the check.
            if !(|| -> bool { #clause })() {
                let found = #std::__kernel::format!(#values, #(#names),*);
                return ::core::result::Result::Err(
                    #std::launch::Refusal::Clause { kernel: NAME, clause: #text, found }
                );
            }
        }}
    });
    quote!(#(#checks)*)
}

/// Code that sets the launch's dynamic shared memory.
fn shared(kernel: &Kernel<'_>, roots: &Roots) -> TokenStream {
    let std = &roots.std;
    let tiles: Vec<TokenStream> = kernel
        .parameters
        .iter()
        .filter_map(|parameter| {
            let (layout, element) = parameter.host.as_ref()?.tile.as_ref()?;
            let safe = roots.safe.as_ref()?;
            Some(quote!(bytes = #safe::shared_bytes::<#element, #layout, _>(bytes, &launch, shape.block);))
        })
        .collect();
    let formula = kernel.options.shared.as_ref().map(|formula| {
        let passed: Vec<(usize, &Parameter, &Host)> = kernel
            .parameters
            .iter()
            .enumerate()
            .filter_map(|(index, parameter)| Some((index, parameter, parameter.host.as_ref()?)))
            .filter(|(_, _, host)| host.tile.is_none())
            .collect();
        let (bindings, _) = bind(&[formula], &passed, roots);
        quote! {
            // A function of its own, so that a `return` ends the formula and not the check.
            bytes = bytes.saturating_add((|| -> u64 {
                #bindings
                #formula
            })());
        }
    });
    if tiles.is_empty() && formula.is_none() {
        return TokenStream::new();
    }
    quote! {
        let shape = {
            let mut bytes: u64 = 0;
            #(#tiles)*
            #formula
            match u32::try_from(bytes) {
                ::core::result::Result::Ok(bytes) => shape.with_shared(shape.shared.max(bytes)),
                ::core::result::Result::Err(_) => {
                    let needs = #std::__kernel::format!("blocks that need less than {bytes} bytes of dynamic shared memory");
                    return ::core::result::Result::Err(
                        #std::launch::Refusal::Shape { kernel: NAME, needs, found: shape }
                    );
                }
            }
        };
    }
}

/// The kernel's clusters, and code that refuses a grid that is no multiple of them.
fn cluster(kernel: &Kernel<'_>, roots: &Roots) -> (TokenStream, TokenStream) {
    let Some(axes) = &kernel.options.cluster else { return Default::default() };
    let std = &roots.std;
    let [x, y, z] = axes.each_ref().map(Bound::value);
    let function = quote! {
        fn cluster() -> ::core::option::Option<#std::launch::Cluster> {
            const CLUSTER: #std::launch::Cluster = #std::launch::Cluster::new([#x, #y, #z]);
            ::core::option::Option::Some(CLUSTER)
        }
    };
    let check = quote! {
        if let ::core::option::Option::Some(cluster) = <Self as #std::launch::Kernel>::cluster() {
            cluster.check(NAME, &shape)?;
        }
    };
    (function, check)
}

/// Code that lists the contract's clauses.
fn contract(kernel: &Kernel<'_>, passed: &[(usize, &Parameter, &Host)], roots: &Roots) -> TokenStream {
    let mut code = TokenStream::new();
    if let (Some(safe), Some(layout)) = (&roots.safe, kernel.shape) {
        code.extend(quote!(clauses.push(<#layout as #safe::Shape>::needs());));
    }
    if kernel.options.cluster.is_some() {
        let std = &roots.std;
        code.extend(quote! {
            clauses.extend(<Self as #std::launch::Kernel>::cluster().map(|cluster| cluster.clause()));
        });
    }
    for (_, _, host) in passed {
        if let Some(clause) = &host.clause {
            code.extend(quote!(clauses.extend(#clause);));
        }
    }
    for clause in &kernel.options.requires {
        let text = readable_tokens(clause.to_token_stream());
        code.extend(quote!(clauses.push(#text.into());));
    }
    for parameter in kernel.parameters {
        if let (Some(safe), Some((layout, element))) =
            (&roots.safe, parameter.host.as_ref().and_then(|host| host.tile.as_ref()))
        {
            code.extend(quote! {
                if <#layout as #safe::Layout>::CELLS == 0 {
                    let formula = <#layout as #safe::Dynamic<Launch>>::formula();
                    let size = ::core::mem::size_of::<#element>();
                    clauses.push(#safe::format!("dynamic shared memory: ({formula}) * {size} bytes"));
                }
            });
        }
    }
    if let Some(formula) = &kernel.options.shared {
        let text = format!("dynamic shared memory: {} bytes", readable_tokens(formula.to_token_stream()));
        code.extend(quote!(clauses.push(#text.into());));
    }
    code
}
