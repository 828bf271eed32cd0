//! `coalesce check`: each kernel once a point, under the checks of the simulated driver.

use super::plan::{self, Selection};
use crate::{
    cli::CheckOptions,
    device::{self, DeviceChoice, Driver, Gpu, Several},
    experiments::{Buffers, Contents, Place, Point, Work},
    kernels::{self, Kernels},
    measure,
    memory::{self, Hosted},
    mistakes::refused,
    progress,
    simulated::{Check, Report},
    symbols,
};
use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use cuda_driver::ext::PeerBuffer;
use cuda_launch::Signatures;
use cust::{
    memory::{CopyDestination, DeviceBuffer, DevicePointer, DeviceSlice},
    module::Module,
    stream::{Stream, StreamFlags},
};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The card whose kernels are checked; others lend it memory, and take part in what several cards do.
const FIRST: u32 = 0;

/// Checks what the options name.
///
/// # Errors
/// Anything that ends the check early, other than a finding.
pub(crate) fn run(options: &CheckOptions) -> Result<ExitCode> {
    let (card, cards) = match &options.device {
        DeviceChoice::Simulated(card) => (card, 1),
        DeviceChoice::Several(Several::Simulated(card, number)) => (card, *number),
        _ => {
            return Err(refused(anyhow!(
                "checks are made by the simulated driver, on machines with a GPU too: leave --device out, or name a card as in \
                 --device sim:a100-80. On the GPU itself NVIDIA's `compute-sanitizer coalesce run` checks"
            )));
        }
    };
    let tools = if options.tools.is_empty() { Check::value_variants() } else { &options.tools };
    let driver = device::bind_several_simulated(card, cards, tools)?;
    let ptx = options.ptx.as_deref().map(Text::read).transpose()?;
    if ptx.is_none() {
        let gpu = Gpu::open_number(FIRST, &driver)?;
        kernels::edited::compile(plan::kernels(&Selection::from(options)), &gpu.info, &driver)?;
    }
    let mut session = Session::open(&driver, ptx.as_ref())?;
    let points = points(options, &session, ptx.as_ref())?;

    let mut report = Report::new(tools, options.verbose);
    let mut wrong = Vec::new();
    let bar = progress::bar(points.len() as u64);
    for point in &points {
        let name = format!("{} {}", point.kernel, point.parameters);
        bar.set_message(name.clone());
        let outcome = session.check(point).with_context(|| name.clone());
        let found = report.take(&name);
        match outcome {
            Ok(None) => {}
            Ok(Some(fault)) => wrong.push(format!("{name}: {fault}")),
            // What failed is a finding, and has left the context unusable. It goes before the next one comes: a device has
            // one of this kind.
            Err(_) if found => {
                drop(session);
                // Memory that could no longer be freed is not the kernel's leak.
                Report::forget();
                session = Session::open(&driver, ptx.as_ref())?;
            }
            Err(error) => return Err(error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let mut kernels: Vec<&str> = points.iter().map(|point| point.kernel).collect();
    kernels.sort_unstable();
    kernels.dedup();
    let found = report.found();
    let mut out = io::stdout().lock();
    write!(out, "{report}")?;
    write!(out, "{}", invalid(&wrong, options.verbose))?;
    if found.instructions > found.findings && !options.verbose {
        writeln!(
            out,
            "`--verbose` shows all {} findings, one for each instruction or pair of them",
            found.instructions
        )?;
    }
    writeln!(
        out,
        "{} of {} in {} on a simulated {} ({})",
        match found.accesses {
            0 if !wrong.is_empty() =>
                format!("no findings, but {} with wrong results,", count(wrong.len(), "launch")),
            0 => "no findings".to_string(),
            accesses =>
                format!("{}, {},", count(found.findings, "finding"), count(accesses as usize, "access")),
        },
        count(kernels.len(), "kernel"),
        count(points.len(), "launch"),
        session.gpu.info.plain_name().trim_start_matches("NVIDIA "),
        session.gpu.info.selector(),
    )?;
    Ok(if found.findings == 0 && wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The wrong results, a line each; unless all are wanted, the first and how many there are.
fn invalid(wrong: &[String], all: bool) -> String {
    match wrong {
        [first, _, ..] if !all => {
            format!("INVALID: {first}\nINVALID: {} launches in all; `--verbose` lists them\n", wrong.len())
        }
        _ => wrong.iter().map(|line| format!("INVALID: {line}\n")).collect(),
    }
}

/// The launches to make: of kernels, and where there is a PTX file of those that it has.
fn points(options: &CheckOptions, session: &Session, ptx: Option<&Text>) -> Result<Vec<Point>> {
    let mut points = plan::points(&Selection::from(options), &session.gpu.info)?;
    points.retain(|point| !matches!(point.work, Work::Driver(..)));
    if let Some(Text { path, text }) = ptx {
        let found = Signatures::of(text);
        points.retain(|point| found.has(point.kernel));
        if points.is_empty() {
            return Err(refused(anyhow!(
                "{} has none of the kernels asked for; {}",
                path.display(),
                match found.names().collect::<Vec<_>>().as_slice() {
                    [] => "it has no kernel".to_string(),
                    names if names.len() <= 3 => format!("it has {}", names.join(", ")),
                    names => format!("it has {} kernels, among them {}", names.len(), names[..3].join(", ")),
                },
            )));
        }
    }
    Ok(points)
}

/// A user's PTX.
struct Text {
    path: PathBuf,
    text: String,
}

impl Text {
    fn read(path: &Path) -> Result<Text> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Text { path: path.to_path_buf(), text })
    }
}

/// A number of things: `no launches`, `1 launch`, `2 launches`.
fn count(number: usize, noun: &str) -> String {
    let plural = if noun.ends_with(['s', 'h']) { "es" } else { "s" };
    match number {
        0 => format!("no {noun}{plural}"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}{plural}"),
    }
}

/// A buffer, kept until its launch is done.
#[expect(dead_code, reason = "what it holds is freed with it")]
enum Held {
    /// In device memory.
    Device(DeviceBuffer<u8>),
    /// In managed or pinned memory.
    Hosted(Hosted),
    /// In another card's memory.
    OnPeer(PeerBuffer),
}

/// A context with the kernels in it. A fault ends it, and another takes its place.
struct Session {
    // In the order in which they have to go.
    stream: Stream,
    kernels: Checked,
    gpu: Gpu,
}

/// What has the kernels to check.
enum Checked {
    /// A PTX file of the user's.
    Given(Module),
    /// This program.
    Own(Box<Kernels>),
}

impl Session {
    fn open(driver: &Driver, ptx: Option<&Text>) -> Result<Session> {
        let gpu = Gpu::open_number(FIRST, driver)?;
        let kernels = match ptx {
            Some(Text { path, text }) => {
                let origin = path.display().to_string();
                kernels::check_those_of(&Signatures::of(text), &origin)?;
                Checked::Given(kernels::load(text, &origin)?)
            }
            None => Checked::Own(Box::new(Kernels::load(&gpu.info, driver)?)),
        };
        let stream = Stream::new(StreamFlags::DEFAULT, None).context("cannot create a stream")?;
        Ok(Session { stream, kernels, gpu })
    }

    /// Launches the point's kernel once, on buffers of exactly the promised length. Buffers that it only writes are left
    /// uninitialised, so that the check reports reads of them. Returns the error in the result, if there is one.
    fn check(&self, point: &Point) -> Result<Option<String>> {
        let function = match &self.kernels {
            Checked::Given(module) => {
                module.get_function(point.kernel).context("the PTX has no such kernel")?
            }
            Checked::Own(kernels) => kernels.function(point.kernel)?,
        };
        measure::allow(&function, point)?;
        symbols::write(&function, &point.symbols)?;
        let (mut buffers, mut pointers) = (Vec::new(), Vec::new());
        let mut peers = BTreeMap::new();
        for buffer in &point.buffers {
            if let Place::Peer(ordinal) = buffer.place {
                let on_peer = memory::allocate_on(&mut peers, ordinal, buffer.bytes)?;
                let pointer = DevicePointer::from_raw(on_peer.address());
                if !matches!(buffer.before, Contents::Poison) {
                    memory::fill_from_host(pointer, 0..buffer.bytes, &buffer.before)?;
                }
                buffers.push(Held::OnPeer(on_peer));
                pointers.push(pointer);
                continue;
            }
            if let Some(hosted) = Hosted::allocate(buffer)? {
                let pointer = hosted.device_pointer()?;
                if !matches!(buffer.before, Contents::Poison) {
                    memory::fill_from_host(pointer, 0..buffer.bytes, &buffer.before)?;
                }
                buffers.push(Held::Hosted(hosted));
                pointers.push(pointer);
                continue;
            }
            // SAFETY: the kernel is to write what it reads, and initcheck tells if it does not.
            let memory = unsafe { DeviceBuffer::<u8>::uninitialized(buffer.bytes as usize) }
                .context("cannot allocate device memory. Use fewer --bytes")?;
            if !matches!(buffer.before, Contents::Poison) {
                memory::fill_from_host(memory.as_device_ptr(), 0..buffer.bytes, &buffer.before)?;
            }
            pointers.push(memory.as_device_ptr());
            buffers.push(Held::Device(memory));
        }
        let (shape, stream) = (point.shape, &self.stream);
        // SAFETY: the buffers are held until this function returns, and all work on them is queued on the session's stream,
        // which goes with the context if the launch fails.
        let placed = unsafe { Buffers::placed(point, &pointers)? };
        if let Some(before) = &point.before_each {
            before(stream, &placed)?;
        }
        // SAFETY: the buffers are placed, and the parameters of the module's kernels were compared with the program's when it
        // was loaded.
        unsafe { point.work.queue(Some(&function), shape, stream, &placed)? };
        stream.synchronize().context("the launch failed")?;
        if let Some(fault) = measure::wrong_symbol(point, &function, 1)? {
            return Ok(Some(fault));
        }
        for (number, (pointer, buffer)) in pointers.iter().zip(&point.buffers).enumerate() {
            let mut bytes = vec![0; buffer.bytes as usize];
            // SAFETY: the buffer is allocated until this function returns, and has `bytes.len()` bytes.
            unsafe { DeviceSlice::<u8>::from_raw_parts(*pointer, bytes.len()).copy_to(&mut bytes) }
                .context("reading a buffer back failed")?;
            if let Some(findings) = buffer.after.check_in_parallel(0, 1, &bytes) {
                return Ok(Some(format!("buffer {number}: {findings}")));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::{count, invalid};

    #[test]
    fn things_are_counted_in_words() {
        assert_eq!(
            [count(0, "finding"), count(1, "launch"), count(2, "launch"), count(3, "access")],
            ["no findings", "1 launch", "2 launches", "3 accesses"]
        );
    }

    #[test]
    fn wrong_results_are_one_line_unless_all_are_wanted() {
        let wrong = ["a: buffer 0".to_string(), "b: buffer 1".to_string(), "c: buffer 0".to_string()];
        assert_eq!(
            invalid(&wrong, false),
            "INVALID: a: buffer 0\nINVALID: 3 launches in all; `--verbose` lists them\n"
        );
        assert_eq!(invalid(&wrong[..2], true), "INVALID: a: buffer 0\nINVALID: b: buffer 1\n");
        assert_eq!(invalid(&wrong[..1], false), "INVALID: a: buffer 0\n");
        assert_eq!(invalid(&[], false), "");
    }
}
