//! Emits loads and stores; [`reductions`](super::reductions) are emitted like an access at arbitrary addresses.
//!
//! The common case is emitted in place: all lanes take part, their bytes lie in the allocation that the instruction hit
//! last, and are aligned. At an affine address, that is two comparisons of scalars; at a varying one, a comparison of 32
//! lanes. Whatever is not the common case is called: the interpreter's own function, which finds faults, notes the
//! allocation for the next time, and tells the observer itself.
//!
//! For example, `ld.global.b32 %r1, [%rd1]` with `%rd1` affine and a step of 4 becomes, in words:
//!
//! ```text
//!       high = base + 31 * 4
//!       if base < first or high > last or base & 3 != 0: go to slow
//!       tell the observer: number of the access, base, 4          only where accesses are reported
//!       %r1 = load <32 x i32> at base
//!       go to done
//! slow: store the columns that the instruction reads; call `memory`; load %r1's column
//! done:
//! ```
//!
//! `first` and `last` are the bounds of the allocation, kept for each access. The call finds the allocation where they do not
//! fit, so the next warp's access is in place again.

use super::context::{at, stopped};
use super::emit::Emitter;
use super::transfers::Lanes;
use super::value::{Value, bits_of, lanes};
use crate::memory::{MemoryInstruction, Plain, PlainSpace};
use crate::registers::Width;

/// Where an access in place finds its bytes.
pub(super) struct Place {
    /// Added to an address to give the host's.
    pub(super) base: Option<String>,
    pub(super) first: String,
    /// The last address that may be accessed.
    last: String,
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
        match mask {
            mask if plain.reduction.is_some() => self.reduce(&plain, pc, mask, &slow),
            Some(mask) if self.active.is_some() => self.partial(&plain, pc, mask, &slow),
            mask => {
                if let Some(mask) = mask {
                    let all = self.let_(format!("icmp eq i32 {mask}, -1"));
                    self.emit(format!("br i1 {all}, label %{fast}, label %{slow}"));
                    self.begin(&fast);
                }
                self.whole(&plain, pc, &slow);
            }
        }
        self.emit(format!("br label %{done}"));
        self.begin(&slow);
        self.call_memory(pc, mask);
        self.emit(format!("br label %{done}"));
        self.begin(&done);
    }

    /// Emits an access by all lanes; `slow` is for what is not the common case.
    fn whole(&mut self, plain: &Plain<'_>, pc: u32, slow: &str) {
        let number = self.access_number(pc);
        let address = self.address(plain);
        let place = self.place(plain, number);
        match &address {
            Value::Vector(addresses) => self.varying(plain, number, &place, addresses, slow),
            Value::Scalar(base) => self.affine(plain, number, &place, (base, "0"), slow),
            Value::Affine(base, step) => self.affine(plain, number, &place, (base, step), slow),
            Value::Grid(..) => self.rows(plain, number, &place, &address, slow),
            Value::Mask(_) => unreachable!("addresses are numbers"),
        }
    }

    /// Returns the number of the access at a step, which all its forms share.
    pub(super) fn access_number(&mut self, pc: u32) -> usize {
        let known = self.accesses.iter().position(|step| *step == pc);
        known.unwrap_or_else(|| {
            self.accesses.push(pc);
            self.accesses.len() - 1
        })
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
        let lanes = mask.unwrap_or("-1");
        let outcome = self.let_(format!("call i32 {call}(ptr %c, ptr %f, i32 {pc}, i32 {lanes})"));
        let ok = self.let_(format!("icmp eq i32 {outcome}, 0"));
        let go = self.label();
        let fault = self.exit(pc, stopped::FAULT);
        match self.active.clone() {
            None => self.likely(&ok, &go, &fault),
            Some(active) => {
                let note = self.label();
                self.likely(&ok, &go, &note);
                self.begin(&note);
                self.store_at(at::ACTIVE, &active);
                self.emit(format!("br label %{fault}"));
            }
        }
        self.begin(&go);
        self.take_columns(pc, mask);
    }

    /// Returns the lanes' addresses in 64 bits.
    pub(super) fn address(&mut self, plain: &Plain<'_>) -> Value {
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

    pub(super) fn place(&mut self, plain: &Plain<'_>, number: usize) -> Place {
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
        self.settle_sums(plain, place);
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
        self.settle_sums(plain, place);
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

    /// Emits an access at arbitrary addresses.
    fn varying(&mut self, plain: &Plain<'_>, number: usize, place: &Place, addresses: &str, slow: &str) {
        let list = self.listed(&Value::Vector(addresses.to_owned()));
        self.check_and_tell(plain, number, (place, &list), "-1", slow);
        let base = place.base.as_deref().unwrap_or("0");
        self.each_lane(plain, Lanes::Listed { list: &list, base });
    }

    /// Emits the check of listed addresses.
    pub(super) fn check_list(&mut self, plain: &Plain<'_>, place: &Place, list: &str, slow: &str) {
        let name = self.inside();
        let (first, last, odd) = (&place.first, &place.last, plain.bytes - 1);
        let ok = self.let_(format!("call i1 @{name}(ptr {list}, i64 {first}, i64 {last}, i64 {odd})"));
        let go = self.label();
        self.likely(&ok, &go, slow);
        self.begin(&go);
        if plain.reduction.is_none() {
            self.settle_sums(plain, place);
        }
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
}
