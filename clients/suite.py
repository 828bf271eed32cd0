"""Runs a client's own tests on libcuda.so, and writes what became of each as data.

One process runs one test file. A test that takes too long or takes its process with it costs itself alone: the process
is started again for the tests after it. What became of each file is kept beside the environment, so that a run that was
cut short goes on with `--resume`.
"""

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import time
import venv
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results" / "clients"
CARD = str(ROOT / "clients" / "h200-4gib.toml")
# Test files with tests that want several GPUs, of two compute capabilities: they get a second card.
SEVERAL_CARDS = ("test_caching", "test_context_stack", "test_multigpu", "test_runtime")


class Environment:
    """A throw-away Python environment and a folder with libcuda.so.1, both under one folder."""

    def __init__(self, client, folder=None):
        self.client = client
        base = Path(folder or os.environ.get("COALESCE_CLIENTS", ROOT / "target" / "clients"))
        self.folder = base / client
        self.python = self.folder / "env" / "bin" / "python"
        self.driver = self.folder / "driver"
        self.variables = {"COALESCE_SIMULATE": CARD}
        # What pytest is told beside the test file.
        self.pytest = []

    def install(self, *requirements, without=()):
        """Makes the environment with these packages, less those that stand in the simulated driver's way."""
        if not self.python.exists():
            venv.create(self.folder / "env", with_pip=True)
        self.pip("install", "--quiet", *requirements)
        if without:
            self.pip("uninstall", "--quiet", "--yes", *without)

    def pip(self, *arguments):
        subprocess.run([self.python, "-m", "pip", "--disable-pip-version-check", *arguments], check=True)

    def versions(self):
        """The packages installed, by name."""
        listed = subprocess.run(
            [self.python, "-m", "pip", "--disable-pip-version-check", "list", "--format=json"],
            check=True,
            capture_output=True,
        )
        return {package["name"]: package["version"] for package in json.loads(listed.stdout)}

    @property
    def packages(self):
        """Where the packages lie."""
        found = sorted((self.folder / "env" / "lib").glob("python3*/site-packages"))
        return found[0]

    def build_driver(self):
        """Builds libcuda.so and links it under the name that programs load."""
        library = os.environ.get("COALESCE_LIBCUDA")
        if library is None:
            command = ["cargo", "build", "--release", "--package", "libcuda", "--message-format", "json"]
            built = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            messages = [json.loads(line) for line in built.stdout.splitlines()]
            files = [file for message in messages for file in message.get("filenames", [])]
            library = next(file for file in files if file.endswith("libcuda.so"))
        self.driver.mkdir(parents=True, exist_ok=True)
        for name in ("libcuda.so.1", "libcuda.so"):
            link = self.driver / name
            link.unlink(missing_ok=True)
            link.symlink_to(Path(library).resolve())

    def digest(self):
        """The driver's SHA-256."""
        return hashlib.sha256((self.driver / "libcuda.so.1").read_bytes()).hexdigest()

    def environment(self):
        """The variables that a client runs with: the library in the loader's path, and those of the client itself."""
        variables = {**os.environ, "LD_LIBRARY_PATH": str(self.driver), **self.variables}
        for name in ("COALESCE_SIMULATE", "COALESCE_CHECK", "CUDA_VISIBLE_DEVICES", "PYTHONPATH"):
            if name not in self.variables:
                variables.pop(name, None)
        return variables


def run_file(environment, file, root, timeout, most):
    """Runs one test file: outcome and reason of each test. A test may take `timeout` seconds, all together `most`."""
    results = {}
    record, log = environment.folder / "record.jsonl", environment.folder / "log.txt"
    deadline = time.monotonic() + most
    variables = {**environment.environment(), "COALESCE_RECORD": str(record), "PYTHONPATH": str(Path(__file__).parent / "plugin")}
    if any(name in str(file) for name in SEVERAL_CARDS):
        variables["COALESCE_SIMULATE"] = f"{CARD},a100-80"
    while True:
        record.write_text("")
        command = [environment.python, "-m", "pytest", "-q", "-p", "recorder", "-p", "no:cacheprovider"]
        command += [f"--timeout={timeout}", "--timeout-method=thread", *environment.pytest, str(file)]
        command += [f"--deselect={done}" for done in results]
        with log.open("w") as output:
            process = subprocess.Popen(
                command, cwd=root, env=variables, stdout=output, stderr=output, start_new_session=True
            )
            try:
                process.wait(max(1, deadline - time.monotonic()))
                late = False
            except subprocess.TimeoutExpired:
                late = True
            # What the tests have started goes too.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        before, running, collected = len(results), None, []
        for line in record.read_text().splitlines():
            entry = json.loads(line)
            if "collected" in entry:
                collected = entry["collected"]
                continue
            running = entry.get("begins")
            # A failure of what comes after a test that passed is the test's.
            if "test" in entry and results.get(entry["test"], ("passed",))[0] == "passed":
                reason = entry["reason"].replace(f"{environment.packages.resolve()}/", "")
                results[entry["test"]] = (entry["outcome"], reason)
        if late:
            reason = f"the file took longer than {most} s on the simulator"
            for test in [running or str(file), *collected]:
                results.setdefault(test, ("failed", reason))
            return results
        # 0: all passed, 1: some did not, 5: there are none.
        if running is None and process.returncode in (0, 1, 5):
            return results
        said = log.read_text(errors="replace")
        if "+ Timeout +" in said:
            cause = f"took longer than {timeout} s on the simulator"
        else:
            cause = f"the process ended with {process.returncode}: {last_line(said)}"
        results[running or f"{file}::(all)"] = ("failed", cause)
        if running is None or len(results) == before:
            return results


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("+++", "~~~"))]
    return lines[-1][:300] if lines else ""


def arguments(description):
    """The command line of a script that runs a suite: parts of the names of test files, and what is not run again."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("parts", nargs="*", metavar="PART_OF_A_FILE_NAME", help="run only the test files with one of these")
    parser.add_argument("--resume", action="store_true", help="keep what earlier runs found of a file, and run the others")
    parser.add_argument("--failed", action="store_true", help="as --resume, but run files with a failed test again")
    return parser.parse_args()


def kept_results(path, options):
    """What an earlier run found of a test file, where the options keep it."""
    if not (options and (options.resume or options.failed) and path.exists()):
        return None
    kept = json.loads(path.read_text())["tests"]
    if options.failed and any(outcome == "failed" for outcome, _ in kept.values()):
        return None
    return kept


def run_suite(environment, files, root, command, left_out=(), timeout=240, most=1200, options=None):
    """Runs test files one after another, and writes what became of the tests after each file."""
    tests = {}
    versions = environment.versions()
    folder = environment.folder / "files"
    folder.mkdir(exist_ok=True)
    for number, file in enumerate(files):
        kept = folder / f"{str(file).replace('/', '.')}.json"
        found = kept_results(kept, options)
        if found is None:
            begun = time.monotonic()
            found = run_file(environment, file, root, timeout, most)
            kept.write_text(json.dumps({"driver": environment.digest(), "tests": found}))
            counted = Counter(outcome for outcome, _ in found.values())
            outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counted.items())
            print(f"{file}: {outcomes or 'no tests'} in {time.monotonic() - begun:.0f} s", flush=True)
        tests[str(file)] = {test.split("::", 1)[-1]: result for test, result in found.items()}
        write(environment.client, versions, tests, command, left_out, files[number + 1 :])


def write(client, versions, tests, command, left_out=(), not_run=()):
    """Writes what became of the tests: counts, and every test that did not pass with its reason.

    `left_out` has patterns of `file::test` with the reason for which such tests do not count: what they are about is not
    part of the simulated driver. `not_run` are files that the run has not come to.
    """
    counts, skipped, out, failures = Counter(), Counter(), Counter(), []
    for file, found in tests.items():
        for test, (outcome, reason) in found.items():
            name = f"{file}::{test}"
            why = next((why for pattern, why in left_out if re.search(pattern, name)), None)
            if why:
                out[why] += 1
                continue
            counts[outcome] += 1
            if outcome == "skipped":
                skipped[reason] += 1
            elif outcome == "failed":
                failures.append({"test": name, "reason": reason})
    record = {
        "client": client,
        "command": command,
        "versions": versions,
        "passed": counts["passed"],
        "failed": counts["failed"],
        "skipped": dict(skipped.most_common()),
        "left_out": dict(out.most_common()),
        "failures": failures,
        "files": list(tests),
        "files_not_run": [str(file) for file in not_run],
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{client}.json").write_text(json.dumps(record, indent=1) + "\n")
