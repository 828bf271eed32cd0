"""CuPy with the CUDA 13.0 packages on libcuda.so: `clients/cupy.py`.

Its own tests are not in its package; those of `clients/own/test_cupy.py` are ours.
"""

from suite import ROOT, Environment, run_suite

environment = Environment("cupy")
environment.install("cupy-cuda13x", "cuda-toolkit[cudart,nvrtc]==13.0.*", "pytest", "pytest-timeout")
environment.build_driver()
# PTX in place of machine code.
environment.variables["CUPY_COMPILE_WITH_PTX"] = "1"
run_suite(environment, ["clients/own/test_cupy.py"], ROOT, "python3 clients/cupy.py")
