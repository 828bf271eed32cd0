"""Makes docs/clients.md from docs/results/clients/*.json: `clients/table.py`."""

import json
from collections import Counter

from suite import RESULTS, ROOT

TITLES = {
    "numba-0.61": ("Numba 0.61", "numba"),
    "numba-cuda": ("numba-cuda", "numba-cuda"),
    "cuda-core": ("cuda.core", "cuda-core"),
    "cupy": ("CuPy", "cupy-cuda13x"),
    "driver-samples": ("NVIDIA's driver samples", None),
}
# Why tests fail, by a part of their names, where the reason that the test gives does not say it.
CAUSES = {
    "test_device_arch_specific": "the kernel has `tensormap.replace`, which is not simulated",
    "CUDAAndCPUCachingTest": "not the driver: Numba 0.68 and numba-cuda share the index of a cache, and stamp sources differently"
    " in it",
    "test_cupy": "CuPy uses the runtime API",
}
HEAD = """# Other programs

Unmodified releases of other programs run on the simulated driver, loaded as `libcuda.so`. The table counts their own tests.
A script in `clients/` makes each row: it installs the release in an environment of its own, builds `libcuda.so`, runs the tests
and records the outcome in `docs/results/clients/`, with the reason of every test that did not pass. `--resume` continues an
interrupted run. `clients/table.py` writes this page.

| client | version | test files run | passed | failed | passed of those run | skipped | command |
| --- | --- | --: | --: | --: | --: | --: | --- |
"""
LIMITS = """
## Limits

These are not supported:

- **The runtime API** (`libcudart`), which nvcc links into ordinary CUDA programs and which CuPy and PyTorch use: it needs functions
  of the driver that NVIDIA does not document (`cuGetExportTable`).
- **Textures, tensor cores, and memory shared between processes.**
- **Machine code.** The simulated driver executes PTX, alone or in fat binaries, compressed ones included. It refuses a cubin and says
  how to get PTX. nvJitLink always makes cubins: without the package `nvidia-nvjitlink`, numba-cuda and cuda.core have the driver
  link PTX, which the scripts arrange. The driver's linker takes PTX, fat binaries with PTX, and objects and libraries of nvcc
  that contain such fat binaries. NVIDIA's samples are compiled with `-gencode=arch=compute_75,code=compute_75`.
- **Graphs with memory nodes, conditional nodes or programmatic edges.** Kernels, copies, fills, host functions, events and child
  graphs are supported.
- **PTX newer than the CUDA version that the driver reports.** The scripts install toolkits of CUDA 12.4 and 13.0, which are older.
- **`cuCtxGetDevice_v2` and `cuCtxSynchronize_v2` by `dlsym`.** They came with CUDA 13 and take a context, which the functions
  without `_v2` do not. Programs that try `_v2` first, as Numba 0.61 does, would call them without one. `cuGetProcAddress` returns
  them to programs of CUDA 13.

The tests run on `clients/h200-4gib.toml`, an H200 with 4 GiB, because some of them fill the card. Tests of several GPUs have an
A100 as the second.
"""

rows, sections = [], []
for client, (title, package) in TITLES.items():
    path = RESULTS / f"{client}.json"
    if not path.exists():
        continue
    record = json.loads(path.read_text())
    run = record["passed"] + record["failed"]
    share = f"{100 * record['passed'] / run:.1f}%" if run else "-"
    version = record["versions"].get(package, "") if package else "CUDA 13.0"
    skipped = sum(record["skipped"].values())
    files = f"{len(record['files'])} of {len(record['files']) + len(record.get('files_not_run', []))}"
    rows.append(f"| {title} | {version} | {files} | {record['passed']} | {record['failed']} | {share} | {skipped} | `{record['command']}` |")
    lines = [f"\n## {title}: tests that did not pass"]
    reasons = {}
    for failure in record["failures"]:
        reasons.setdefault(failure["reason"][:110].replace("|", "\\|").replace("`", "'"), []).append(failure["test"])
    if reasons:
        lines.append("")
        lines += ["| tests | reason that the test gives | first of them | cause |", "| --: | --- | --- | --- |"]
        for reason, tests in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
            cause = next((cause for part, cause in CAUSES.items() if part in tests[0]), "")
            lines.append(f"| {len(tests)} | `{reason}` | `{tests[0].split('/')[-1]}` | {cause} |")
    if record.get("files_not_run"):
        lines.append(f"\nOf {len(record['files']) + len(record['files_not_run'])} test files, {len(record['files'])} were run.")
    for reason, count in Counter(record["left_out"]).most_common():
        lines.append(f"\n{count} tests of {reason} are not counted.")
    if record["skipped"]:
        lines += ["\nSkipped by the tests themselves:\n", "| tests | reason |", "| --: | --- |"]
        lines += [f"| {count} | {reason[:140].replace('|', '')} |" for reason, count in record["skipped"].items()]
    if len(lines) > 1:
        sections.append("\n".join(lines))

page = HEAD + "\n".join(rows) + "\n" + LIMITS + "\n".join(sections) + "\n"
(ROOT / "docs" / "clients.md").write_text(page)
