//! Attributes of addresses.

use std::ffi::{c_int, c_uint};

use simt::memory::Kind;

use super::allocations::Owned;
use super::codes::{INVALID_VALUE, Outcome};
use super::contexts::{self, Current};
use super::driver::Located;
use super::entry::{In, Out};
use crate::Code;

/// The type of an attribute's value: the driver API has a different one for each.
enum Answer {
    Int(c_int),
    Byte(u8),
    Long(u64),
}

impl Answer {
    fn hand_out(&self, data: Out<u8>) -> Outcome {
        match self {
            Self::Int(value) => data.cast().set(*value),
            Self::Byte(value) => data.set(*value),
            Self::Long(value) => data.cast().set(*value),
        }
    }
}

fn known(current: &Current, address: u64) -> Option<(Located, Option<Owned>)> {
    let found = current.driver.locate(address)?;
    let owned = current.driver.state().allocations.get(&found.allocation.address).copied();
    Some((found, owned))
}

fn attribute(current: &Current, number: c_int, address: u64) -> Outcome<Answer> {
    let (found, owned) = known(current, address).ok_or(INVALID_VALUE)?;
    let allocation = found.allocation;
    let for_host = !allocation.kind.on_device();
    let context = || match owned {
        Some(owned) => owned.context as u64,
        // A module's variable.
        None => current.handle as u64,
    };
    Ok(match number {
        1 => Answer::Long(context()),
        2 => Answer::Int(match allocation.kind {
            Kind::Pinned | Kind::Registered => 1,
            _ => 2,
        }),
        3 => Answer::Long(address),
        4 if for_host => Answer::Long(address),
        // Device memory has no host address.
        4 => return Err(INVALID_VALUE),
        6 => Answer::Byte(0),
        7 => Answer::Long(allocation.id | (found.device.ordinal as u64) << 56),
        8 => Answer::Byte((allocation.kind == Kind::Managed).into()),
        9 => Answer::Int(found.device.ordinal as c_int),
        10 => Answer::Byte(0),
        11 => Answer::Long(allocation.address),
        12 => Answer::Long(allocation.bytes),
        13 => Answer::Byte(1),
        14 => Answer::Long(0),
        15 => Answer::Byte(0),
        16 => Answer::Int(3),
        17 => Answer::Long(owned.and_then(|owned| owned.pool).unwrap_or(0) as u64),
        // Tokens for other drivers of the machine.
        5 => return Err(Code::NOT_SUPPORTED),
        _ => return Err(INVALID_VALUE),
    })
}

entry_points! {
    fn cuPointerGetAttribute(data: Out<u8>, number: c_int, address: u64) {
        let current = contexts::current()?;
        data.wanted()?;
        attribute(&current, number, address)?.hand_out(data)
    }

    // Unlike the call for one attribute, this one succeeds for unknown memory, with null values.
    fn cuPointerGetAttributes(count: c_uint, numbers: In<c_int>, data: In<Out<u8>>, address: u64) {
        let current = contexts::current()?;
        if count == 0 {
            return Err(INVALID_VALUE);
        }
        for index in 0..count as usize {
            let number = numbers.at(index)?;
            let answer = match attribute(&current, number, address) {
                Ok(answer) => answer,
                Err(code) if code != INVALID_VALUE => return Err(code),
                Err(_) => match number {
                    // These values stay unchanged.
                    11 | 12 => continue,
                    1 | 3 | 4 | 7 | 14 | 17 => Answer::Long(0),
                    2 | 16 => Answer::Int(0),
                    6 | 8 | 10 | 13 | 15 => Answer::Byte(0),
                    9 => Answer::Int(-2),
                    _ => return Err(INVALID_VALUE),
                },
            };
            answer.hand_out(data.at(index)?)?;
        }
        Ok(())
    }

    fn cuPointerSetAttribute(value: In<c_uint>, number: c_int, address: u64) {
        let current = contexts::current()?;
        value.get()?;
        known(&current, address).ok_or(INVALID_VALUE)?;
        // Copies always appear synchronous, whether requested or not.
        if number == 6 { Ok(()) } else { Err(INVALID_VALUE) }
    }
}
