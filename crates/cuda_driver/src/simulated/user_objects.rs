//! User objects: data of the program that graphs keep alive.
//!
//! A user object has references, which the program and graphs hold. When the last is released, the program's destructor
//! is called with the data. A graph's references pass to its clones, its parent graphs and its executables: each of
//! these keeps the object by an [`Arc`] of its own, whatever the program releases meanwhile.

use std::ffi::{c_uint, c_void};
use std::sync::{Arc, Weak};

use super::codes::{INVALID_VALUE, Outcome};
use super::driver::driver;
use super::entry::{HostFunction, Out};
use super::registry::Handle;

/// The program's data, destroyed with the last reference.
#[derive(Debug)]
pub(super) struct Data {
    /// Address of the data, exposed.
    address: usize,
    destroy: unsafe extern "C" fn(*mut c_void),
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: the program passed a function of this signature, the data that it wants, and that it may be called from
        // any thread once nothing refers to the object. It must not call the driver.
        unsafe { (self.destroy)(std::ptr::with_exposed_provenance_mut(self.address)) };
    }
}

/// A user object, by its handle.
#[derive(Debug)]
pub(super) struct UserObject {
    /// References that the program holds.
    own: u32,
    /// The data, while the program holds references.
    kept: Option<Arc<Data>>,
    /// The data, while only graphs hold references.
    data: Weak<Data>,
}

/// A graph's references to a user object.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    object: Handle,
    references: u32,
    pub data: Arc<Data>,
}

/// Checks a number of references: at least one, and representable as `int`.
fn references(count: c_uint) -> Outcome<u32> {
    if count == 0 || i32::try_from(count).is_err() { Err(INVALID_VALUE) } else { Ok(count) }
}

/// Releases references of the program. Returns the data if they were the program's last.
fn release(object: &mut UserObject, count: u32) -> Outcome<Option<Arc<Data>>> {
    object.own = object.own.checked_sub(count).ok_or(INVALID_VALUE)?;
    Ok(if object.own == 0 { object.kept.take() } else { None })
}

entry_points! {
    fn cuUserObjectCreate(
        out: Out<Handle>, data: *mut c_void, destroy: HostFunction, count: c_uint, flags: c_uint,
    ) {
        // The program must synchronise with the destructor itself: the one flag, which is mandatory, says so.
        const NO_DESTRUCTOR_SYNC: c_uint = 1;
        let driver = driver()?;
        out.wanted()?;
        let (destroy, own) = (destroy.ok_or(INVALID_VALUE)?, references(count)?);
        if flags != NO_DESTRUCTOR_SYNC {
            return Err(INVALID_VALUE);
        }
        let kept = Arc::new(Data { address: data.expose_provenance(), destroy });
        let object = UserObject { own, data: Arc::downgrade(&kept), kept: Some(kept) };
        out.set(driver.state().user_objects.insert(object))
    }

    fn cuUserObjectRetain(object: Handle, count: c_uint) {
        let driver = driver()?;
        let mut state = driver.state();
        let object = state.user_objects.get_mut(object)?;
        let data = object.data.upgrade().ok_or(INVALID_VALUE)?;
        object.own = object.own.checked_add(references(count)?).ok_or(INVALID_VALUE)?;
        object.kept = Some(data);
        Ok(())
    }

    fn cuUserObjectRelease(object: Handle, count: c_uint) {
        let driver = driver()?;
        let count = references(count)?;
        // The destructor is called while no lock is held.
        let last = release(driver.state().user_objects.get_mut(object)?, count)?;
        drop(last);
        Ok(())
    }

    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) {
        const MOVE: c_uint = 1;
        let driver = driver()?;
        let count = references(count)?;
        if flags > MOVE {
            return Err(INVALID_VALUE);
        }
        let mut state = driver.state();
        state.graphs.get(graph)?;
        let held = state.user_objects.get_mut(object)?;
        let data = held.data.upgrade().ok_or(INVALID_VALUE)?;
        if flags == MOVE {
            release(held, count)?;
        }
        let kept = &mut state.graphs.get_mut(graph)?.kept;
        match kept.iter_mut().find(|kept| kept.object == object) {
            Some(kept) => kept.references = kept.references.checked_add(count).ok_or(INVALID_VALUE)?,
            None => kept.push(Kept { object, references: count, data }),
        }
        Ok(())
    }

    fn cuGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint) {
        let driver = driver()?;
        let count = references(count)?;
        let mut state = driver.state();
        let kept = &mut state.graphs.get_mut(graph)?.kept;
        let place = kept.iter().position(|kept| kept.object == object).ok_or(INVALID_VALUE)?;
        kept[place].references = kept[place].references.checked_sub(count).ok_or(INVALID_VALUE)?;
        let last = if kept[place].references == 0 { Some(kept.remove(place)) } else { None };
        // The destructor is called while no lock is held.
        drop(state);
        drop(last);
        Ok(())
    }
}
