//! What stands in the parentheses of `#[kernel(...)]`.

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    AngleBracketedGenericArguments, Error, Expr, ExprLit, GenericArgument, Lit, LitStr, Token, parenthesized,
};

const OPTIONS: &str = "launch_bounds(threads), launch_bounds(threads, min_blocks), requires(clause, ..), \
                       shared = bytes, arch = \"90a\", cluster(x), cluster(x, y, z), name = <type, ..>, \
                       grid_dim = 1d|2d|3d, block_dim = 1d|2d|3d";
/// What every CUDA architecture so far allows.
pub(super) const MOST_THREADS_A_BLOCK: u32 = 1024;
/// What the most capable multiprocessor so far holds.
pub(super) const MOST_BLOCKS_A_MULTIPROCESSOR: u32 = 32;
/// What every device with clusters has.
pub(super) const MOST_BLOCKS_A_CLUSTER: u32 = 8;
/// The first compute capability with clusters.
const FIRST_WITH_CLUSTERS: u32 = 90;

/// The options of one kernel.
#[derive(Default)]
pub(crate) struct Options {
    pub(super) threads: Option<Bound>,
    pub(super) min_blocks: Option<Bound>,
    /// Clauses of the contract, checked on the host before each launch.
    pub(super) requires: Vec<Expr>,
    /// The formula of the dynamic shared memory, in bytes.
    pub(super) shared: Option<Expr>,
    /// The oldest architecture that has the kernel's instructions: `compute_90a`.
    pub(super) arch: Option<String>,
    /// Blocks of each cluster along x, y and z.
    pub(super) cluster: Option<[Bound; 3]>,
    /// The kernels that a generic function is compiled to.
    pub(super) instances: Vec<Instance>,
}

/// A kernel that a generic function is compiled to: its name, and what stands for the function's parameters.
pub(super) struct Instance {
    pub(super) name: Ident,
    pub(super) arguments: Punctuated<GenericArgument, Token![,]>,
}

/// One launch bound: known to the macro, or a constant expression that the compiler will evaluate.
pub(super) enum Bound {
    Literal(u32),
    Constant(Expr),
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        let mut clusters_at = None;
        while !input.is_empty() {
            let name: Ident = input.parse().map_err(|error| {
                Error::new(error.span(), format!("expected an option of #[kernel], one of: {OPTIONS}"))
            })?;
            match name.to_string().as_str() {
                "launch_bounds" if options.threads.is_some() => {
                    return Err(Error::new(name.span(), "launch_bounds is given twice"));
                }
                "launch_bounds" => options.parse_launch_bounds(&name, input)?,
                "requires" => {
                    let content;
                    parenthesized!(content in input);
                    options.requires.extend(content.parse_terminated(Expr::parse, Token![,])?);
                }
                "shared" if options.shared.is_some() => {
                    return Err(Error::new(name.span(), "shared is given twice"));
                }
                "shared" => {
                    input.parse::<Token![=]>()?;
                    options.shared = Some(input.parse()?);
                }
                "arch" if options.arch.is_some() => {
                    return Err(Error::new(name.span(), "arch is given twice"));
                }
                "arch" => options.arch = Some(parse_arch(input)?),
                "cluster" if options.cluster.is_some() => {
                    return Err(Error::new(name.span(), "cluster is given twice"));
                }
                "cluster" => {
                    options.cluster = Some(parse_cluster(&name, input)?);
                    clusters_at = Some(name.span());
                }
                "grid_dim" | "block_dim" => parse_dimension_hint(input)?,
                _ if input.peek(Token![=]) && input.peek2(Token![<]) => {
                    input.parse::<Token![=]>()?;
                    let arguments: AngleBracketedGenericArguments = input.parse()?;
                    options.instances.push(Instance { name, arguments: arguments.args });
                }
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
        if let (Some(place), Some(arch)) = (clusters_at, &options.arch)
            && arch
                .trim_matches(|c: char| !c.is_ascii_digit())
                .parse::<u32>()
                .is_ok_and(|it| it < FIRST_WITH_CLUSTERS)
        {
            let message = format!(
                "clusters begin with compute capability 9.0, and this kernel is for {arch} on: write arch = \"90\" or later"
            );
            return Err(Error::new(place, message));
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

    /// The bound as an expression of type `u32`.
    pub(super) fn value(&self) -> TokenStream {
        match self {
            Self::Literal(number) => Literal::u32_unsuffixed(*number).into_token_stream(),
            Self::Constant(expression) => expression.into_token_stream(),
        }
    }

    /// The bound's decimal digits as the compiler sees them, and how many there are.
    pub(super) fn digits(bound: Option<&Self>, most: u32, std: &TokenStream) -> (TokenStream, usize) {
        match bound {
            None => (quote!(b"0"), 1),
            Some(Self::Literal(number)) => {
                let digits = number.to_string();
                let literal = Literal::byte_string(digits.as_bytes());
                (quote!(#literal), digits.len())
            }
            // A length that the macro knows before the compiler knows the number: leading zeros fill it up.
            Some(Self::Constant(expression)) => {
                (quote_spanned!(expression.span()=> &#std::__kernel::decimal(#expression, #most)), 10)
            }
        }
    }
}

/// `(2)` or `(2, 2, 1)`: the blocks of a cluster along each axis, 8 together at most.
fn parse_cluster(name: &Ident, input: ParseStream<'_>) -> syn::Result<[Bound; 3]> {
    let wrong = || {
        let message = "cluster takes its blocks along one or three axes: cluster(x) or cluster(x, y, z)";
        Error::new(name.span(), message)
    };
    if !input.peek(syn::token::Paren) {
        return Err(wrong());
    }
    let content;
    parenthesized!(content in input);
    let axes = content.parse_terminated(Expr::parse, Token![,])?.into_iter();
    let axis = |axis| Bound::new(axis, "the blocks of a cluster", MOST_BLOCKS_A_CLUSTER);
    let mut axes: Vec<Bound> = axes.map(axis).collect::<syn::Result<_>>()?;
    if axes.len() == 1 {
        axes.extend([Bound::Literal(1), Bound::Literal(1)]);
    }
    let known = axes.iter().map(|axis| if let Bound::Literal(blocks) = axis { *blocks } else { 1 });
    let blocks: u32 = known.product();
    if axes.len() == 3 && blocks > MOST_BLOCKS_A_CLUSTER {
        let message = format!("a cluster has at most {MOST_BLOCKS_A_CLUSTER} blocks, and this one {blocks}");
        return Err(Error::new(name.span(), message));
    }
    axes.try_into().map_err(|_| wrong())
}

/// `= "90a"`: an architecture as `compute_90a` without its prefix. Which there are is known to `cuda_builder`.
fn parse_arch(input: ParseStream<'_>) -> syn::Result<String> {
    input.parse::<Token![=]>()?;
    let literal: LitStr = input.parse()?;
    let text = literal.value();
    let digits = text.trim_end_matches(['a', 'f']);
    let is_capability = matches!(digits.len(), 2 | 3) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_capability || text.len() - digits.len() > 1 {
        let message = format!(
            "`{text}` is not a compute capability: write it without its dot, with the letter of its variant if it has \
             one, as in arch = \"90a\""
        );
        return Err(Error::new(literal.span(), message));
    }
    Ok(format!("compute_{text}"))
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
