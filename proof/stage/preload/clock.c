// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Wall clock that is ahead by what stands in a file: for redis-server, in LD_PRELOAD. The system is asked directly, because libc's own
// functions are those that this library stands in for.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *ahead; // nanoseconds; 0: no file

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("PICKET_PROOF_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *memory = mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) ahead = memory;
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *t) {
    if (syscall(SYS_clock_gettime, id, t)) return -1;
    if (ahead && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        long long now = t->tv_sec * 1000000000LL + t->tv_nsec + *ahead;
        t->tv_sec = now / 1000000000LL;
        t->tv_nsec = now % 1000000000LL;
    }
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}
