/*
 * A library for LD_PRELOAD that makes system calls of a walk fail or hang.
 *
 *   SHIM_CALL    the call that fails: openat, statx, getdents64 or close
 *   SHIM_NTH     the first use that fails, counted from 1 over all threads
 *   SHIM_EVERY   after that, every n-th use fails; 0: no other use
 *   SHIM_ERROR   the errno of the failure
 *   SHIM_HANG    an openat of this name hangs ...
 *   SHIM_FIFO    ... until another process opens this named pipe for writing
 *   SHIM_LOG     a file that gets the number of uses at the end
 *
 * Only calls relative to a directory or on a directory count, so that the program can still load and print.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long uses;

/* The C library's own syscall. */
typedef long (*syscall_function)(long, ...);

static syscall_function find_real(void) {
    static _Atomic(syscall_function) found;
    if (found == NULL) found = (syscall_function)dlsym(RTLD_NEXT, "syscall");
    return found;
}

#define real(...) find_real()(__VA_ARGS__)

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

/* Returns whether this use of `call` fails; if so, sets errno. */
static int fails(const char *call) {
    if (strcmp(setting("SHIM_CALL"), call) != 0) return 0;
    long use = 1 + atomic_fetch_add(&uses, 1);
    long first = atol(setting("SHIM_NTH"));
    long every = atol(setting("SHIM_EVERY"));
    if (first == 0 || use < first) return 0;
    if (use > first && (every == 0 || (use - first) % every != 0)) return 0;
    errno = atoi(setting("SHIM_ERROR"));
    return 1;
}

static void hang(const char *path) {
    const char *name = setting("SHIM_HANG");
    if (*name == '\0' || strcmp(path, name) != 0) return;
    /* Opening a pipe for reading blocks in the kernel until there is a writer. */
    real(SYS_openat, AT_FDCWD, setting("SHIM_FIFO"), O_RDONLY | O_CLOEXEC);
}

static int open_at(int dir, const char *path, int flags, mode_t mode) {
    if (flags & O_DIRECTORY) {
        hang(path);
        if (fails("openat")) return -1;
    }
    long fd = real(SYS_openat, dir, path, flags, mode);
    return (int)fd;
}

int openat(int dir, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_at(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_at(dir, path, flags, mode);
}

static int is_directory(int fd) {
    struct stat record;
    return real(SYS_fstat, fd, &record) == 0 && S_ISDIR(record.st_mode);
}

int statx(int dir, const char *path, int flags, unsigned mask, struct statx *record) {
    if (dir != AT_FDCWD && is_directory(dir) && fails("statx")) return -1;
    return (int)real(SYS_statx, dir, path, flags, mask, record);
}

/* getdents64 has no wrapper in older C libraries, so programs make it by number. */
long syscall(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_getdents64 && fails("getdents64")) return -1;
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Closes the descriptor, then reports a failure: close releases the descriptor in any case. */
int close(int fd) {
    int was_directory = is_directory(fd);
    long closed = real(SYS_close, fd);
    if (was_directory && fails("close")) return -1;
    return (int)closed;
}

__attribute__((destructor)) static void tell(void) {
    const char *path = setting("SHIM_LOG");
    if (*path == '\0') return;
    FILE *log = fopen(path, "w");
    if (log == NULL) return;
    fprintf(log, "%ld\n", atomic_load(&uses));
    fclose(log);
}
