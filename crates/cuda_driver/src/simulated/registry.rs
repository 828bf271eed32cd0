//! Handles: numbers that look like pointers, and are looked up but never followed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::codes::Outcome;
use crate::Code;

/// A handle: the program's reference to one of the driver's objects.
pub(super) type Handle = usize;

/// The next handle. It starts above those with a fixed meaning (0, 1 and 2 for streams), and none is reused, so that a
/// stale handle is recognised.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

/// Returns an unused handle.
pub(super) fn new_handle() -> Handle {
    NEXT.fetch_add(16, Ordering::Relaxed)
}

/// The objects of one kind.
#[derive(Debug)]
pub(super) struct Registry<T> {
    objects: HashMap<Handle, T>,
    /// Code for unknown handles.
    unknown: Code,
}

impl<T> Registry<T> {
    pub(super) fn new(unknown: Code) -> Self {
        Self { objects: HashMap::new(), unknown }
    }

    pub(super) fn insert(&mut self, object: T) -> Handle {
        let handle = new_handle();
        self.objects.insert(handle, object);
        handle
    }

    /// Inserts an object under a given handle.
    pub(super) fn insert_at(&mut self, handle: Handle, object: T) {
        self.objects.insert(handle, object);
    }

    pub(super) fn get(&self, handle: Handle) -> Outcome<&T> {
        self.objects.get(&handle).ok_or(self.unknown)
    }

    pub(super) fn get_mut(&mut self, handle: Handle) -> Outcome<&mut T> {
        self.objects.get_mut(&handle).ok_or(self.unknown)
    }

    pub(super) fn remove(&mut self, handle: Handle) -> Outcome<T> {
        self.objects.remove(&handle).ok_or(self.unknown)
    }

    pub(super) fn contains(&self, handle: Handle) -> bool {
        self.objects.contains_key(&handle)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.objects.iter().map(|(handle, object)| (*handle, object))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut T)> {
        self.objects.iter_mut().map(|(handle, object)| (*handle, object))
    }

    /// Removes and returns all objects for which the predicate is true.
    pub(super) fn remove_where(&mut self, mut unwanted: impl FnMut(&T) -> bool) -> Vec<(Handle, T)> {
        let handles: Vec<Handle> =
            self.objects.iter().filter(|(_, object)| unwanted(object)).map(|(handle, _)| *handle).collect();
        handles.into_iter().filter_map(|handle| Some((handle, self.objects.remove(&handle)?))).collect()
    }
}
