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
    "test_device_arch_specific": "the kernel has `tensormap.replace`; tensor maps are not simulated",
    "CUDAAndCPUCachingTest": "no driver is involved: Numba 0.68 and numba-cuda share the index of a cache, and stamp sources"
    " differently in it",
    "test_cupy": "CuPy stands on the runtime API",
}
HEAD = """# Other programs on libcuda.so

Unmodified releases of other programs run their kernels on the simulated driver; the table has how many of their tests pass.
Each row is what a script of `clients/` wrote to `docs/results/clients/`: it installs the release in an environment of its
own, builds `libcuda.so`, runs the tests and keeps every test that did not pass with its reason. With `--resume` it goes on
where an earlier run was cut short. `clients/table.py` makes this page of the results.

| client | version | test files run | passed | failed | passed of those run | skipped | command |
| --- | --- | --: | --: | --: | --: | --: | --- |
"""
LIMITS = """
## What a client must not need

- **The runtime API** (`libcudart`), with which nvcc links ordinary CUDA programs and on which CuPy and PyTorch stand: it needs
  functions of the driver that NVIDIA does not document (`cuGetExportTable`), and is not simulated. Nor are textures, tensor
  cores and sharing between processes.
- **Machine code.** The simulated driver executes PTX, by itself or in fat binaries, compressed ones too. It refuses a cubin and
  says how to get PTX. nvJitLink makes cubins of everything: without the package `nvidia-nvjitlink`, numba-cuda and cuda.core
  have the driver link PTX, which the scripts arrange. The driver's linker takes PTX, fat binaries with PTX, and objects and
  libraries of nvcc that have such fat binaries. NVIDIA's samples are compiled with
  `-gencode=arch=compute_75,code=compute_75`.
- **Graphs beyond kernels, copies, fills, host functions, events and child graphs:** nodes that allocate memory or have a condition,
  and edges that let a kernel begin before the one that it depends on has ended, are refused with the reason.
- **PTX newer than the CUDA version that the driver claims.** The scripts install toolkits of CUDA 12.4 and 13.0, which are older.
- **`cuCtxGetDevice_v2` and `cuCtxSynchronize_v2` by `dlsym`.** They came with CUDA 13 and take a context that the functions
  without `_v2` do not; programs that try `_v2` first, as Numba 0.61 does, would call them without one. `cuGetProcAddress` gives
  them to programs of CUDA 13.

The tests run on `clients/h200-4gib.toml`, an H200 with 4 GiB, because some fill the card; those of several GPUs have an A100 as
the second.
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
    lines = [f"\n## {title}: what did not pass"]
    reasons = {}
    for failure in record["failures"]:
        reasons.setdefault(failure["reason"][:110].replace("|", "\\|").replace("`", "'"), []).append(failure["test"])
    if reasons:
        lines.append("")
        lines += ["| tests | reason, as the test gave it | first of them | cause |", "| --: | --- | --- | --- |"]
        for reason, tests in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
            cause = next((cause for part, cause in CAUSES.items() if part in tests[0]), "")
            lines.append(f"| {len(tests)} | `{reason}` | `{tests[0].split('/')[-1]}` | {cause} |")
    if record.get("files_not_run"):
        lines.append(f"\nOf {len(record['files']) + len(record['files_not_run'])} test files, {len(record['files'])} were run.")
    for reason, count in Counter(record["left_out"]).most_common():
        lines.append(f"\nNot counted: {count} tests of {reason}.")
    if record["skipped"]:
        lines += ["\nSkipped by the tests themselves:\n", "| tests | reason |", "| --: | --- |"]
        lines += [f"| {count} | {reason[:140].replace('|', '')} |" for reason, count in record["skipped"].items()]
    if len(lines) > 1:
        sections.append("\n".join(lines))

page = HEAD + "\n".join(rows) + "\n" + LIMITS + "\n".join(sections) + "\n"
(ROOT / "docs" / "clients.md").write_text(page)
