/* Holds memory in a state that a capture is to show: prepares it, then stays in the background until it is killed.
 *
 *   hold heap MIB [N]      touches MIB of anonymous memory, then gives back all pages but 1 of N, chosen at random
 *   hold hugetlb MIB       maps MIB of the hugetlb pool
 *   hold map FILE          maps a file and reads all of it
 *   hold vmsplice MIB      touches MIB and keeps one page of every 2 MiB pinned, in pipes
 *   hold io_uring MIB      touches MIB and pins one page of every 2 MiB as a fixed buffer
 *   hold files DIR COUNT   writes files of 1 to 8 pages, 250 in a directory, until there is no room for more
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 2 << 20, IN_A_PIPE = 16 };

static void need(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(1);
}

static char *touched(size_t bytes, int flags) {
    char *memory = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    need(memory != MAP_FAILED, "mmap");
    if (!(flags & MAP_HUGETLB)) memory += HUGE - (uintptr_t)memory % HUGE;
    /* Pages differ, so that a compressed swap device has something to hold. */
    uint64_t word = 88172645463325252u;
    for (size_t at = 0; at < bytes; at += PAGE)
        for (size_t in = 0; in < PAGE / 2; in += 8) {
            word ^= word << 13, word ^= word >> 7, word ^= word << 17;
            *(uint64_t *)(memory + at + in) = word;
        }
    return memory;
}

static void give_back(char *memory, size_t bytes, unsigned keep) {
    uint32_t state = 1;
    need(madvise(memory, bytes, MADV_NOHUGEPAGE) == 0, "madvise");
    for (size_t at = 0; at < bytes; at += PAGE) {
        state = state * 1664525 + 1013904223;
        if ((state >> 16) % keep) need(madvise(memory + at, PAGE, MADV_DONTNEED) == 0, "madvise");
    }
}

static void splice_pages(char *memory, size_t bytes) {
    int ends[2] = {-1, -1};
    for (size_t at = 0; at < bytes; at += HUGE) {
        if (at / HUGE % IN_A_PIPE == 0) need(pipe(ends) == 0, "pipe");
        struct iovec page = {memory + at, PAGE};
        need(vmsplice(ends[1], &page, 1, 0) == PAGE, "vmsplice");
    }
}

static void register_pages(char *memory, size_t bytes) {
    struct io_uring_params params = {0};
    int ring = syscall(SYS_io_uring_setup, 8, &params);
    need(ring >= 0, "io_uring_setup");
    size_t count = bytes / HUGE;
    struct iovec *pages = calloc(count, sizeof *pages);
    for (size_t i = 0; i < count; i++) pages[i] = (struct iovec){memory + i * HUGE, PAGE};
    need(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, pages, count) == 0, "io_uring_register");
}

static void map_file(const char *path) {
    struct stat about;
    int file = open(path, O_RDONLY);
    need(file >= 0 && fstat(file, &about) == 0, path);
    volatile char *memory = mmap(NULL, about.st_size, PROT_READ, MAP_SHARED, file, 0);
    need(memory != MAP_FAILED, "mmap");
    for (off_t at = 0; at < about.st_size; at += PAGE) memory[at];
}

static void write_files(const char *dir, unsigned count) {
    static const char page[PAGE];
    char path[256];
    mkdir(dir, 0755);
    for (unsigned n = 0; n < count; n++) {
        snprintf(path, sizeof path, "%s/%u", dir, n / 250);
        if (n % 250 == 0 && mkdir(path, 0755)) return;
        snprintf(path, sizeof path, "%s/%u/%u", dir, n / 250, n);
        int file = open(path, O_WRONLY | O_CREAT, 0644);
        for (unsigned pages = n % 8 + 1; file >= 0 && pages; pages--)
            if (write(file, page, PAGE) != PAGE) return;
        if (file < 0) return;
        close(file);
    }
}

int main(int count, char **words) {
    int ready[2];
    need(count >= 3, "hold STATE AMOUNT");
    need(pipe(ready) == 0, "pipe");
    if (fork()) {
        char said;
        close(ready[1]);
        return read(ready[0], &said, 1) != 1;
    }
    const char *state = words[1];
    size_t bytes = strtoul(words[2], NULL, 10) << 20;
    if (!strcmp(state, "map")) {
        map_file(words[2]);
    } else if (!strcmp(state, "files")) {
        need(count > 3, "hold files DIR COUNT");
        write_files(words[2], atoi(words[3]));
    } else {
        char *memory = touched(bytes, !strcmp(state, "hugetlb") ? MAP_HUGETLB : 0);
        if (count > 3) give_back(memory, bytes, atoi(words[3]));
        if (!strcmp(state, "vmsplice")) splice_pages(memory, bytes);
        if (!strcmp(state, "io_uring")) register_pages(memory, bytes);
    }
    need(write(ready[1], "", 1) == 1, "write");
    for (;;) pause();
}
