//! Text that kernels print, and kernels that fail. Both in a process of their own, whose output is read: a failure leaves the
//! context unusable, and text goes to the process's output past the test harness.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use cust::context::{CurrentContext, ResourceLimit};

use crate::device::{Part, filled, gpu, read, results};

/// Says to the child what to do.
const JOB: &str = "CUDA_STD_DEVICE_TESTS_JOB";
/// Time after which a launch counts as hanging; none takes a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// The job of the child process; `None` in the parent.
fn job() -> Option<String> {
    std::env::var(JOB).ok()
}

/// Runs the test of this name again with a job, and returns what it printed.
fn child(test: &str, job: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(JOB, job)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program again");
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().expect("an end");
            let output = child.wait_with_output().expect("its output");
            panic!("{test}, {job}: does not end; {output:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("its output")
}

/// The child's output, which must be that of a test that passed.
fn text(output: &Output) -> String {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{text}", output.status);
    text
}

fn architectures() -> impl Iterator<Item = u32> {
    gpu().kernels(Part::Texts).iter().map(|kernels| kernels.architecture)
}

#[test]
#[ignore = "needs a GPU"]
fn text_arrives_formatted() {
    if let Some(job) = job() {
        let values: Vec<u32> = (0..64).collect();
        let buffer = filled(&values);
        let of_job = |architecture: u32| job == architecture.to_string();
        for kernels in gpu().kernels(Part::Texts).iter().filter(|kernels| of_job(kernels.architecture)) {
            run!(kernels, "print_numbers", (2, 32, 0), [buffer.as_device_ptr(), values.len()]);
        }
        return;
    }
    for architecture in architectures() {
        let text = text(&child("text::text_arrives_formatted", &architecture.to_string()));
        for value in 0..64_u64 {
            let line = format!("value {value} of 100% {:#x}\n", value << 40);
            assert_eq!(text.matches(&line).count(), 1, "{line} in\n{text}");
        }
        assert_eq!((text.matches("[left|").count(), text.matches("   -7]").count()), (64, 64), "{text}");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn floats_print_with_more_stack() {
    let values = [0.0, -1.5, 1e30, 1e-30, f32::MAX, f32::NAN, f32::INFINITY, 0.1];
    if let Some(job) = job() {
        let buffer = filled(&values);
        let of_job = |architecture: u32| job == architecture.to_string();
        for kernels in gpu().kernels(Part::Texts).iter().filter(|kernels| of_job(kernels.architecture)) {
            CurrentContext::set_resource_limit(ResourceLimit::StackSize, 8192).expect("a limit");
            run!(kernels, "print_floats", (1, 8, 0), [buffer.as_device_ptr(), values.len()]);
        }
        return;
    }
    for architecture in architectures() {
        let text = text(&child("text::floats_print_with_more_stack", &architecture.to_string()));
        for value in values {
            let line = format!("float {value} {:.3} {value:e}\n", f64::from(value) * 1e9);
            assert_eq!(text.matches(&line).count(), 1, "{line} in\n{text}");
        }
    }
}

/// The kernel's ways to fail: what each is, and what the output then says.
const WAYS: [(&str, &[&str]); 7] = [
    ("assert_eq!", &["left: 8", "right: 7", "the number of way 0", "left == right"]),
    ("assert_ne!", &["left: 8", "left != right"]),
    ("core's assert!", &[]),
    ("panic!", &[]),
    ("an index out of bounds", &[]),
    ("a breakpoint without a debugger", &[]),
    ("unwrap of None", &[]),
];

/// Last in the module, because it is the slowest; each failure is a process of its own.
#[test]
#[ignore = "needs a GPU"]
fn what_fails_ends_the_launch() {
    let values = [5_u32; 8];
    if let Some(job) = job() {
        let [architecture, way, number]: [u32; 3] = job
            .split(' ')
            .map(|number| number.parse().expect("a number"))
            .collect::<Vec<_>>()
            .try_into()
            .expect("three numbers");
        let kernels = gpu().kernels(Part::Texts).iter().find(|kernels| kernels.architecture == architecture);
        let kernels = kernels.expect("the architecture");
        let (buffer, result) = (filled(&values), results(77_u32, 1));
        if number == 7 {
            // A valid number.
            run!(
                kernels,
                "fails",
                (1, 1, 0),
                [number, way, buffer.as_device_ptr(), values.len(), result.as_device_ptr()]
            );
            assert_eq!(read(&result), [1]);
            return;
        }
        let (pointer, length, to) = (buffer.as_device_ptr(), values.len(), result.as_device_ptr());
        let mut arguments = [0_u64; 5].map(|_| std::ptr::null_mut());
        arguments[0] = (&raw const number).cast_mut().cast();
        arguments[1] = (&raw const way).cast_mut().cast();
        arguments[2] = (&raw const pointer).cast_mut().cast();
        arguments[3] = (&raw const length).cast_mut().cast();
        arguments[4] = (&raw const to).cast_mut().cast();
        // SAFETY: the kernel takes a number, a way, a slice and a place for a result.
        let outcome = unsafe { kernels.launch("fails", (1, 1, 0), &arguments) };
        println!("OUTCOME {outcome:?}");
        println!("AFTER {:?}", CurrentContext::synchronize());
        // The buffers' destructors would fail too.
        std::mem::forget((buffer, result));
        return;
    }
    for architecture in architectures() {
        for (way, (what, says)) in WAYS.iter().enumerate() {
            let run = |number: u32| {
                text(&child("text::what_fails_ends_the_launch", &format!("{architecture} {way} {number}")))
            };
            let failed = run(8);
            let outcome =
                failed.lines().find_map(|line| line.split_once("OUTCOME ")).map(|(_, outcome)| outcome);
            println!("compute_{architecture}, {what}: {outcome:?}");
            assert!(outcome.is_some_and(|outcome| outcome.starts_with("Err(")), "{what}: {failed}");
            assert!(failed.contains("AFTER Err("), "{what}: {failed}");
            for words in *says {
                assert!(failed.contains(words), "{what}: no {words:?} in\n{failed}");
            }
            if way != 6 {
                assert!(!run(7).contains("OUTCOME"));
            }
        }
    }
}
