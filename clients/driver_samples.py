"""NVIDIA's samples of the driver API on libcuda.so: `clients/driver_samples.py FOLDER`, a checkout of NVIDIA/cuda-samples.

Sources are compiled as they are, by nvcc of CUDA 13.0, kernels to fat binaries with PTX; the samples' own files make
machine code alone.
"""

import os
import subprocess
import sys
from pathlib import Path

from suite import Environment, write

SAMPLES = {
    "deviceQueryDrv": "Samples/1_Utilities/deviceQueryDrv",
    "vectorAddDrv": "Samples/0_Introduction/vectorAddDrv",
    "matrixMulDrv": "Samples/0_Introduction/matrixMulDrv",
    "threadMigration": "Samples/2_Concepts_and_Techniques/threadMigration",
}

samples = Path(sys.argv[1]).resolve()
environment = Environment("driver-samples")
environment.install("cuda-toolkit[cccl,crt,cudart,nvcc,nvvm]==13.0.*")
environment.build_driver()
toolkit = environment.packages / "nvidia" / "cu13"
variables = environment.environment()
variables["PATH"] = f"{toolkit / 'bin'}{os.pathsep}{variables['PATH']}"
tests = {}
for name, folder in SAMPLES.items():
    source, built = samples / folder, environment.folder / name
    built.mkdir(exist_ok=True)

    def run(*command, log, seconds):
        with (built / log).open("w") as output:
            done = subprocess.run(command, cwd=built, env=variables, stdout=output, stderr=output, timeout=seconds)
        lines = [line.strip() for line in (built / log).read_text(errors="replace").splitlines() if line.strip()]
        return "" if done.returncode == 0 else f"{log}: ended with {done.returncode}: {lines[-1] if lines else ''}"

    wrong = ""
    for kernel in source.glob("*_kernel.cu"):
        fat = f"{kernel.stem}64.fatbin"
        target = "-gencode=arch=compute_75,code=compute_75"
        wrong = wrong or run("nvcc", "-fatbin", target, str(kernel), "-o", fat, log="kernel.log", seconds=300)
    program = ["nvcc", f"-I{samples / 'Common'}", f"-L{environment.driver}", str(source / f"{name}.cpp"), "-o", name]
    program += ["-cudart=none", "-lcuda"]
    wrong = wrong or run(*program, log="program.log", seconds=300)
    wrong = wrong or run(f"./{name}", log="run.log", seconds=300)
    tests[name] = {"run": ("failed", wrong) if wrong else ("passed", "")}
    print(f"{name}: {wrong or 'passed'}")
write(environment.client, environment.versions(), tests, "python3 clients/driver_samples.py FOLDER")
