//! Records of runs on a simulated card, and refusals.

use serde_json::Value;

use super::coalesce;

/// The records of `coalesce run` with these arguments, each of which verified.
pub(crate) fn records(arguments: &[&str]) -> Vec<Value> {
    let Output { status, stdout, stderr } = run(arguments);
    let (out, err) = (text(stdout), text(stderr));
    assert_eq!(status, Some(0), "{arguments:?}: {err}");
    let records: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect();
    for record in &records {
        assert_eq!(record["verified"], true, "{record}");
    }
    records
}

/// What is said on stderr of a run that is refused.
pub(crate) fn refusal(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(arguments);
    let err = text(stderr);
    assert!(matches!(status, Some(1 | 2)), "{arguments:?}: {err}");
    assert_eq!(text(stdout), "", "nothing but data goes to stdout");
    assert!(err.contains("error: ") && !err.contains("panicked"), "{err}");
    err
}

/// A field of a record that is a number; `field` may go into it, as in `bytes.read`.
pub(crate) fn number(record: &Value, field: &str) -> f64 {
    let value = field.split('.').fold(record, |value, name| &value[name]);
    value.as_f64().unwrap_or_else(|| panic!("{field} is {value} in {record}"))
}

struct Output {
    status: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

fn run(arguments: &[&str]) -> Output {
    let mut command = coalesce(&[&["run"], arguments, &["--format", "json"]].concat());
    if !arguments.contains(&"--device") {
        command.args(["--device", "sim:h200"]);
    }
    let output = command.output().expect("the program starts");
    Output { status: output.status.code(), stdout: output.stdout, stderr: output.stderr }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the program writes UTF-8")
}
