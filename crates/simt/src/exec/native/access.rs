//! Emits loads and stores.
//!
//! The common case is emitted in place: all lanes take part, their bytes lie in the allocation that the instruction hit
//! last, and are aligned. At an affine address, that is two comparisons of scalars; at a varying one, a comparison of 32
//! lanes. Whatever is not the common case is called: the interpreter's own function, which finds faults, notes the
//! allocation for the next time, and tells the observer itself.

use std::fmt::Write as _;
use std::mem::offset_of;

use super::context::{at, stopped};
use super::emit::Emitter;
use super::values::{Value, bits_of, lanes};
use crate::memory::{MemoryInstruction, Plain, PlainSpace};
use crate::observe::Tally;
use crate::registers::Width;

/// Where an access in place finds its bytes.
struct Place {
    /// Added to an address to give the host's.
    base: Option<String>,
    first: String,
    /// The last address that may be accessed.
    last: String,
}

/// The addresses of lanes that are accessed one by one, in bytes of the host.
#[derive(Clone, Copy)]
enum Lanes<'a> {
    /// `host + k * step`.
    Steps { host: &'a str, step: &'a str },
    /// `list[k] + base`.
    Listed { list: &'a str, base: &'a str },
}

/// Most bytes between adjacent lanes whose sums cannot overflow.
const FARTHEST: i64 = 1 << 40;

impl Emitter<'_> {
    pub(super) fn memory(&mut self, pc: u32, memory: &MemoryInstruction, mask: Option<&str>) {
        if let Some(by) = memory.moved() {
            let value = self.read(memory.sources()[0]);
            let moved = self.sum("add", 64, &value, &Value::Scalar((by as i64).to_string()));
            self.write(memory.results()[0], &moved, mask);
            return;
        }
        let plain = memory.plain().filter(|plain| self.is_emitted(plain));
        let Some(plain) = plain else { return self.call_memory(pc, mask) };
        let (fast, slow, done) = (self.label(), self.label(), self.label());
        if let Some(mask) = mask {
            let all = self.let_(format!("icmp eq i32 {mask}, -1"));
            self.emit(format!("br i1 {all}, label %{fast}, label %{slow}"));
            self.begin(&fast);
        }
        let number = self.accesses.len();
        self.accesses.push(pc);
        let address = self.address(&plain);
        let place = self.place(&plain, number);
        match &address {
            Value::Vector(addresses) => self.varying(&plain, number, &place, addresses, &slow),
            Value::Scalar(base) => self.affine(&plain, number, &place, (base, "0"), &slow),
            Value::Affine(base, step) => self.affine(&plain, number, &place, (base, step), &slow),
            Value::Grid(..) => self.rows(&plain, number, &place, &address, &slow),
            Value::Mask(_) => unreachable!("addresses are numbers"),
        }
        self.emit(format!("br label %{done}"));
        self.begin(&slow);
        self.call_memory(pc, mask);
        self.emit(format!("br label %{done}"));
        self.begin(&done);
    }

    /// Returns true if the access has a form in place.
    fn is_emitted(&self, plain: &Plain<'_>) -> bool {
        let count = plain.elements.len() as u32;
        let element = plain.bytes / count;
        let widths = plain.elements.iter().all(|slot| matches!(slot.width, Width::Word | Width::Double));
        let fits = plain.elements.iter().all(|slot| bits_of(slot.width) >= 8 * element);
        widths && fits && element <= 8 && matches!(plain.address.width, Width::Word | Width::Double)
    }

    /// Emits a call of the interpreter's function.
    fn call_memory(&mut self, pc: u32, mask: Option<&str>) {
        self.give_columns(pc, mask);
        let call = self.field("ptr", at::MEMORY);
        let mask = mask.unwrap_or("-1");
        let outcome = self.let_(format!("call i32 {call}(ptr %c, ptr %f, i32 {pc}, i32 {mask})"));
        let ok = self.let_(format!("icmp eq i32 {outcome}, 0"));
        let go = self.label();
        let fault = self.exit(pc, stopped::FAULT);
        self.likely(&ok, &go, &fault);
        self.begin(&go);
        self.take_columns(pc);
    }

    /// Returns the lanes' addresses in 64 bits.
    fn address(&mut self, plain: &Plain<'_>) -> Value {
        let value = self.read(plain.address);
        let bits = bits_of(plain.address.width);
        // Sums of 32-bit registers wrap around in shared memory alone.
        let narrow = bits == 32 && plain.space == PlainSpace::Shared;
        let offset = |emitter: &mut Self, value: &Value, bits: u32| match plain.offset {
            0 => value.clone(),
            offset if bits == 32 => {
                emitter.sum("add", 32, value, &Value::Scalar((offset as i32).to_string()))
            }
            offset => emitter.sum("add", 64, value, &Value::Scalar(offset.to_string())),
        };
        if bits == 64 {
            return offset(self, &value, 64);
        }
        let value = if narrow { offset(self, &value, 32) } else { value };
        // If an affine address wraps around in 32 bits, its sum in 64 is out of bounds, and the access is called.
        let wide = match &value {
            Value::Scalar(text) => Value::Scalar(self.let_(format!("zext i32 {text} to i64"))),
            Value::Affine(base, step) => {
                let base = self.let_(format!("zext i32 {base} to i64"));
                let step = match step.parse::<i64>() {
                    Ok(_) => step.clone(),
                    Err(_) => self.let_(format!("sext i32 {step} to i64")),
                };
                Value::Affine(base, step)
            }
            Value::Grid(log, [base, inner, outer]) => {
                let base = self.let_(format!("zext i32 {base} to i64"));
                let [inner, outer] = [inner, outer].map(|step| match step.parse::<i64>() {
                    Ok(_) => step.clone(),
                    Err(_) => self.let_(format!("sext i32 {step} to i64")),
                });
                Value::Grid(*log, [base, inner, outer])
            }
            other => {
                let words = self.vector(other, 32);
                Value::Vector(self.let_(format!("zext {} {words} to {}", lanes(32), lanes(64))))
            }
        };
        if narrow { wide } else { offset(self, &wide, 64) }
    }

    fn place(&mut self, plain: &Plain<'_>, number: usize) -> Place {
        if plain.space == PlainSpace::Shared {
            let base = self.field("i64", at::SHARED);
            let bytes = self.field("i64", at::SHARED_BYTES);
            // With fewer bytes than the access has, this wraps around: `beyond` catches that.
            let last = self.let_(format!("sub i64 {bytes}, {}", plain.bytes));
            let beyond = self.let_(format!("icmp slt i64 {last}, 0"));
            let first = self.let_(format!("select i1 {beyond}, i64 1, i64 0"));
            let last = self.let_(format!("select i1 {beyond}, i64 0, i64 {last}"));
            return Place { base: Some(base), first, last };
        }
        let bounds = self.field("ptr", at::BOUNDS);
        let place = self.let_(format!("getelementptr [2 x i64], ptr {bounds}, i64 {number}"));
        let first = self.let_(format!("load i64, ptr {place}"));
        let place = self.let_(format!("getelementptr i8, ptr {place}, i64 8"));
        let last = self.let_(format!("load i64, ptr {place}"));
        Place { base: None, first, last }
    }

    /// Emits an access at `base + k * step`.
    fn affine(
        &mut self,
        plain: &Plain<'_>,
        number: usize,
        place: &Place,
        (base, step): (&str, &str),
        slow: &str,
    ) {
        let constant: Option<i64> = step.parse().ok();
        let size = i64::from(plain.bytes);
        let (low, high, fits) = match constant {
            Some(0) => (base.to_owned(), base.to_owned(), None),
            Some(step) if step.abs() >= FARTHEST => {
                self.emit(format!("br label %{slow}"));
                let never = self.label();
                self.begin(&never);
                (base.to_owned(), base.to_owned(), None)
            }
            Some(step) => {
                let other = self.let_(format!("add i64 {base}, {}", 31 * step));
                if step > 0 { (base.to_owned(), other, None) } else { (other, base.to_owned(), None) }
            }
            None => {
                let moved = self.let_(format!("add i64 {step}, {FARTHEST}"));
                let near = self.let_(format!("icmp ult i64 {moved}, {}", 2 * FARTHEST));
                let reach = self.let_(format!("mul i64 {step}, 31"));
                let other = self.let_(format!("add i64 {base}, {reach}"));
                let down = self.let_(format!("icmp slt i64 {step}, 0"));
                let low = self.let_(format!("select i1 {down}, i64 {other}, i64 {base}"));
                let high = self.let_(format!("select i1 {down}, i64 {base}, i64 {other}"));
                (low, high, Some(near))
            }
        };
        let after = self.let_(format!("icmp uge i64 {low}, {}", place.first));
        let before = self.let_(format!("icmp ule i64 {high}, {}", place.last));
        let mut ok = self.let_(format!("and i1 {after}, {before}"));
        if let Some(fits) = fits {
            ok = self.let_(format!("and i1 {ok}, {fits}"));
        }
        if size > 1 {
            let bits = match constant {
                Some(step) if step % size == 0 => base.to_owned(),
                _ => self.let_(format!("or i64 {base}, {step}")),
            };
            let odd = self.let_(format!("and i64 {bits}, {}", size - 1));
            let aligned = self.let_(format!("icmp eq i64 {odd}, 0"));
            ok = self.let_(format!("and i1 {ok}, {aligned}"));
        }
        let go = self.label();
        self.likely(&ok, &go, slow);
        self.begin(&go);
        if self.observes {
            self.report(plain, number, (base, step), None);
        }
        let host = match &place.base {
            Some(start) => self.let_(format!("add i64 {base}, {start}")),
            None => base.to_owned(),
        };
        match constant {
            Some(0) => self.at_one(plain, &host),
            Some(step) if step == size => self.row(plain, &host),
            Some(_) => self.strided(plain, &host, step),
            None => {
                let (row, apart, done) = (self.label(), self.label(), self.label());
                let is_row = self.let_(format!("icmp eq i64 {step}, {size}"));
                self.emit(format!("br i1 {is_row}, label %{row}, label %{apart}"));
                self.begin(&row);
                self.row(plain, &host);
                self.emit(format!("br label %{done}"));
                self.begin(&apart);
                self.strided(plain, &host, step);
                self.emit(format!("br label %{done}"));
                self.begin(&done);
            }
        }
    }

    /// Emits the report of an access at `base + k * step`, or with these steps in rows of so many lanes and this far apart:
    /// by one more repetition in the observer's tally where that is enough, and by a call else.
    fn report(
        &mut self,
        plain: &Plain<'_>,
        number: usize,
        (base, step): (&str, &str),
        rows: Option<(u8, &str)>,
    ) {
        let done = matches!(plain.space, PlainSpace::Shared | PlainSpace::Constant).then(|| {
            self.tallied = true;
            let [known, again, call, done] = [(); 4].map(|()| self.label());
            let first = self.field("i64", at::TALLIES);
            let some = self.let_(format!("icmp ne i64 {first}, 0"));
            self.likely(&some, &known, &call);
            self.begin(&known);
            let stride = self.field("i64", at::TALLY_STRIDE);
            let distance = self.let_(format!("mul i64 {stride}, {}", self.pc - self.graph.first));
            let tally = self.let_(format!("add i64 {first}, {distance}"));
            let place = |emitter: &mut Self, offset: usize| {
                let address = emitter.let_(format!("add i64 {tally}, {offset}"));
                emitter.let_(format!("inttoptr i64 {address} to ptr"))
            };
            let [own_step, phase, mask, from] = [
                offset_of!(Tally, step),
                offset_of!(Tally, phase),
                offset_of!(Tally, mask),
                offset_of!(Tally, from),
            ]
            .map(|offset| {
                let place = place(self, offset);
                self.let_(format!("load i64, ptr {place}"))
            });
            let own = self.let_(format!("and i64 {base}, {mask}"));
            let same_phase = self.let_(format!("icmp eq i64 {own}, {phase}"));
            let same_step = self.let_(format!("icmp eq i64 {step}, {own_step}"));
            let same_step = match rows {
                None => same_step,
                Some((_, pitch)) => {
                    let place = place(self, offset_of!(Tally, pitch));
                    let own_pitch = self.let_(format!("load i64, ptr {place}"));
                    let same_pitch = self.let_(format!("icmp eq i64 {pitch}, {own_pitch}"));
                    self.let_(format!("and i1 {same_step}, {same_pitch}"))
                }
            };
            let order = self.field("i64", at::ORDER);
            let late = self.let_(format!("icmp uge i64 {order}, {from}"));
            let same = self.let_(format!("and i1 {same_phase}, {same_step}"));
            let counts = self.let_(format!("and i1 {same}, {late}"));
            self.likely(&counts, &again, &call);
            self.begin(&again);
            let place = place(self, offset_of!(Tally, repeats));
            let repeats = self.let_(format!("load i64, ptr {place}"));
            let more = self.let_(format!("add i64 {repeats}, 1"));
            self.emit(format!("store i64 {more}, ptr {place}"));
            self.emit(format!("br label %{done}"));
            self.begin(&call);
            done
        });
        match rows {
            None => {
                let call = self.field("ptr", at::STEADY);
                self.emit(format!("call void {call}(ptr %c, i32 {number}, i64 {base}, i64 {step})"));
            }
            Some((log, pitch)) => {
                let call = self.field("ptr", at::ROWS);
                let (own, steps) = (format!("i32 {number}, i32 {log}"), format!("i64 {step}, i64 {pitch}"));
                self.emit(format!("call void {call}(ptr %c, {own}, i64 {base}, {steps})"));
            }
        }
        if let Some(done) = done {
            self.emit(format!("br label %{done}"));
            self.begin(&done);
        }
    }

    /// Emits an access in rows of fewer than 32 lanes.
    fn rows(&mut self, plain: &Plain<'_>, number: usize, place: &Place, address: &Value, slow: &str) {
        let Value::Grid(log, [base, inner, outer]) = address else { unreachable!("the address has rows") };
        let size = i64::from(plain.bytes);
        let mut checks = Vec::new();
        let mut bits = base.clone();
        for step in [inner, outer] {
            match step.parse::<i64>() {
                Ok(step) if step % size == 0 && step.abs() < FARTHEST => {}
                Ok(step) => {
                    checks.push((step.abs() < FARTHEST).to_string());
                    bits = self.let_(format!("or i64 {bits}, {step}"));
                }
                Err(_) => {
                    let moved = self.let_(format!("add i64 {step}, {FARTHEST}"));
                    checks.push(self.let_(format!("icmp ult i64 {moved}, {}", 2 * FARTHEST)));
                    bits = self.let_(format!("or i64 {bits}, {step}"));
                }
            }
        }
        let (low, high) = self.extremes(address);
        checks.push(self.let_(format!("icmp uge i64 {low}, {}", place.first)));
        checks.push(self.let_(format!("icmp ule i64 {high}, {}", place.last)));
        if size > 1 {
            let odd = self.let_(format!("and i64 {bits}, {}", size - 1));
            checks.push(self.let_(format!("icmp eq i64 {odd}, 0")));
        }
        let mut ok = "true".to_owned();
        for check in checks {
            ok = self.let_(format!("and i1 {ok}, {check}"));
        }
        let go = self.label();
        self.likely(&ok, &go, slow);
        self.begin(&go);
        if self.observes {
            self.report(plain, number, (base, inner), Some((*log, outer)));
        }
        let host = match &place.base {
            Some(start) => self.let_(format!("add i64 {base}, {start}")),
            None => base.clone(),
        };
        let (width, count) = (1_u32 << log, 32_u32 >> log);
        let element = plain.bytes / plain.elements.len() as u32;
        let starts: Vec<String> = (0..count)
            .map(|row| match (row, outer.parse::<i64>()) {
                (0, _) | (_, Ok(0)) => host.clone(),
                (_, Ok(outer)) => self.let_(format!("add i64 {host}, {}", i64::from(row) * outer)),
                (_, Err(_)) => {
                    let distance = self.let_(format!("mul i64 {outer}, {row}"));
                    self.let_(format!("add i64 {host}, {distance}"))
                }
            })
            .collect();
        let inner_step: Option<i64> = inner.parse().ok();
        let single = plain.elements.len() == 1;
        if single && (inner_step == Some(size) || plain.is_load && inner_step == Some(0)) {
            return self.whole_rows(
                plain,
                &starts,
                (width, 8 * element, inner_step == Some(0)),
                outer == "0",
            );
        }
        let list = self.listed(address);
        let base = place.base.as_deref().unwrap_or("0");
        self.each_lane(plain, Lanes::Listed { list: &list, base });
    }

    /// Emits the store of the lanes' addresses to the list of the shared state, and returns the list.
    fn listed(&mut self, address: &Value) -> String {
        let addresses = self.vector(address, 64);
        let list = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::ADDRESSES));
        self.emit(format!("store {} {addresses}, ptr {list}, align 8", lanes(64)));
        list
    }

    /// Emits rows each of which is one vector in memory, or, of loads, one element for all its lanes. If they repeat, all
    /// start at one address.
    fn whole_rows(
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
    fn joined(&mut self, a: &str, b: &str, size: u32, bits: u32) -> String {
        let picks: Vec<String> = (0..2 * size).map(|lane| format!("i32 {lane}")).collect();
        let kind = format!("<{size} x i{bits}>");
        self.let_(format!(
            "shufflevector {kind} {a}, {kind} {b}, <{} x i32> <{}>",
            2 * size,
            picks.join(", ")
        ))
    }

    /// Emits an access at one address.
    fn at_one(&mut self, plain: &Plain<'_>, host: &str) {
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
    fn row(&mut self, plain: &Plain<'_>, host: &str) {
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
    fn strided(&mut self, plain: &Plain<'_>, host: &str, step: &str) {
        self.each_lane(plain, Lanes::Steps { host, step });
    }

    /// Emits an access whose lanes are loaded or stored one by one, in a function that all such accesses of the kernel
    /// call: in place they would be most of the code, and LLVM's time.
    fn each_lane(&mut self, plain: &Plain<'_>, place: Lanes<'_>) {
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
                Lanes::Listed { list, base } => format!("ptr {list}, i64 {}", moved(self, base)),
            };
            if plain.is_load {
                let function = self.lane_function(place, true, bits);
                let loaded = self.let_(format!("call {kind} @{function}({arguments})"));
                let value = self.extended(&loaded, true, bits, bits_of(slot.width), plain.sign_bits);
                self.write(*slot, &Value::Vector(value), None);
            } else {
                let function = self.lane_function(place, false, bits);
                let value = self.stored(*slot, bits);
                self.emit(format!("call void @{function}({arguments}, {kind} {value})"));
            }
        }
    }

    /// Returns the name of the function that loads or stores 32 lanes of this many bits one by one, in order. It is given its
    /// addresses in the way of `place`.
    fn lane_function(&mut self, place: Lanes<'_>, loads: bool, bits: u32) -> String {
        let (name, parameters) = match place {
            Lanes::Steps { .. } => ("steps", "i64 %base, i64 %step"),
            Lanes::Listed { .. } => ("listed", "ptr %list, i64 %base"),
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
                Lanes::Listed { .. } => {
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

    /// Emits an access at arbitrary addresses.
    fn varying(&mut self, plain: &Plain<'_>, number: usize, place: &Place, addresses: &str, slow: &str) {
        let list = self.listed(&Value::Vector(addresses.to_owned()));
        let name = self.inside();
        let (first, last, odd) = (&place.first, &place.last, plain.bytes - 1);
        let ok = self.let_(format!("call i1 @{name}(ptr {list}, i64 {first}, i64 {last}, i64 {odd})"));
        let go = self.label();
        self.likely(&ok, &go, slow);
        self.begin(&go);
        if self.observes {
            let call = self.field("ptr", at::ANY);
            self.emit(format!("call void {call}(ptr %c, i32 {number})"));
        }
        let base = place.base.as_deref().unwrap_or("0");
        self.each_lane(plain, Lanes::Listed { list: &list, base });
    }

    /// Returns the name of the function that tells whether all addresses of a list are within bounds, and have none of the
    /// bits of a mask.
    fn inside(&mut self) -> &'static str {
        self.intrinsic("declare i64 @llvm.vector.reduce.or.v32i64(<32 x i64>)");
        let kind = lanes(64);
        let splat = |name: &str| {
            format!(
                "  %{name}0 = insertelement {kind} poison, i64 %{name}, i32 0\n  \
                 %{name}s = shufflevector {kind} %{name}0, {kind} poison, <32 x i32> zeroinitializer\n"
            )
        };
        let (first, room) = (splat("first"), splat("room"));
        // Without an allocation the first address lies behind the last.
        self.function_of_module(format!(
            "i1 @inside(ptr %list, i64 %first, i64 %last, i64 %odd) noinline ATTRIBUTES {{\n  \
             %addresses = load {kind}, ptr %list, align 8\n{first}  \
             %room = sub i64 %last, %first\n{room}  \
             %some = icmp uge i64 %last, %first\n  \
             %distances = sub {kind} %addresses, %firsts\n  \
             %near = icmp ule {kind} %distances, %rooms\n  \
             %mask = bitcast <32 x i1> %near to i32\n  \
             %all = icmp eq i32 %mask, -1\n  \
             %bits = call i64 @llvm.vector.reduce.or.v32i64({kind} %addresses)\n  \
             %low = and i64 %bits, %odd\n  \
             %even = icmp eq i64 %low, 0\n  \
             %both = and i1 %all, %even\n  \
             %ok = and i1 %both, %some\n  ret i1 %ok\n}}\n"
        ));
        "inside"
    }

    /// Extends a loaded element to its register.
    fn extended(&mut self, value: &str, vector: bool, from: u32, to: u32, sign_bits: u8) -> String {
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
    fn stored(&mut self, slot: crate::registers::Slot, bits: u32) -> String {
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
