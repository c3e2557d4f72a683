/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "guard.h"

/* cuda.h gives the plain name another meaning; see src/cuda/driver.h. */
#undef cuEventElapsedTime
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent start, CUevent stop)
    __attribute__((visibility("default")));

#define MAX_DEVICES 64
#define MAX_STACK 16
#define MAX_THREADS 1024
#define REGISTERS 65536
#define SHARED_BYTES 49152
#define SHARED_BYTES_OPTIN 232448
#define MEMORY_BYTES ((size_t)8 << 30)

/* The contexts of one host thread, the current one last. */
typedef struct context_stack {
    CUcontext contexts[MAX_STACK];
    int n;
} context_stack;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t stack_key;
static struct CUctx_st contexts[MAX_DEVICES];
static int n_devices, is_initialised, is_set_up;
/* Of 256, that waiting work goes on during a call that does not ask for it. */
static uint32_t eagerness;
static const emulated_module *modules;

void emulated_module_register(emulated_module *module)
{
    module->next = modules;
    modules = module;
}

static void set_up(void)
{
    static const uint32_t choices[] = {256, 128, 32, 0};
    long n = setting("CUDA_EMULATOR_DEVICES", 1);
    n_devices = n < 0 ? 0 : n > MAX_DEVICES ? MAX_DEVICES : (int)n;
    emulated_seed((uint64_t)setting("CUDA_EMULATOR_SEED", 1));
    eagerness = choices[emulated_random_below(4)];
    emulated_is_idle = setting("CUDA_EMULATOR_IDLE", 0) != 0;
    pthread_key_create(&stack_key, free);
    is_set_up = 1;
}

/* Of the calling thread; NULL without memory. */
static context_stack *stack_of_thread(void)
{
    context_stack *stack = pthread_getspecific(stack_key);
    if (!stack) {
        stack = calloc(1, sizeof *stack);
        pthread_setspecific(stack_key, stack);
    }
    return stack;
}

static CUcontext current_context(void)
{
    const context_stack *stack = stack_of_thread();
    return stack && stack->n ? stack->contexts[stack->n - 1] : NULL;
}

/* Takes the lock. CUDA_SUCCESS, or how the call fails. */
static CUresult begin(driver_function function)
{
    pthread_mutex_lock(&lock);
    if (!is_set_up)
        set_up();
    CUresult result = calls_begin(function);
    CUcontext context = current_context();
    while (context && emulated_random_below(256) < eagerness && context_advance(context))
        ;
    return result;
}

static CUresult end(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

/* A function of the driver, and one that needs a context. */
#define ENTRY(name, parameters, answer)           \
    CUresult CUDAAPI name parameters              \
    {                                             \
        CUresult result = begin(FUNCTION_##name); \
        return end(result ? result : answer);     \
    }

static CUresult state_of(CUcontext context)
{
    if (!is_initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    return context ? context->dead : CUDA_ERROR_INVALID_CONTEXT;
}

#define ENTRY_IN_CONTEXT(name, parameters, answer) \
    CUresult CUDAAPI name parameters               \
    {                                              \
        CUresult result = begin(FUNCTION_##name);  \
        CUcontext context = current_context();     \
        if (!result)                               \
            result = state_of(context);            \
        return end(result ? result : answer);      \
    }

/* The driver and its devices. */

static CUresult initialise(unsigned flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!n_devices)
        return CUDA_ERROR_NO_DEVICE;
    is_initialised = 1;
    return CUDA_SUCCESS;
}

static CUresult get_version(int *version)
{
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult result;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE",
     "uncorrectable ECC error encountered"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
#define N_ERRORS (sizeof errors / sizeof errors[0])

static CUresult name_error(CUresult error, const char **name, const char **text)
{
    for (size_t i = 0; i < N_ERRORS; i++)
        if (errors[i].result == error) {
            if (name)
                *name = errors[i].name;
            if (text)
                *text = errors[i].text;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult count_devices(int *count)
{
    *count = n_devices;
    return is_initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult find_device(CUdevice device)
{
    if (!is_initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    return device >= 0 && device < n_devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult get_device(CUdevice *device, int ordinal)
{
    CUresult result = find_device(ordinal);
    if (!result)
        *device = ordinal;
    return result;
}

static CUresult get_name(char *name, int size, CUdevice device)
{
    CUresult result = find_device(device);
    if (!result && size > 0)
        snprintf(name, (size_t)size, "emulated device %d", device);
    return result;
}

/* As of an H200, but with few multiprocessors. */
static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    static const int values[][2] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, SHARED_BYTES},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, SHARED_BYTES_OPTIN},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, __CUDA_ARCH__ / 100},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, __CUDA_ARCH__ / 10 % 10},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, MAX_THREADS},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, REGISTERS},
        {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    };
    CUresult result = find_device(device);
    for (size_t i = 0; !result && i < sizeof values / sizeof values[0]; i++)
        if (values[i][0] == (int)attribute) {
            *value = values[i][1];
            return CUDA_SUCCESS;
        }
    return result ? result : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_memory(size_t *n_bytes, CUdevice device)
{
    *n_bytes = MEMORY_BYTES;
    return find_device(device);
}

ENTRY(cuInit, (unsigned flags), initialise(flags))
ENTRY(cuDriverGetVersion, (int *version), get_version(version))
ENTRY(cuGetErrorName, (CUresult error, const char **name), name_error(error, name, NULL))
ENTRY(cuGetErrorString, (CUresult error, const char **text), name_error(error, NULL, text))
ENTRY(cuDeviceGetCount, (int *count), count_devices(count))
ENTRY(cuDeviceGet, (CUdevice * device, int ordinal), get_device(device, ordinal))
ENTRY(cuDeviceGetName, (char *name, int size, CUdevice device), get_name(name, size, device))
ENTRY(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
      get_attribute(value, attribute, device))
ENTRY(cuDeviceTotalMem_v2, (size_t * n_bytes, CUdevice device), get_memory(n_bytes, device))

/* Contexts. */

static CUresult retain(CUcontext *out, CUdevice device)
{
    CUresult result = find_device(device);
    if (result)
        return result;
    CUcontext context = &contexts[device];
    if (!context->n_references++)
        *context = (struct CUctx_st){.device = device, .n_references = 1};
    *out = context;
    return CUDA_SUCCESS;
}

static void count_left(CUcontext context)
{
    for (int i = 0; i < N_OBJECT_KINDS; i++)
        calls_left(object_names[i], object_count(context, (object_kind)i));
}

static CUresult release(CUdevice device)
{
    CUresult result = find_device(device);
    if (result)
        return result;
    CUcontext context = &contexts[device];
    if (!context->n_references)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->n_references)
        return CUDA_SUCCESS;
    context_drain(context);
    count_left(context);
    while (context->objects)
        object_destroy(context, context->objects);
    return CUDA_SUCCESS;
}

static CUresult push(CUcontext context)
{
    context_stack *stack = stack_of_thread();
    if (!stack || stack->n == MAX_STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!context || !context->n_references)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack->contexts[stack->n++] = context;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
    context_stack *stack = stack_of_thread();
    if (!stack || !stack->n)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack->n--;
    if (context)
        *context = stack->contexts[stack->n];
    return CUDA_SUCCESS;
}

ENTRY(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), retain(context, device))
ENTRY(cuDevicePrimaryCtxRelease_v2, (CUdevice device), release(device))
ENTRY(cuCtxPushCurrent_v2, (CUcontext context), push(context))
ENTRY(cuCtxPopCurrent_v2, (CUcontext * context), pop(context))

__attribute__((destructor)) static void count_contexts(void)
{
    for (int i = 0; i < n_devices; i++)
        if (contexts[i].n_references) {
            calls_left("contexts", 1);
            count_left(&contexts[i]);
        }
}

/* Modules. */

/* The header of a fatbin, which tells its size, is compared first. */
static int is_image_of(const emulated_module *module, const void *image)
{
    return memcmp(module->image, image, 16) == 0 &&
           memcmp(module->image, image, module->image_bytes) == 0;
}

static CUresult load(CUcontext context, CUmodule *out, const void *image)
{
    const emulated_module *module = modules;
    while (module && !is_image_of(module, image))
        module = module->next;
    if (!module)
        return CUDA_ERROR_INVALID_IMAGE;
    CUmodule created = object_create(context, OBJECT_MODULE, sizeof *created);
    if (!created)
        return CUDA_ERROR_OUT_OF_MEMORY;
    created->module = module;
    *out = created;
    return CUDA_SUCCESS;
}

static CUresult unload(CUcontext context, CUmodule module)
{
    if (!object_exists(context, module, OBJECT_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    context_drain(context);
    object_destroy(context, module);
    return CUDA_SUCCESS;
}

static CUresult get_function(CUcontext context, CUfunction *out, CUmodule module, const char *name)
{
    if (!object_exists(context, module, OBJECT_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    const emulated_kernel *kernel = module->module->kernels;
    while (kernel && strcmp(kernel->name, name) != 0)
        kernel = kernel->next;
    if (!kernel)
        return CUDA_ERROR_NOT_FOUND;
    CUfunction created = calloc(1, sizeof *created);
    if (!created)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *created = (struct CUfunc_st){
        .kernel = kernel,
        .max_dynamic_shared_bytes = SHARED_BYTES - kernel->static_shared_bytes,
        .module = module,
        .next = module->functions,
    };
    module->functions = *out = created;
    return CUDA_SUCCESS;
}

static int has_function(CUcontext context, CUfunction function)
{
    for (const object *o = context->objects; o; o = o->next)
        if (o->kind == OBJECT_MODULE)
            for (CUfunction f = ((CUmodule)(uintptr_t)o)->functions; f; f = f->next)
                if (f == function)
                    return 1;
    return 0;
}

static CUresult get_of_function(CUcontext context, int *value, CUfunction_attribute attribute,
                                CUfunction function)
{
    if (!has_function(context, function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_NUM_REGS)
        *value = (int)function->kernel->n_registers;
    else if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
        *value = (int)function->kernel->static_shared_bytes;
    else if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        *value = (int)function->kernel->max_threads;
    else if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        *value = (int)function->max_dynamic_shared_bytes;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult set_of_function(CUcontext context, CUfunction function,
                                CUfunction_attribute attribute, int value)
{
    if (!has_function(context, function))
        return CUDA_ERROR_INVALID_HANDLE;
    /* A wish that changes no answer. */
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        (size_t)value + function->kernel->static_shared_bytes > SHARED_BYTES_OPTIN)
        return CUDA_ERROR_INVALID_VALUE;
    function->max_dynamic_shared_bytes = (size_t)value;
    return CUDA_SUCCESS;
}

ENTRY_IN_CONTEXT(cuModuleLoadData, (CUmodule * module, const void *image),
                 load(context, module, image))
ENTRY_IN_CONTEXT(cuModuleUnload, (CUmodule module), unload(context, module))
ENTRY_IN_CONTEXT(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),
                 get_function(context, function, module, name))
ENTRY_IN_CONTEXT(cuFuncGetAttribute,
                 (int *value, CUfunction_attribute attribute, CUfunction function),
                 get_of_function(context, value, attribute, function))
ENTRY_IN_CONTEXT(cuFuncSetAttribute,
                 (CUfunction function, CUfunction_attribute attribute, int value),
                 set_of_function(context, function, attribute, value))

/* Streams. A stream of NULL is the default one, which no other waits for and which waits for no
 * other here, as all streams are asked to be made. */

static CUresult find_stream(CUcontext context, CUstream *stream)
{
    if (!*stream)
        *stream = &context->default_stream;
    else if (*stream == &context->default_stream)
        return CUDA_SUCCESS;
    else if (!object_exists(context, *stream, OBJECT_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}

static CUresult add(CUcontext context, CUstream stream, const operation *what)
{
    CUresult result = find_stream(context, &stream);
    if (!result && !stream_add(stream, what))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result)
        free(what->memory);
    return result;
}

static CUresult create_stream(CUcontext context, CUstream *stream, unsigned flags)
{
    if (flags != CU_STREAM_NON_BLOCKING) {
        fprintf(stderr, "emulated CUDA: a stream that the default stream waits for: not made\n");
        return CUDA_ERROR_INVALID_VALUE;
    }
    *stream = object_create(context, OBJECT_STREAM, sizeof **stream);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult destroy_stream(CUcontext context, CUstream stream)
{
    if (!object_exists(context, stream, OBJECT_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    stream_drain(context, stream);
    object_destroy(context, stream);
    return CUDA_SUCCESS;
}

static CUresult synchronize(CUcontext context, CUstream stream)
{
    CUresult result = find_stream(context, &stream);
    if (result)
        return result;
    stream_drain(context, stream);
    return context->dead;
}

static CUresult wait_for_event(CUcontext context, CUstream stream, CUevent event)
{
    if (!object_exists(context, event, OBJECT_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    return add(context, stream,
               &(operation){.kind = OPERATION_WAIT, .event = event, .ticket = event->n_asked});
}

ENTRY_IN_CONTEXT(cuStreamCreate, (CUstream * stream, unsigned flags),
                 create_stream(context, stream, flags))
ENTRY_IN_CONTEXT(cuStreamDestroy_v2, (CUstream stream), destroy_stream(context, stream))
ENTRY_IN_CONTEXT(cuStreamSynchronize, (CUstream stream), synchronize(context, stream))
ENTRY_IN_CONTEXT(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
                 flags ? CUDA_ERROR_INVALID_VALUE : wait_for_event(context, stream, event))

/* Events. */

static CUresult create_event(CUcontext context, CUevent *event, unsigned flags)
{
    CUevent created = object_create(context, OBJECT_EVENT, sizeof *created);
    if (!created)
        return CUDA_ERROR_OUT_OF_MEMORY;
    created->has_time = !(flags & CU_EVENT_DISABLE_TIMING);
    *event = created;
    return CUDA_SUCCESS;
}

static CUresult destroy_event(CUcontext context, CUevent event)
{
    if (!object_exists(context, event, OBJECT_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    context_drain(context);
    object_destroy(context, event);
    return CUDA_SUCCESS;
}

static CUresult record(CUcontext context, CUevent event, CUstream stream)
{
    if (!object_exists(context, event, OBJECT_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = find_stream(context, &stream);
    if (result)
        return result;
    event->n_asked++;
    return add(context, stream,
               &(operation){.kind = OPERATION_RECORD, .event = event, .ticket = event->n_asked});
}

/* Who asks makes something happen, or would ask for ever. */
static CUresult query(CUcontext context, CUevent event)
{
    if (!object_exists(context, event, OBJECT_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->n_done < event->n_asked && emulated_random() & 1)
        context_advance(context);
    if (event->n_done < event->n_asked)
        return CUDA_ERROR_NOT_READY;
    return context->dead;
}

static CUresult wait_for_host(CUcontext context, CUevent event)
{
    if (!object_exists(context, event, OBJECT_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    event_drain(context, event);
    return context->dead;
}

static CUresult elapsed(CUcontext context, float *ms, CUevent start, CUevent stop)
{
    if (!object_exists(context, start, OBJECT_EVENT) || !object_exists(context, stop, OBJECT_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->has_time || !stop->has_time || !start->n_asked || !stop->n_asked)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->n_done < start->n_asked || stop->n_done < stop->n_asked)
        return CUDA_ERROR_NOT_READY;
    *ms = (float)(stop->done_ms - start->done_ms);
    return CUDA_SUCCESS;
}

ENTRY_IN_CONTEXT(cuEventCreate, (CUevent * event, unsigned flags),
                 create_event(context, event, flags))
ENTRY_IN_CONTEXT(cuEventDestroy_v2, (CUevent event), destroy_event(context, event))
ENTRY_IN_CONTEXT(cuEventRecord, (CUevent event, CUstream stream), record(context, event, stream))
ENTRY_IN_CONTEXT(cuEventQuery, (CUevent event), query(context, event))
ENTRY_IN_CONTEXT(cuEventSynchronize, (CUevent event), wait_for_host(context, event))
ENTRY_IN_CONTEXT(cuEventElapsedTime, (float *ms, CUevent start, CUevent stop),
                 elapsed(context, ms, start, stop))

/* Memory. */

static CUresult allocate(CUcontext context, object_kind kind, void **memory, size_t n_bytes)
{
    if (!n_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    allocation *created = object_create(context, kind, sizeof *created);
    if (!created)
        return CUDA_ERROR_OUT_OF_MEMORY;
    created->n_bytes = n_bytes;
    created->memory = n_bytes <= MEMORY_BYTES ? guard_alloc(n_bytes) : NULL;
    if (!created->memory) {
        created->object.kind = OBJECT_EVENT;
        object_destroy(context, created);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *memory = created->memory;
    size_t n_in_use = 0;
    for (const object *o = context->objects; o; o = o->next)
        n_in_use += o->kind == kind ? ((const allocation *)o)->n_bytes : 0;
    calls_note_bytes(kind, n_in_use);
    return CUDA_SUCCESS;
}

static CUresult allocate_on_device(CUcontext context, CUdeviceptr *address, size_t n_bytes)
{
    void *memory = NULL;
    CUresult result = allocate(context, OBJECT_ALLOCATION, &memory, n_bytes);
    if (!result)
        *address = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

/* Freeing waits for the device, and takes the address that allocating gave. */
static CUresult free_memory(CUcontext context, object_kind kind, void *memory)
{
    allocation *found = find_allocation(context, kind, memory, 0);
    if (!found || found->memory != memory)
        return CUDA_ERROR_INVALID_VALUE;
    context_drain(context);
    object_destroy(context, found);
    return CUDA_SUCCESS;
}

ENTRY_IN_CONTEXT(cuMemAlloc_v2, (CUdeviceptr * address, size_t n_bytes),
                 allocate_on_device(context, address, n_bytes))
ENTRY_IN_CONTEXT(cuMemFree_v2, (CUdeviceptr address),
                 free_memory(context, OBJECT_ALLOCATION, (void *)(uintptr_t)address))
ENTRY_IN_CONTEXT(cuMemHostAlloc, (void **memory, size_t n_bytes, unsigned flags),
                 flags ? CUDA_ERROR_INVALID_VALUE
                       : allocate(context, OBJECT_HOST_ALLOCATION, memory, n_bytes))
ENTRY_IN_CONTEXT(cuMemFreeHost, (void *memory),
                 free_memory(context, OBJECT_HOST_ALLOCATION, memory))

/* Copies. From memory of the host that is not pinned they are taken at once, and to such memory
 * they are done when the call returns. */

static CUresult stage(CUcontext context, operation *what)
{
    size_t n_bytes = what->row_bytes * what->n_rows;
    if (find_allocation(context, OBJECT_HOST_ALLOCATION, what->from, 1))
        return CUDA_SUCCESS;
    char *memory = malloc(n_bytes + 1);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t y = 0; y < what->n_rows; y++)
        memcpy(memory + y * what->row_bytes, what->from + y * what->from_pitch, what->row_bytes);
    what->from = what->memory = memory;
    what->from_pitch = what->row_bytes;
    return CUDA_SUCCESS;
}

/* The bytes from the first row's begin to the last row's end. */
static size_t extent(const operation *what, size_t pitch)
{
    return what->n_rows ? (what->n_rows - 1) * pitch + what->row_bytes : 0;
}

static int on_device(CUcontext context, const void *address, size_t n_bytes)
{
    return find_allocation(context, OBJECT_ALLOCATION, address, n_bytes) != NULL;
}

static CUresult copy(CUcontext context, operation *what, int from_host, int to_host,
                     CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    if (what->row_bytes > what->from_pitch || what->row_bytes > what->to_pitch ||
        (!from_host && !on_device(context, what->from, extent(what, what->from_pitch))) ||
        (!to_host && !on_device(context, what->to, extent(what, what->to_pitch))))
        return CUDA_ERROR_INVALID_VALUE;
    if (from_host)
        result = stage(context, what);
    if (!result)
        result = add(context, stream, what);
    if (!result && to_host && !find_allocation(context, OBJECT_HOST_ALLOCATION, what->to, 1))
        result = synchronize(context, stream);
    return result;
}

static CUresult copy_bytes(CUcontext context, char *to, const char *from, size_t n_bytes,
                           int from_host, CUstream stream)
{
    return copy(context,
                &(operation){.kind = OPERATION_COPY,
                             .to = to,
                             .from = from,
                             .to_pitch = n_bytes,
                             .from_pitch = n_bytes,
                             .row_bytes = n_bytes,
                             .n_rows = 1},
                from_host, !from_host, stream);
}

static CUresult fetch(CUcontext context, char *to, const char *from, size_t n_bytes)
{
    CUresult result = copy_bytes(context, to, from, n_bytes, 0, NULL);
    return result ? result : synchronize(context, NULL);
}

/* One side of a copy of rows; NULL where it is neither the host nor the device. */
static char *side(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                  size_t pitch)
{
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE)
        return NULL;
    char *base = type == CU_MEMORYTYPE_HOST ? (char *)(uintptr_t)host : (char *)(uintptr_t)device;
    return base + y * pitch + x;
}

static CUresult copy_2d(CUcontext context, const CUDA_MEMCPY2D *c, CUstream stream)
{
    operation what = {.kind = OPERATION_COPY,
                      .to_pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes,
                      .from_pitch = c->srcPitch ? c->srcPitch : c->WidthInBytes,
                      .row_bytes = c->WidthInBytes,
                      .n_rows = c->Height};
    what.to =
        side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, what.to_pitch);
    what.from =
        side(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, what.from_pitch);
    if (!what.to || !what.from)
        return CUDA_ERROR_INVALID_VALUE;
    return copy(context, &what, c->srcMemoryType == CU_MEMORYTYPE_HOST,
                c->dstMemoryType == CU_MEMORYTYPE_HOST, stream);
}

static CUresult fill(CUcontext context, CUdeviceptr to, unsigned char value, size_t n_bytes,
                     CUstream stream)
{
    char *memory = (char *)(uintptr_t)to;
    if (!on_device(context, memory, n_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return add(
        context, stream,
        &(operation){.kind = OPERATION_FILL, .to = memory, .row_bytes = n_bytes, .value = value});
}

ENTRY_IN_CONTEXT(cuMemcpyHtoDAsync_v2,
                 (CUdeviceptr to, const void *from, size_t n_bytes, CUstream stream),
                 copy_bytes(context, (char *)(uintptr_t)to, from, n_bytes, 1, stream))
ENTRY_IN_CONTEXT(cuMemcpyDtoHAsync_v2,
                 (void *to, CUdeviceptr from, size_t n_bytes, CUstream stream),
                 copy_bytes(context, to, (const char *)(uintptr_t)from, n_bytes, 0, stream))
ENTRY_IN_CONTEXT(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t n_bytes),
                 fetch(context, to, (const char *)(uintptr_t)from, n_bytes))
ENTRY_IN_CONTEXT(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *c, CUstream stream),
                 copy_2d(context, c, stream))
ENTRY_IN_CONTEXT(cuMemsetD8Async,
                 (CUdeviceptr to, unsigned char value, size_t n_bytes, CUstream stream),
                 fill(context, to, value, n_bytes, stream))

/* Launches. */

static CUresult check_launch(const struct CUfunc_st *function, const emulated_launch *launch)
{
    emulated_index b = launch->block_size, g = launch->grid_size;
    if (!b.x || !b.y || !b.z || b.x > MAX_THREADS || b.y > MAX_THREADS || b.z > 64 ||
        b.x * b.y * b.z > MAX_THREADS)
        return CUDA_ERROR_INVALID_VALUE;
    if (!g.x || !g.y || !g.z || g.x > 0x7fffffff || g.y > 65535 || g.z > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    if (launch->dynamic_shared_bytes > function->max_dynamic_shared_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned n_threads = b.x * b.y * b.z, n_in_warps = (n_threads + 31) / 32 * 32;
    if (n_threads > function->kernel->max_threads ||
        n_in_warps * function->kernel->n_registers > REGISTERS)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return CUDA_SUCCESS;
}

/* The arguments are the caller's until the call returns, so the launch gets its own. */
static void **copy_arguments(const emulated_kernel *kernel, void *const *arguments)
{
    size_t n = (size_t)kernel->n_arguments, n_bytes = n * sizeof(void *) + 16;
    for (size_t i = 0; i < n; i++)
        n_bytes += (kernel->argument_bytes[i] + 15) / 16 * 16;
    char *memory = malloc(n_bytes);
    if (!memory)
        return NULL;
    void **copies = (void **)(void *)memory;
    char *at = memory + (n * sizeof(void *) + 15) / 16 * 16;
    for (size_t i = 0; i < n; i++) {
        memcpy(at, arguments[i], kernel->argument_bytes[i]);
        copies[i] = at;
        at += (kernel->argument_bytes[i] + 15) / 16 * 16;
    }
    return copies;
}

static CUresult launch(CUcontext context, CUfunction function, emulated_launch *launch,
                       void *const *arguments, CUstream stream)
{
    if (!has_function(context, function))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = check_launch(function, launch);
    if (result)
        return result;
    void **copies = copy_arguments(function->kernel, arguments);
    if (!copies)
        return CUDA_ERROR_OUT_OF_MEMORY;
    launch->kernel = function->kernel;
    launch->arguments = copies;
    return add(context, stream,
               &(operation){.kind = OPERATION_LAUNCH, .launch = *launch, .memory = copies});
}

ENTRY_IN_CONTEXT(cuLaunchKernel,
                 (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  CUstream stream, void **arguments, void **extra),
                 extra ? CUDA_ERROR_INVALID_VALUE
                       : launch(context, function,
                                &(emulated_launch){.grid_size = {grid_x, grid_y, grid_z},
                                                   .block_size = {block_x, block_y, block_z},
                                                   .dynamic_shared_bytes = shared_bytes},
                                arguments, stream))

/* A kernel that may start early starts late, as streams do. */
static CUresult launch_by(CUcontext context, const CUlaunchConfig *config, CUfunction function,
                          void **arguments)
{
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            return CUDA_ERROR_NOT_SUPPORTED;
    emulated_launch what = {.grid_size = {config->gridDimX, config->gridDimY, config->gridDimZ},
                            .block_size = {config->blockDimX, config->blockDimY, config->blockDimZ},
                            .dynamic_shared_bytes = config->sharedMemBytes};
    return launch(context, function, &what, arguments, config->hStream);
}

ENTRY_IN_CONTEXT(cuLaunchKernelEx,
                 (const CUlaunchConfig *config, CUfunction function, void **arguments,
                  void **extra),
                 extra ? CUDA_ERROR_INVALID_VALUE : launch_by(context, config, function, arguments))
