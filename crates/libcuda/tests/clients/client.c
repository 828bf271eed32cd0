/* A program of the driver API without NVIDIA's headers: it loads the library by name, asks it for each function by
 * cuGetProcAddress, and loads its code as a library. Its arguments are files to load; each must have the kernel `scale`
 * and the variable `counter`. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*function)();
typedef int (*get_address)(const char *, void **, int, unsigned long long, int *);

static get_address by_name;

static function get(const char *name)
{
    void *found = NULL;
    int status = -1;
    int code = by_name(name, &found, 13000, 0, &status);
    if (code != 0 || status != 0) {
        printf("MISSING %s: code %d, status %d\n", name, code, status);
        exit(1);
    }
    return (function)found;
}

#define CALL(name, ...) check(#name, get(#name)(__VA_ARGS__))

static void check(const char *name, int code)
{
    if (code != 0) {
        printf("FAILED %s: code %d\n", name, code);
        exit(1);
    }
}

static void *contents(const char *path)
{
    static char bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    if (file == NULL) exit(2);
    memset(bytes, 0, sizeof bytes);
    if (fread(bytes, 1, sizeof bytes - 1, file) == 0) exit(2);
    fclose(file);
    return bytes;
}

static void run(const char *path, void *context)
{
    void *library, *kernel, *same, *func, *module;
    struct { unsigned magic, version; const void *data; void *other; } wrapper = { 0x466243b1, 1, contents(path), NULL };
    /* A container is loaded by the record that nvcc links into programs, anything else by itself. */
    int is_container = *(const unsigned *)wrapper.data == 0xba55ed50;
    const void *image = is_container ? (const void *)&wrapper : wrapper.data;
    int refused = get("cuLibraryLoadData")(&library, image, NULL, NULL, 0, NULL, NULL, 0);
    if (refused) {
        printf("REFUSED with %d\n", refused);
        return;
    }
    unsigned kernels = 0;
    CALL(cuLibraryGetKernelCount, &kernels, library);
    CALL(cuLibraryEnumerateKernels, &same, 1u, library);
    CALL(cuLibraryGetKernel, &kernel, library, "scale");
    CALL(cuLibraryGetModule, &module, library);
    CALL(cuKernelGetFunction, &func, kernel);
    const char *name = NULL;
    CALL(cuKernelGetName, &name, kernel);
    size_t offset = 0, size = 0;
    CALL(cuKernelGetParamInfo, kernel, (size_t)1, &offset, &size);
    int most = 0;
    CALL(cuKernelGetAttribute, &most, 0, kernel, 0);
    CALL(cuKernelSetAttribute, 8, 65536, kernel, 0);
    int dynamic = 0;
    CALL(cuFuncGetAttribute, &dynamic, 8, func);
    printf("KERNEL %s of %u, same %d, parameter 1 at %zu of %zu, %d threads, %d bytes\n", name, kernels, kernel == same,
           offset, size, most, dynamic);

    unsigned long long address = 0, counter = 0;
    int values[100], factor = 3, count = 100, counted = 0;
    for (int i = 0; i < count; i++) values[i] = i;
    CALL(cuMemAlloc, &address, sizeof values);
    CALL(cuMemcpyHtoD, address, values, sizeof values);
    void *arguments[] = { &address, &count, &factor };
    /* Once by the kernel, once by the function. */
    CALL(cuLaunchKernel, kernel, 1u, 1u, 1u, 128u, 1u, 1u, 60000u, NULL, arguments, NULL);
    CALL(cuLaunchKernel, func, 1u, 1u, 1u, 128u, 1u, 1u, 0u, NULL, arguments, NULL);
    CALL(cuMemcpyDtoH, values, address, sizeof values);
    CALL(cuLibraryGetGlobal, &counter, &size, library, "counter");
    CALL(cuMemcpyDtoH, &counted, counter, sizeof counted);
    printf("VALUES %d %d, counter %d of %zu\n", values[1], values[99], counted, size);

    /* Without a current context. */
    void *popped = NULL;
    CALL(cuCtxPopCurrent, &popped);
    CALL(cuMemFree, address);
    CALL(cuMemFree, 0ull);
    CALL(cuLibraryUnload, library);
    printf("AFTERWARDS %d %d\n", get("cuLibraryUnload")(library), get("cuMemAlloc")(&address, (size_t)4));
    CALL(cuCtxPushCurrent, context);
}

int main(int count, char **files)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    by_name = (get_address)dlsym(driver, "cuGetProcAddress_v2");
    CALL(cuInit, 0u);
    int device = -1, again = -1, status = -1;
    void *context = NULL, *second = NULL, *nothing = NULL;
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    /* From CUDA 13 on the name stands for the function with a context; before, for the one without. */
    CALL(cuCtxGetDevice, &again, context);
    check("cuGetProcAddress", by_name("cuCtxGetDevice", &nothing, 12090, 0, &status));
    check("cuCtxGetDevice", ((function)nothing)(&again));
    int old = by_name("cuLibraryLoadData", &nothing, 11080, 0, &status);
    printf("DEVICE %d, of CUDA 11.8: code %d, status %d\n", again, old, status);
    long zeros[3] = { 0, 0, 0 };
    CALL(cuCtxCreate, &second, zeros, 0u, device);
    CALL(cuCtxDestroy, second);
    CALL(cuCtxSetCurrent, context);
    for (int file = 1; file < count; file++) run(files[file], context);
    return 0;
}
