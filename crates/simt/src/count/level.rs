//! Compiles a method of the observer twice: for machines with AVX2, and for all.

/// Defines a method that calls `$body` with the machine's features: itself, or by `$wide`, which is compiled for AVX2. `$body` has to
/// be inlined always, to be compiled with them.
macro_rules! by_level {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident = $wide:ident, $body:ident($($argument:ident: $kind:ty),*)) => {
        $(#[$attribute])*
        $visibility fn $name(&mut self, $($argument: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            if self.rules.level == $crate::decode::Level::Avx2 {
                // SAFETY: this level is set only where the computer supports it.
                unsafe { self.$wide($($argument),*) };
                return;
            }
            self.$body($($argument),*);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $wide(&mut self, $($argument: $kind),*) {
            self.$body($($argument),*);
        }
    };
}

pub(super) use by_level;
