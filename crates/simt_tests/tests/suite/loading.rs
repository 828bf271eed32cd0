//! Large modules: all of them is read, and lines of source are found in all of it.

use simt::check::Positions;
use simt::exec::Program;
use simt::memory::Memory;
use simt::ptx;

use crate::large_module::{self, Size};

#[test]
fn each_instruction_of_a_large_module_has_its_lines() {
    let size = Size { functions: 60, statements: 20, names: 300, lines: true };
    let text = large_module::text(size);
    let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let positions = Positions::new(&module);
    let memory = Memory::new(1 << 30).expect("address space");
    let program = Program::load(module, &memory).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.kernels().len(), 60);
    // Of each statement, the last instruction adds the statement's number.
    for (number, statement) in [(0, 0), (7, 13), (59, 19)] {
        let kernel = format!("kernel_{number}");
        let last = format!("add.s32 %r{}, %r{}, {statement};", 2 * statement + 2, 2 * statement);
        let start = text.find(&format!(".entry {kernel}(")).expect("the kernel");
        let place = start + text[start..].find(&last).expect("the statement");
        let line = text[..place].lines().count() as u32 + 1;
        let found = positions.at_line(line).expect("an instruction");
        let file = format!("/home/user/project/include/detail/part_{}.cuh", number % 40 + 1);
        let name = (20 * number + statement) % 300;
        let inner = format!("_ZN7library6detail{name:06}applyILi{name}EEEvT_Pfi");
        let [source, caller] = &found.source[..] else { panic!("{found:?}") };
        assert_eq!(
            (&source.file, source.line, source.function.as_ref()),
            (&file, statement as u32 + 1001, Some(&inner))
        );
        assert_eq!((&caller.file, caller.line, &caller.function), (&file, statement as u32 + 1, &None));
        let site = program.sites().iter().find(|site| site.line == line).expect("a site");
        assert_eq!(site.source.iter().map(|line| line.line).collect::<Vec<_>>(), [source.line, caller.line]);
    }
}
