//! Unrolled loops. The optimiser decides whether to unroll a loop; a sequence of calls leaves it no choice.

/// Applies `step` to `state` `COUNT` times, at most 64, and passes it the number of the step.
///
/// ```
/// use cuda_safe::unroll::repeat;
///
/// assert_eq!(repeat::<4, _>(0, |sum, nth| sum + nth), 6);
/// ```
#[inline(always)]
pub fn repeat<const COUNT: u32, A>(state: A, mut step: impl FnMut(A, u32) -> A) -> A {
    const { assert!(COUNT <= 64, "64 steps are the most") };
    eight_times(COUNT.div_ceil(8), state, |state, eight| {
        eight_times(COUNT - eight * 8, state, |state, nth| step(state, eight * 8 + nth))
    })
}

#[inline(always)]
fn eight_times<A>(count: u32, mut state: A, mut step: impl FnMut(A, u32) -> A) -> A {
    macro_rules! steps {
        ($($nth:literal)*) => {$(
            if $nth < count {
                state = step(state, $nth);
            }
        )*};
    }
    steps!(0 1 2 3 4 5 6 7);
    state
}
