"""The newest numba-cuda with the CUDA 13.0 packages on libcuda.so: `clients/numba_cuda.py [PART_OF_A_FILE_NAME...]`."""

from suite import Environment, arguments, run_suite

options = arguments(__doc__)
environment = Environment("numba-cuda")
# A toolkit no newer than the CUDA version that the simulated driver claims. nvJitLink makes machine code of its inputs; without it
# numba-cuda and cuda.core leave linking to the driver.
environment.install(
    "numba-cuda[cu13]",
    "cuda-toolkit[cccl,cudart,nvrtc,nvvm]==13.0.*",
    "cffi",
    "filecheck",
    "ml_dtypes",
    "psutil",
    "pytest",
    "pytest-timeout",
    without=["nvidia-nvjitlink"],
)
environment.build_driver()

# The package replaces `numba.cuda`, so its tests are named by module and run from outside of it.
environment.pytest = ["-p", "numba_cuda_fixtures", "-o", "consider_namespace_packages=true", "--pyargs"]
# That nvJitLink is not there, cuda.core says once in each process, which tests that count warnings would count.
environment.pytest += ["-W", "ignore:cuda.bindings.nvjitlink is not available:RuntimeWarning"]
suite = environment.packages / "numba_cuda/numba/cuda/tests"
# Not in these folders: benchmarks, and the tests of Numba's own simulator.
files = [file for file in sorted(suite.glob("*/test_*.py")) if file.parent.name not in ("benchmarks", "cudasim")]
files = [f"numba.cuda.tests.{file.parent.name}.{file.stem}" for file in files]
files = [file for file in files if not options.parts or any(part in file for part in options.parts)]
command = " ".join(["python3 clients/numba_cuda.py", *options.parts])
run_suite(environment, files, environment.folder, command, [("test_ipc", "IPC")], options=options)
