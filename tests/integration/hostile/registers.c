/* For a User Mode Linux of Debian 12: set all registers of a process, also where the processor has more than that kernel knows.
 *
 * The kernel keeps 2.7 kB of a process's extended state. The host takes back the whole state only, which is longer where the
 * processor has AMX, so that the first process would end by a segmentation fault. What the kernel does not know stays as it is.
 *
 *     cc -shared -fPIC -o registers.so registers.c; LD_PRELOAD=./registers.so linux.uml ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define BITS_OF_STATE_IN_USE 512 /* the offset of xstate_bv in the XSAVE area */
#define AMX (UINT64_C(3) << 17)

long ptrace(enum __ptrace_request request, ...)
{
    static long (*next)(enum __ptrace_request, ...);
    static char state[1 << 16];
    struct iovec whole = {state, sizeof state};

    va_list rest;
    va_start(rest, request);
    pid_t process = va_arg(rest, pid_t);
    void *address = va_arg(rest, void *);
    void *data = va_arg(rest, void *);
    va_end(rest);
    if (!next)
        next = dlsym(RTLD_NEXT, "ptrace");

    const struct iovec *given = data;
    if (request != PTRACE_SETREGSET || (uintptr_t)address != NT_X86_XSTATE ||
        next(PTRACE_GETREGSET, process, address, &whole) || whole.iov_len <= given->iov_len)
        return next(request, process, address, data);
    memcpy(state, given->iov_base, given->iov_len);
    *(uint64_t *)(state + BITS_OF_STATE_IN_USE) &= ~AMX;
    return next(request, process, address, &whole);
}
