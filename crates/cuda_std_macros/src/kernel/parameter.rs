//! How a parameter crosses from the host into a kernel, on both sides.
//!
//! An unsafe kernel takes values, pointers, references and slices, as Rust-CUDA's `launch!` passes them. A safe one takes
//! values and slices too, and the types of `cuda_safe`, which are told by their names: what stands behind a name is the
//! same type on both sides, so a type of one's own by such a name is an error of types and no misunderstanding.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, GenericArgument, Pat, PathArguments, Type};

use super::signature::{readable, readable_tokens, strip};

/// Where the code that the macro writes finds what it calls.
pub(super) struct Roots {
    /// `cuda_std`.
    pub(super) std: TokenStream,
    /// `cuda_safe::__kernel`, for a safe kernel.
    pub(super) safe: Option<TokenStream>,
}

impl Roots {
    pub(super) fn of(is_safe: bool) -> Self {
        if is_safe {
            Self { std: quote!(::cuda_safe::__kernel::cuda_std), safe: Some(quote!(::cuda_safe::__kernel)) }
        } else {
            Self { std: quote!(::cuda_std), safe: None }
        }
    }
}

/// A parameter and the code that carries it across.
pub(super) struct Parameter {
    /// Its name in the source; `argument_0` where the source has a pattern.
    pub(super) name: Ident,
    /// Its type as people read it.
    pub(super) ty: String,
    /// The device's side.
    pub(super) device: Device,
    /// The host's side; `None` for what the host has no part in, such as the thread.
    pub(super) host: Option<Host>,
}

/// The device's side of a parameter.
pub(super) struct Device {
    /// The entry point's parameters: none, one, or two for a slice.
    pub(super) declared: Vec<TokenStream>,
    /// What the user's function gets.
    pub(super) passed: TokenStream,
    /// The descriptor's bytes, one for each of the entry point's parameters.
    pub(super) access: Vec<TokenStream>,
    /// The type that must be `Copy`, if any.
    pub(super) copied: Option<Type>,
    /// The number of 32 bits that this parameter gives the launch.
    pub(super) number: Option<DeviceNumber>,
    /// The type of a value that the user's function has where the launch put it; `passed` is then written by the caller, who knows the
    /// parameter's place.
    pub(super) constant: Option<Type>,
}

/// A number of the launch as the entry point has it.
pub(super) struct DeviceNumber {
    /// Its name, a type.
    pub(super) brand: TokenStream,
    /// The parameter's type.
    pub(super) ty: Type,
    /// The entry point's parameter that it comes from.
    pub(super) parameter: Ident,
}

/// The host's side of a parameter. The code finds the argument as `argument_N`, and `launch`, `shape` and `words`.
pub(super) struct Host {
    /// The argument's type, for the lifetime `'a`.
    pub(super) argument: TokenStream,
    /// The entry point's parameters, as an expression.
    pub(super) wires: TokenStream,
    /// What the contract says of it: an expression for an `Option<String>`.
    pub(super) clause: Option<TokenStream>,
    /// Checks the argument and appends it to the words.
    pub(super) pass: TokenStream,
    /// A number of the launch that this argument gives.
    pub(super) number: Option<Number>,
    /// A tile's layout and element, whose dynamic shared memory the launch needs.
    pub(super) tile: Option<(TokenStream, TokenStream)>,
}

/// A number of the launch.
pub(super) struct Number {
    /// Its name, a type.
    pub(super) brand: TokenStream,
    /// Whether it is the length of an array, and not a parameter of its own.
    pub(super) is_length: bool,
    /// Whether it has 32 bits, so that spaces and layouts can be made from it.
    pub(super) is_extent: bool,
}

/// The types of `cuda_safe` that a parameter can have.
enum Class {
    Thread,
    Block,
    Tile,
    /// An address and a length.
    Slice,
    Address,
    Number,
    /// A number that has no other name than its type.
    PerBlock,
    Value,
}

fn class(ty: &Type) -> (Class, Vec<GenericArgument>) {
    let Type::Path(path) = strip(ty) else { return (Class::Value, Vec::new()) };
    let Some(last) = path.path.segments.last() else { return (Class::Value, Vec::new()) };
    let class = match last.ident.to_string().as_str() {
        "Thread" => Class::Thread,
        "Block" => Class::Block,
        "Tile" => Class::Tile,
        "In" | "Matrix" | "Checked" | "Atomics" | "InOrder" => Class::Slice,
        "Out" | "Sum" => Class::Address,
        "Extent" | "Positive" | "Segmented" | "Length" => Class::Number,
        "PerBlock" => Class::PerBlock,
        _ => Class::Value,
    };
    let arguments = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().cloned().collect(),
        _ => Vec::new(),
    };
    (class, arguments)
}

/// The shape that a safe kernel's first parameter names, `Line` where it names none.
pub(super) fn shape(ty: &Type) -> Option<TokenStream> {
    match class(ty) {
        (Class::Thread | Class::Block, arguments) => Some(
            arguments.first().map_or_else(|| quote!(::cuda_safe::shape::Line), |argument| quote!(#argument)),
        ),
        _ => None,
    }
}

/// The name of a 1-D array's length, if its space is `Each<NAME>` of a plain name.
fn length_of(arguments: &[GenericArgument]) -> Option<TokenStream> {
    let Some(GenericArgument::Type(Type::Path(space))) = arguments.get(1) else { return None };
    let last = space.path.segments.last()?;
    let PathArguments::AngleBracketed(inner) = &last.arguments else { return None };
    let GenericArgument::Type(Type::Path(name)) = inner.args.first()? else { return None };
    let plain = name.path.segments.iter().all(|segment| segment.arguments.is_none());
    (last.ident == "Each" && plain).then(|| quote!(#name))
}

impl Parameter {
    /// Whether it is a number of the launch.
    pub(super) fn is_number(&self) -> bool {
        self.number().is_some()
    }

    /// The name of the number that it is, as people read it.
    pub(super) fn number(&self) -> Option<String> {
        let number = self.host.as_ref()?.number.as_ref()?;
        (!number.is_length).then(|| readable_tokens(number.brand.clone()))
    }

    pub(super) fn new(index: usize, pattern: &Pat, ty: &Type, roots: &Roots) -> syn::Result<Self> {
        let name = match pattern {
            Pat::Ident(pattern) => pattern.ident.clone(),
            _ => format_ident!("argument_{index}"),
        };
        let (device, host) = match (&roots.safe, class(ty)) {
            (Some(safe), (class, arguments)) if !matches!(class, Class::Value) => {
                let (device, host) = of_library(index, &name, ty, class, &arguments, safe)?;
                (device, host)
            }
            (safe, _) => {
                let (device, host) = plain(index, &name, ty, roots, safe.as_ref())?;
                (device, Some(host))
            }
        };
        Ok(Self { name, ty: readable(ty), device, host })
    }
}

/// Where the compiler says what is wrong with what the macro writes for a type: on the type, in the macro's own words.
fn on(ty: &Type) -> Span {
    Span::call_site().located_at(ty.span())
}

/// A parameter of one of `cuda_safe`'s types.
fn of_library(
    index: usize,
    name: &Ident,
    ty: &Type,
    class: Class,
    arguments: &[GenericArgument],
    safe: &TokenStream,
) -> syn::Result<(Device, Option<Host>)> {
    let parameter = format_ident!("parameter_{index}");
    let length = format_ident!("parameter_{index}_length");
    let argument = format_ident!("argument_{index}");
    let label = name.to_string();
    let at = on(ty);
    let device = |declared: Vec<TokenStream>, passed: TokenStream, access: Vec<TokenStream>| Device {
        declared,
        passed,
        access,
        copied: None,
        number: None,
        constant: None,
    };
    let generic = |nth: usize, what: &str| {
        arguments
            .get(nth)
            .map(|argument| quote!(#argument))
            .ok_or_else(|| Error::new_spanned(ty, format!("the type of `{name}` lacks its {what}")))
    };
    let host = |number: Option<Number>| Host {
        argument: quote!(<#ty as #safe::Argument>::Argument<'argument>),
        wires: quote!(<#ty as #safe::Pass<Launch>>::wires()),
        clause: Some(quote!(<#ty as #safe::Pass<Launch>>::clause(#label))),
        pass: quote!(<#ty as #safe::Pass<Launch>>::pass(#argument, (NAME, #label), &launch, &shape, &mut words)?;),
        number,
        tile: None,
    };
    let of_length = || length_of(arguments).map(|brand| Number { brand, is_length: true, is_extent: false });
    Ok(match class {
        // What stands behind a name may be an alias. The shape that the host checks is therefore said here again.
        Class::Thread | Class::Block if index == 0 => {
            let shape = shape(ty);
            let make = if matches!(class, Class::Thread) { quote!(thread) } else { quote!(block) };
            (device(Vec::new(), quote_spanned!(at=> #safe::#make::<#shape>()), Vec::new()), None)
        }
        Class::Thread | Class::Block => {
            let message = "a safe kernel has one `Thread` or `Block`, which is its first parameter";
            return Err(Error::new_spanned(ty, message));
        }
        Class::Tile => {
            let (element, layout) = (generic(0, "element")?, generic(1, "layout")?);
            let passed = quote_spanned!(at=> {
                #[cfg_attr(target_os = "cuda", unsafe(link_section = ".cuda.shared"))]
                static STORAGE: #safe::cuda_std::shared::Storage<
                    #safe::Aligned<[#element; <#layout as #safe::Layout>::CELLS]>,
                > = #safe::cuda_std::shared::Storage::new();
                #safe::tile::<#element, #layout, Launch>(
                    #safe::cuda_std::shared::Storage::pointer(&STORAGE).cast::<#element>(),
                    &mut __offset,
                    &__launch,
                )
            });
            let host = Host {
                argument: TokenStream::new(),
                wires: TokenStream::new(),
                clause: None,
                pass: TokenStream::new(),
                number: None,
                tile: Some((layout, element)),
            };
            (device(Vec::new(), passed, Vec::new()), Some(host))
        }
        Class::Slice => {
            let element = generic(0, "element")?;
            let passed = quote_spanned! {at=>
                <#ty as #safe::FromSlice<Launch>>::from_slice(#parameter.cast_mut(), #length, &__launch)
            };
            let access = quote_spanned!(at=> <#ty as #safe::FromSlice<Launch>>::ACCESS);
            let declared = vec![quote!(#parameter: *const #element), quote!(#length: usize)];
            (device(declared, passed, vec![access, quote!(b'-')]), Some(host(of_length())))
        }
        Class::Address => {
            let element = generic(0, "element")?;
            let passed =
                quote_spanned!(at=> <#ty as #safe::FromAddress<Launch>>::from_address(#parameter, &__launch));
            let declared = vec![quote!(#parameter: *mut #element)];
            (device(declared, passed, vec![quote!(b'-')]), Some(host(of_length())))
        }
        Class::Number => {
            let brand = generic(0, "name")?;
            let mut device = value(&parameter, ty, safe);
            // A `Length` has 64 bits.
            let is_extent = !matches!(strip(ty), Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Length"));
            if is_extent {
                device.number = Some(DeviceNumber { brand: brand.clone(), ty: ty.clone(), parameter });
            }
            (device, Some(host(Some(Number { brand, is_length: false, is_extent }))))
        }
        Class::PerBlock => {
            let number = Number { brand: quote!(#safe::PerBlock), is_length: false, is_extent: false };
            (value(&parameter, ty, safe), Some(host(Some(number))))
        }
        Class::Value => unreachable!("plain values are told before"),
    })
}

/// A value that crosses as `Value::Wire`.
fn value(parameter: &Ident, ty: &Type, safe: &TokenStream) -> Device {
    let at = on(ty);
    Device {
        declared: vec![quote_spanned!(at=> #parameter: <#ty as #safe::Value>::Wire)],
        passed: quote_spanned!(at=> <#ty as #safe::Value>::receive(#parameter)),
        access: vec![quote!(b'-')],
        copied: None,
        number: None,
        constant: None,
    }
}

/// A parameter of a plain type.
fn plain(
    index: usize,
    name: &Ident,
    ty: &Type,
    roots: &Roots,
    safe: Option<&TokenStream>,
) -> syn::Result<(Device, Host)> {
    let std = &roots.std;
    let parameter = format_ident!("parameter_{index}");
    let argument = format_ident!("argument_{index}");
    let device = || Device {
        declared: vec![quote!(#parameter: #ty)],
        passed: quote!(#parameter),
        access: vec![quote!(b'-')],
        copied: None,
        number: None,
        constant: None,
    };
    let host = |of: TokenStream, words: usize, push: TokenStream| {
        let words = vec![quote!(#std::launch::Wire::WORD); words];
        Host {
            argument: of,
            wires: quote!(#std::__kernel::vec![#(#words),*]),
            clause: None,
            pass: push,
            number: None,
            tile: None,
        }
    };
    let pointer = |is_mut: bool, pointee: &Type| {
        let of = if is_mut { quote!(PointerMut) } else { quote!(Pointer) };
        host(quote!(#std::launch::#of<'argument, #pointee>), 1, quote!(words.push(#argument.address());))
    };
    match strip(ty) {
        Type::Reference(reference) => match strip(&reference.elem) {
            Type::Slice(slice) if safe.is_some() && reference.mutability.is_some() => {
                let element = &slice.elem;
                let message = format!(
                    "all threads of a launch would have this `&mut [..]`: say which element belongs to which thread, as in \
                     `{name}: Out<{}, Each<N>>`",
                    readable(element)
                );
                Err(Error::new_spanned(ty, message))
            }
            Type::Slice(slice) => {
                let element = &slice.elem;
                let length = format_ident!("parameter_{index}_length");
                let (to, rebuild, access, of, push) = match reference.mutability {
                    None => (
                        quote!(*const),
                        quote!(from_raw_parts),
                        quote!(#std::__kernel::Access::<#element>::BYTE),
                        quote!(Slice),
                        quote!(push_slice),
                    ),
                    Some(_) => (
                        quote!(*mut),
                        quote!(from_raw_parts_mut),
                        quote!(b'-'),
                        quote!(SliceMut),
                        quote!(push_slice_mut),
                    ),
                };
                let passed = match safe {
                    Some(safe) => quote_spanned!(on(element)=> #safe::slice::<#element>(#parameter, #length)),
                    None => quote!(::core::slice::#rebuild(#parameter, #length)),
                };
                let device = Device {
                    declared: vec![quote!(#parameter: #to #element), quote!(#length: usize)],
                    passed,
                    access: vec![access, quote!(b'-')],
                    copied: None,
                    number: None,
                    constant: None,
                };
                let host =
                    host(quote!(#std::launch::#of<'argument, #element>), 2, quote!(words.#push(&#argument);));
                Ok((device, host))
            }
            other => {
                refuse_wide(other, ty)?;
                refuse_pointer(name, ty, safe)?;
                Ok((device(), pointer(reference.mutability.is_some(), other)))
            }
        },
        Type::Ptr(raw) => {
            refuse_wide(strip(&raw.elem), ty)?;
            if let Type::Slice(_) = strip(&raw.elem) {
                let message = "a kernel cannot take a raw slice pointer: take a pointer to the first element and a \
                               length, or a slice reference";
                return Err(Error::new_spanned(ty, message));
            }
            refuse_pointer(name, ty, safe)?;
            Ok((device(), pointer(raw.mutability.is_some(), &raw.elem)))
        }
        _ if safe.is_none() && constant(ty).is_some() => {
            let of = constant(ty);
            let device = Device {
                declared: vec![quote!(#parameter: [u8; ::core::mem::size_of::<#of>()])],
                access: vec![quote!(b'c')],
                copied: of.clone(),
                constant: of.clone(),
                ..device()
            };
            let wire = quote!(#std::launch::Wire { bytes: ::core::mem::size_of::<#of>(), float: false });
            let host = Host {
                wires: quote!(#std::__kernel::vec![#wire]),
                ..host(quote!(#of), 0, quote!(words.push_constant(#argument);))
            };
            Ok((device, host))
        }
        Type::ImplTrait(_) => {
            Err(Error::new_spanned(ty, "a kernel cannot be generic: name the type instead of `impl Trait`"))
        }
        _ => {
            let (device, host) = match safe {
                Some(safe) => {
                    let label = name.to_string();
                    let host = Host {
                        argument: quote!(<#ty as #safe::Argument>::Argument<'argument>),
                        wires: quote!(<#ty as #safe::Pass<Launch>>::wires()),
                        clause: Some(quote!(<#ty as #safe::Pass<Launch>>::clause(#label))),
                        pass: quote! {
                            <#ty as #safe::Pass<Launch>>::pass(#argument, (NAME, #label), &launch, &shape, &mut words)?;
                        },
                        number: None,
                        tile: None,
                    };
                    (value(&parameter, ty, safe), host)
                }
                None => {
                    let host = Host {
                        wires: quote!(#std::__kernel::vec![#std::launch::Wire::of::<#ty>()]),
                        ..host(quote!(#ty), 0, quote!(words.push(#argument);))
                    };
                    (Device { copied: Some(ty.clone()), ..device() }, host)
                }
            };
            Ok((device, host))
        }
    }
}

/// The type of the value, if the parameter is a `GridConstant`.
fn constant(ty: &Type) -> Option<Type> {
    let Type::Path(path) = strip(ty) else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "GridConstant")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(of) => Some(of.clone()),
        _ => None,
    })
}

/// Refuses a pointer in a safe kernel.
fn refuse_pointer(name: &Ident, ty: &Type, safe: Option<&TokenStream>) -> syn::Result<()> {
    if safe.is_none() {
        return Ok(());
    }
    let message = format!(
        "a safe kernel takes no pointers and no references but slices: take `{name}` as `In<..>`, `Out<..>` or `Sum<..>`, or \
         make the kernel an `unsafe fn`"
    );
    Err(Error::new_spanned(ty, message))
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
