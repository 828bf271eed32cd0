//! Atomic instructions as plain ones.

use super::Value;
use crate::llvm::Builder;

impl Value<'_> {
    /// Replaces a `cmpxchg` by a load, a comparison and a store of the new or the old value.
    ///
    /// The three are no longer one step, so no other thread may reach the memory.
    ///
    /// # Safety
    /// The value is a `cmpxchg`, and no copy of it is used afterwards.
    pub(crate) unsafe fn split_compare_exchange(self) {
        let mut operands = self.operands();
        let (Some(pointer), Some(expected), Some(new)) = (operands.next(), operands.next(), operands.next())
        else {
            return;
        };
        let builder = Builder::before(self);
        let old = builder.load(pointer, expected);
        let equal = builder.equals(old, expected);
        builder.store(builder.select(equal, new, old), pointer);
        let result = builder.pair(old, equal, self);
        // SAFETY: the caller keeps no copy.
        unsafe { self.become_value(result) };
    }
}
