"""cuda.core with the CUDA 13.0 packages on libcuda.so: `clients/cuda_core.py`.

Its own tests are not in its package; those of `clients/own/test_cuda_core.py` are ours.
"""

from suite import ROOT, Environment, run_suite

environment = Environment("cuda-core")
# As for numba-cuda: without nvJitLink, which makes machine code, linking is the driver's.
environment.install(
    "cuda-core[cu13]",
    "cuda-toolkit[cccl,cudart,nvrtc]==13.0.*",
    "numpy",
    "pytest",
    "pytest-timeout",
    without=["nvidia-nvjitlink"],
)
environment.build_driver()
run_suite(environment, ["clients/own/test_cuda_core.py"], ROOT, "python3 clients/cuda_core.py")
