//! Emits what the observer is told of an access.

use std::mem::offset_of;

use super::code::site;
use super::context::at;
use super::emit::Emitter;
use crate::memory::{Plain, PlainSpace};
use crate::observe::{MOST_NOTES, Note, Notes, Tally};

impl Emitter<'_> {
    /// Emits the report of an access at `base + k * step`, or in `rows` of `1 << rows.0` lanes that are `rows.1` apart:
    /// by one more repetition in the observer's tally or a note where that is enough, and by a call else.
    pub(super) fn report(
        &mut self,
        plain: &Plain<'_>,
        number: usize,
        (base, step): (&str, &str),
        rows: Option<(u8, &str)>,
    ) {
        let is_noted = plain.space == PlainSpace::Global;
        let is_tallied = matches!(plain.space, PlainSpace::Shared | PlainSpace::Constant);
        let done = (is_noted || is_tallied).then(|| {
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
            if is_noted {
                self.note(base, &counts, (&again, &call));
            } else {
                self.likely(&counts, &again, &call);
                self.begin(&again);
                let place = place(self, offset_of!(Tally, repeats));
                let repeats = self.let_(format!("load i64, ptr {place}"));
                let more = self.let_(format!("add i64 {repeats}, 1"));
                self.emit(format!("store i64 {more}, ptr {place}"));
            }
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
    /// Emits a note of an access if it `counts` and there is room, in the block `again`; else goes to `call`.
    fn note(&mut self, base: &str, counts: &str, (again, call): (&str, &str)) {
        let notes = self.field("ptr", at::NOTES);
        let count = self.let_(format!("load i32, ptr {notes}"));
        let room = self.let_(format!("icmp ult i32 {count}, {MOST_NOTES}"));
        let counts = self.let_(format!("and i1 {counts}, {room}"));
        self.likely(&counts, again, call);
        self.begin(again);
        let more = self.let_(format!("add i32 {count}, 1"));
        self.emit(format!("store i32 {more}, ptr {notes}"));
        let index = self.let_(format!("zext i32 {count} to i64"));
        let distance = self.let_(format!("mul i64 {index}, {}", size_of::<Note>()));
        let warp = self.field("i32", at::WARP);
        let site = site(self.pc).0.to_string();
        let fields = [
            (offset_of!(Note, base), "i64", base),
            (offset_of!(Note, site), "i32", &site),
            (offset_of!(Note, warp), "i32", &warp),
        ];
        for (offset, kind, value) in fields {
            let offset = self.let_(format!("add i64 {distance}, {}", offset_of!(Notes, notes) + offset));
            let place = self.let_(format!("getelementptr i8, ptr {notes}, i64 {offset}"));
            self.emit(format!("store {kind} {value}, ptr {place}"));
        }
    }
}
