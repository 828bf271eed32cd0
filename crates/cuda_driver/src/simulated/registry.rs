//! Handles: numbers that look like pointers, are looked up and never followed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::codes::Outcome;
use crate::Code;

/// What the program holds in place of a pointer to one of the driver's objects.
pub(super) type Handle = usize;

/// Above the handles with a meaning of their own (0, 1 and 2 for streams), and never given twice, so that a stale
/// handle is known as such.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

/// A handle that nothing has had.
pub(super) fn new_handle() -> Handle {
    NEXT.fetch_add(16, Ordering::Relaxed)
}

/// The objects of one kind.
#[derive(Debug)]
pub(super) struct Registry<T> {
    objects: HashMap<Handle, T>,
    /// For handles that are none of these.
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

    /// Puts an object under a handle of its own.
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

    /// Takes out all objects of which this is true.
    pub(super) fn remove_where(&mut self, mut unwanted: impl FnMut(&T) -> bool) -> Vec<(Handle, T)> {
        let handles: Vec<Handle> =
            self.objects.iter().filter(|(_, object)| unwanted(object)).map(|(handle, _)| *handle).collect();
        handles.into_iter().filter_map(|handle| Some((handle, self.objects.remove(&handle)?))).collect()
    }
}
