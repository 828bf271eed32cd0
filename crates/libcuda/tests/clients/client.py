"""Finds functions as Numba does, by ctypes and `_v2` first, and runs a kernel of a PTX file: `client.py FILE.ptx`."""

import ctypes
import sys

library = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    function = getattr(library, f"{name}_v2", None) or getattr(library, name)
    code = function(*arguments)
    if code:
        sys.exit(f"{name}: {code}")


code = library.cuInit(0)
if code:
    print(f"INIT {code}")
    sys.exit()
count = ctypes.c_int()
call("cuDeviceGetCount", ctypes.byref(count))
for number in range(count.value):
    name, bus = ctypes.create_string_buffer(64), ctypes.create_string_buffer(16)
    call("cuDeviceGetName", name, 64, number)
    call("cuDeviceGetPCIBusId", bus, 16, number)
    print(f"DEVICE {number} {name.value.decode()} {bus.value.decode()}")

context, device = ctypes.c_void_p(), ctypes.c_int(-1)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxPushCurrent", context)
# There must be no `cuCtxGetDevice_v2` here, which takes a context too.
call("cuCtxGetDevice", ctypes.byref(device))
module, function = ctypes.c_void_p(), ctypes.c_void_p()
with open(sys.argv[1], "rb") as file:
    call("cuModuleLoadData", ctypes.byref(module), file.read() + b"\0")
call("cuModuleGetFunction", ctypes.byref(function), module, b"axpy")
values = (ctypes.c_float * 100)(*range(100))
xs, ys = ctypes.c_uint64(), ctypes.c_uint64()
for address in (xs, ys):
    call("cuMemAlloc", ctypes.byref(address), ctypes.c_size_t(400))
    call("cuMemcpyHtoD", address, values, ctypes.c_size_t(400))
arguments = [ctypes.c_uint32(100), ctypes.c_float(2), xs, ys]
pointers = (ctypes.c_void_p * 4)(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in arguments))
call("cuLaunchKernel", function, 1, 1, 1, 128, 1, 1, 0, None, pointers, None)
call("cuCtxSynchronize")
call("cuMemcpyDtoH", values, ys, ctypes.c_size_t(400))
call("cuCtxPopCurrent", ctypes.byref(context))
for address in (xs, ys):
    call("cuMemFree", address)
call("cuModuleUnload", module)
print(f"DEVICE {device.value} SUM {sum(values)}")
