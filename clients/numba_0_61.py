"""Numba 0.61.2 with the CUDA 12.4 packages on libcuda.so: `clients/numba_0_61.py [PART_OF_A_FILE_NAME...]`."""

from suite import Environment, arguments, run_suite

options = arguments(__doc__)
environment = Environment("numba-0.61")
environment.install(
    "numba==0.61.2",
    "nvidia-cuda-nvcc-cu12==12.4.*",
    "nvidia-cuda-nvrtc-cu12==12.4.*",
    "nvidia-cuda-runtime-cu12==12.4.*",
    "cffi",
    "psutil",
    "pytest",
    "pytest-timeout",
)
environment.build_driver()

# Numba looks for a toolkit in one folder, where pip has it in three.
packages, home = environment.packages, environment.folder / "cuda"
# The packages of 12.4 lack libcudadevrt, which cooperative launches link; the simulated driver knows it by its name.
device_runtime = environment.folder / "device-runtime"
if not device_runtime.exists():
    environment.pip("install", "--quiet", "--no-deps", "--target", device_runtime, "nvidia-cuda-runtime-cu12==12.9.*")
links = {home / "nvvm" / "libdevice": packages / "nvidia/cuda_nvcc/nvvm/libdevice"}
links[home / "nvvm/lib64/libnvvm.so.4"] = packages / "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so"
links |= {home / "lib64" / file.name: file for file in packages.glob("nvidia/*/lib/*")}
links[home / "lib64/libcudadevrt.a"] = device_runtime / "nvidia/cuda_runtime/lib/libcudadevrt.a"
links[home / "include"] = packages / "nvidia/cuda_runtime/include"
for link, file in links.items():
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(file)
environment.variables["CUDA_HOME"] = str(home)
environment.variables["NUMBA_CUDA_INCLUDE_PATH"] = str(home / "include")

# Numba runs its tests by unittest, for which functions by themselves are none, whatever they are called.
environment.pytest = ["-o", "python_functions=no_function_is_a_test"]
suite = packages / "numba/cuda/tests"
files = [file.relative_to(packages) for file in sorted(suite.glob("*/test_*.py")) if file.parent.name != "cudasim"]
files = [file for file in files if not options.parts or any(part in file.name for part in options.parts)]
command = " ".join(["python3 clients/numba_0_61.py", *options.parts])
run_suite(environment, files, packages, command, [("test_ipc", "IPC")], options=options)
