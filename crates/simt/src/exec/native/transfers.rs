//! Emits the loads and stores of lanes: one vector for a row, one element for all lanes, or lane by lane.
//!
//! The bounds have been checked ([`access`](super::access)). A row of vectors, such as `ld.global.v4.f32`, is one load of 128
//! elements whose lanes are then taken apart by shuffles. Lanes at other distances are loaded in a function that all such
//! accesses of the kernel call. Stores go in ascending order of the lanes, so that of two to one address the higher lane's
//! value remains, as in the interpreter.

use std::fmt::Write as _;

use super::context::at;
use super::emit::Emitter;
use super::value::{Value, bits_of, lanes};
use crate::memory::Plain;

/// The addresses of lanes that are accessed one by one, in bytes of the host.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'a> {
    /// `host + k * step`.
    Steps { host: &'a str, step: &'a str },
    /// `list[k] + base`.
    Listed { list: &'a str, base: &'a str },
    /// The same in the lanes of a mask, the first of which is `lane`; the list has that one's address for all others.
    Active { list: &'a str, base: &'a str, mask: &'a str, lane: &'a str },
}

impl Emitter<'_> {
    /// Emits the store of the lanes' addresses to the list of the shared state, and returns the list.
    pub(super) fn listed(&mut self, address: &Value) -> String {
        let addresses = self.vector(address, 64);
        let list = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::ADDRESSES));
        self.emit(format!("store {} {addresses}, ptr {list}, align 8", lanes(64)));
        list
    }

    /// Emits rows each of which is one vector in memory, or, of loads, one element for all its lanes. If they repeat, all
    /// start at one address.
    pub(super) fn whole_rows(
        &mut self,
        plain: &Plain<'_>,
        starts: &[String],
        (width, bits, is_one): (u32, u32, bool),
        repeats: bool,
    ) {
        let slot = plain.elements[0];
        let row = format!("<{width} x i{bits}>");
        let align = bits / 8;
        if !plain.is_load {
            let whole = self.stored(slot, bits);
            for (number, start) in starts.iter().enumerate() {
                let picks: Vec<String> =
                    (0..width).map(|lane| format!("i32 {}", number as u32 * width + lane)).collect();
                let part = self.let_(format!(
                    "shufflevector <32 x i{bits}> {whole}, <32 x i{bits}> poison, <{width} x i32> <{}>",
                    picks.join(", ")
                ));
                let place = self.let_(format!("inttoptr i64 {start} to ptr"));
                self.emit(format!("store {row} {part}, ptr {place}, align {align}"));
            }
            return;
        }
        let count = if repeats { 1 } else { starts.len() };
        let mut parts: Vec<(String, u32)> = Vec::new();
        for start in &starts[..count] {
            let place = self.let_(format!("inttoptr i64 {start} to ptr"));
            let part = if is_one {
                let one = self.let_(format!("load i{bits}, ptr {place}, align {align}"));
                let first = self.let_(format!("insertelement {row} poison, i{bits} {one}, i32 0"));
                self.let_(format!(
                    "shufflevector {row} {first}, {row} poison, <{width} x i32> zeroinitializer"
                ))
            } else {
                self.let_(format!("load {row}, ptr {place}, align {align}"))
            };
            parts.push((part, width));
        }
        while parts[0].1 < 32 {
            let pairs: Vec<(String, String, u32)> = if parts.len() == 1 {
                vec![(parts[0].0.clone(), parts[0].0.clone(), parts[0].1)]
            } else {
                parts.chunks(2).map(|pair| (pair[0].0.clone(), pair[1].0.clone(), pair[0].1)).collect()
            };
            parts =
                pairs.into_iter().map(|(a, b, size)| (self.joined(&a, &b, size, bits), 2 * size)).collect();
        }
        let value = self.extended(&parts[0].0.clone(), true, bits, bits_of(slot.width), plain.sign_bits);
        self.write(slot, &Value::Vector(value), None);
    }

    /// Returns a vector of the elements of two, one after the other.
    pub(super) fn joined(&mut self, a: &str, b: &str, size: u32, bits: u32) -> String {
        let picks: Vec<String> = (0..2 * size).map(|lane| format!("i32 {lane}")).collect();
        let kind = format!("<{size} x i{bits}>");
        self.let_(format!(
            "shufflevector {kind} {a}, {kind} {b}, <{} x i32> <{}>",
            2 * size,
            picks.join(", ")
        ))
    }

    /// Emits an access at one address.
    pub(super) fn at_one(&mut self, plain: &Plain<'_>, host: &str) {
        let element = plain.bytes / plain.elements.len() as u32;
        for (index, slot) in plain.elements.iter().enumerate() {
            let place = self.let_(format!("add i64 {host}, {}", index as u32 * element));
            let place = self.let_(format!("inttoptr i64 {place} to ptr"));
            if !plain.is_load {
                // All lanes store there, and the last one's value remains.
                let bits = 8 * element;
                let value = self.stored(*slot, bits);
                let last = self.let_(format!("extractelement {} {value}, i32 31", lanes(bits)));
                self.emit(format!("store i{bits} {last}, ptr {place}, align {element}"));
                continue;
            }
            let loaded = self.let_(format!("load i{}, ptr {place}, align {element}", 8 * element));
            let value = self.extended(&loaded, false, 8 * element, bits_of(slot.width), plain.sign_bits);
            self.write(*slot, &Value::Scalar(value), None);
        }
    }

    /// Emits an access of lanes one after the other without gaps.
    pub(super) fn row(&mut self, plain: &Plain<'_>, host: &str) {
        let count = plain.elements.len() as u32;
        let element = plain.bytes / count;
        let bits = 8 * element;
        let place = self.let_(format!("inttoptr i64 {host} to ptr"));
        let all = format!("<{} x i{bits}>", 32 * count);
        if plain.is_load {
            let loaded = self.let_(format!("load {all}, ptr {place}, align {element}"));
            for (index, slot) in plain.elements.iter().enumerate() {
                let part = if count == 1 {
                    loaded.clone()
                } else {
                    let picks: Vec<String> =
                        (0..32).map(|lane| format!("i32 {}", lane * count + index as u32)).collect();
                    self.let_(format!(
                        "shufflevector {all} {loaded}, {all} poison, <32 x i32> <{}>",
                        picks.join(", ")
                    ))
                };
                let value = self.extended(&part, true, bits, bits_of(slot.width), plain.sign_bits);
                self.write(*slot, &Value::Vector(value), None);
            }
            return;
        }
        let parts: Vec<String> = plain.elements.iter().map(|slot| self.stored(*slot, bits)).collect();
        let whole = match parts.as_slice() {
            [one] => one.clone(),
            parts => {
                // Pairs of vectors are joined until one is left, then its elements are put in order.
                let mut joined: Vec<(String, u32)> = parts.iter().map(|part| (part.clone(), 32)).collect();
                while joined.len() > 1 {
                    let pairs =
                        joined.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect::<Vec<_>>();
                    joined = pairs
                        .into_iter()
                        .map(|((a, size), (b, _))| (self.joined(&a, &b, size, bits), 2 * size))
                        .collect();
                }
                let picks: Vec<String> = (0..32 * count)
                    .map(|place| format!("i32 {}", place % count * 32 + place / count))
                    .collect();
                let both = &joined[0].0;
                self.let_(format!(
                    "shufflevector {all} {both}, {all} poison, <{} x i32> <{}>",
                    32 * count,
                    picks.join(", ")
                ))
            }
        };
        self.emit(format!("store {all} {whole}, ptr {place}, align {element}"));
    }

    /// Emits an access of lanes at equal distances, lane by lane.
    pub(super) fn strided(&mut self, plain: &Plain<'_>, host: &str, step: &str) {
        self.each_lane(plain, Lanes::Steps { host, step });
    }

    /// Emits an access whose lanes are loaded or stored one by one, in a function that all such accesses of the kernel
    /// call: in place they would be most of the code, and LLVM's time.
    pub(super) fn each_lane(&mut self, plain: &Plain<'_>, place: Lanes<'_>) {
        let count = plain.elements.len() as u32;
        let element = plain.bytes / count;
        let bits = 8 * element;
        let kind = lanes(bits);
        for (index, slot) in plain.elements.iter().enumerate() {
            let offset = index as u32 * element;
            let moved = |emitter: &mut Self, start: &str| match offset {
                0 => start.to_owned(),
                offset => emitter.let_(format!("add i64 {start}, {offset}")),
            };
            let arguments = match place {
                Lanes::Steps { host, step } => format!("i64 {}, i64 {step}", moved(self, host)),
                Lanes::Listed { list, base } | Lanes::Active { list, base, .. } => {
                    format!("ptr {list}, i64 {}", moved(self, base))
                }
            };
            let mask = match place {
                Lanes::Active { mask, .. } => Some(mask),
                Lanes::Steps { .. } | Lanes::Listed { .. } => None,
            };
            if plain.is_load {
                let function = self.lane_function(place, true, bits);
                let loaded = self.let_(format!("call {kind} @{function}({arguments})"));
                let own = bits_of(slot.width);
                let value = self.extended(&loaded, true, bits, own, plain.sign_bits);
                let value = match place {
                    Lanes::Active { lane, .. } if !self.varies(*slot) => {
                        Value::Scalar(self.let_(format!("extractelement {} {value}, i32 {lane}", lanes(own))))
                    }
                    _ => Value::Vector(value),
                };
                self.write(*slot, &value, mask);
            } else if let Some(mask) = mask {
                let function = self.store_of_some(bits);
                let value = self.stored(*slot, bits);
                self.emit(format!("call void @{function}({arguments}, {kind} {value}, i32 {mask})"));
            } else {
                let function = self.lane_function(place, false, bits);
                let value = self.stored(*slot, bits);
                self.emit(format!("call void @{function}({arguments}, {kind} {value})"));
            }
        }
    }

    /// Returns the name of the function that loads or stores 32 lanes of this many bits one by one, in order. It is given its
    /// addresses in the way of `place`.
    pub(super) fn lane_function(&mut self, place: Lanes<'_>, loads: bool, bits: u32) -> String {
        let (name, parameters) = match place {
            Lanes::Steps { .. } => ("steps", "i64 %base, i64 %step"),
            Lanes::Listed { .. } | Lanes::Active { .. } => ("listed", "ptr %list, i64 %base"),
        };
        let verb = if loads { "load" } else { "store" };
        let (name, kind) = (format!("{verb}_{name}_{bits}"), lanes(bits));
        let mut text = match loads {
            true => format!("{kind} @{name}({parameters})"),
            false => format!("void @{name}({parameters}, {kind} %value)"),
        };
        text.push_str(" noinline ATTRIBUTES {\n");
        for lane in 0..32 {
            match place {
                Lanes::Steps { .. } if lane == 0 => _ = writeln!(text, "  %a0 = add i64 %base, 0"),
                Lanes::Steps { .. } => _ = writeln!(text, "  %a{lane} = add i64 %a{}, %step", lane - 1),
                Lanes::Listed { .. } | Lanes::Active { .. } => {
                    let _ = writeln!(text, "  %i{lane} = getelementptr i64, ptr %list, i64 {lane}");
                    let _ = writeln!(text, "  %l{lane} = load i64, ptr %i{lane}");
                    let _ = writeln!(text, "  %a{lane} = add i64 %l{lane}, %base");
                }
            }
            let _ = writeln!(text, "  %p{lane} = inttoptr i64 %a{lane} to ptr");
            let align = bits / 8;
            if loads {
                let before = if lane == 0 { "poison".to_owned() } else { format!("%v{}", lane - 1) };
                let _ = writeln!(text, "  %e{lane} = load i{bits}, ptr %p{lane}, align {align}");
                let _ = writeln!(
                    text,
                    "  %v{lane} = insertelement {kind} {before}, i{bits} %e{lane}, i32 {lane}"
                );
            } else {
                let _ = writeln!(text, "  %e{lane} = extractelement {kind} %value, i32 {lane}");
                let _ = writeln!(text, "  store i{bits} %e{lane}, ptr %p{lane}, align {align}");
            }
        }
        text.push_str(&if loads { format!("  ret {kind} %v31\n}}\n") } else { "  ret void\n}\n".to_owned() });
        self.function_of_module(text);
        name
    }
    /// Extends a loaded element to its register.
    pub(super) fn extended(
        &mut self,
        value: &str,
        vector: bool,
        from: u32,
        to: u32,
        sign_bits: u8,
    ) -> String {
        let of = |bits: u32| if vector { lanes(bits) } else { format!("i{bits}") };
        if from == to {
            return value.to_owned();
        }
        if sign_bits == 0 {
            return self.let_(format!("zext {} {value} to {}", of(from), of(to)));
        }
        let filled = u32::from(sign_bits).min(to);
        if filled == to {
            return self.let_(format!("sext {} {value} to {}", of(from), of(to)));
        }
        // The register is narrower than its column.
        let own = self.let_(format!("sext {} {value} to {}", of(from), of(filled)));
        self.let_(format!("zext {} {own} to {}", of(filled), of(to)))
    }

    /// Returns the lanes of a register as they are stored.
    pub(super) fn stored(&mut self, slot: crate::registers::Slot, bits: u32) -> String {
        let own = bits_of(slot.width);
        let value = self.read(slot);
        let vector = self.vector(&value, own);
        if own == bits {
            vector
        } else {
            self.let_(format!("trunc {} {vector} to {}", lanes(own), lanes(bits)))
        }
    }
}
