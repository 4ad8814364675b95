/* Runs the programs of tests/data/placements/programs.txt on the kernel of this machine, which has two nodes, as its root, and
 * says of each whether its pages lie where they are expected. What the words mean is written there. Without libnuma.
 *
 *   place programs.txt [PROGRAM...]
 *
 * FILE in the environment is a file or device on disk, of the size of a node at least; programs that read one are skipped without it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 2 << 20, IN_A_PIPE = 16, WORDS = 8, AREAS = 8, LINE = 256 };
enum { MODE_DEFAULT, MODE_PREFERRED, MODE_BIND, MODE_INTERLEAVE, MODE_LOCAL, MODE_PREFERRED_MANY, MODE_WEIGHTED };

struct area { char name[32]; char *at; size_t bytes; };
static struct area areas[AREAS];
static int mapped;
static size_t huge_slots;
static long faults_before;
static const char *program = "?";

static void fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("FAILED %s: ", program);
    vprintf(format, list);
    printf("\n");
    va_end(list);
    fflush(stdout);
    _exit(1);
}

static void need(int holds, const char *what) {
    if (!holds) fail("%s: %s", what, strerror(errno));
}

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    need(file >= 0 && write(file, text, strlen(text)) > 0, path);
    close(file);
}

/* The number behind `key` in a file of lines. */
static long number_in(const char *path, const char *key) {
    char line[LINE];
    FILE *file = fopen(path, "r");
    need(file != NULL, path);
    while (fgets(line, sizeof line, file)) {
        char *found = strstr(line, key);
        if (found) {
            fclose(file);
            return atol(found + strlen(key));
        }
    }
    fail("%s has no %s", path, key);
    return 0;
}

static size_t node_bytes(void) {
    return (size_t)number_in("/sys/devices/system/node/node0/meminfo", "MemTotal:") * 1024;
}

/* The set in a list such as 0-1,3; `bits` is for numbers up to 1023. */
static void list_bits(const char *list, unsigned long *bits) {
    while (*list >= '0' && *list <= '9') {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long at = first; at <= last && at < 1024; at++) bits[at / 64] |= 1ul << (at % 64);
        list = *end == ',' ? end + 1 : end;
    }
}

static int policy(char *words, unsigned long *nodes) {
    static const struct { const char *word; int mode; } modes[] = {
        {"default", MODE_DEFAULT}, {"preferred", MODE_PREFERRED}, {"bind", MODE_BIND}, {"interleave", MODE_INTERLEAVE},
        {"local", MODE_LOCAL}, {"preferred-many", MODE_PREFERRED_MANY}, {"weighted-interleave", MODE_WEIGHTED},
    };
    char *list = strchr(words, ':');
    if (list) *list++ = 0;
    memset(nodes, 0, 128);
    if (list) list_bits(list, nodes);
    for (size_t at = 0; at < sizeof modes / sizeof *modes; at++)
        if (!strcmp(modes[at].word, words)) return modes[at].mode;
    fail("no policy is called %s", words);
    return 0;
}

static struct area *area(const char *name) {
    for (int at = 0; at < mapped; at++)
        if (!strcmp(areas[at].name, name)) return &areas[at];
    fail("nothing is called %s", name);
    return NULL;
}

static void go_to_node(const char *node) {
    char path[LINE], cpus[LINE] = "";
    snprintf(path, sizeof path, "/sys/devices/system/node/node%s/cpulist", node);
    FILE *file = fopen(path, "r");
    need(file != NULL && fgets(cpus, sizeof cpus, file) != NULL, path);
    fclose(file);
    unsigned long bits[16] = {0};
    list_bits(cpus, bits);
    need(syscall(SYS_sched_setaffinity, 0, sizeof bits, bits) == 0, "sched_setaffinity");
}

static void map(const char *name, const char *share, int huge) {
    if (mapped == AREAS) fail("too many areas");
    size_t bytes = (size_t)(node_bytes() * atof(share) / 100) / (2 * HUGE) * (2 * HUGE);
    char *memory = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    need(memory != MAP_FAILED, "mmap");
    memory += HUGE - (uintptr_t)memory % HUGE;
    need(madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0, "madvise");
    snprintf(areas[mapped].name, sizeof areas[mapped].name, "%s", name);
    areas[mapped].at = memory;
    areas[mapped++].bytes = bytes;
    if (huge) huge_slots += bytes / HUGE;
}

static void touch(struct area *of) {
    for (size_t at = 0; at < of->bytes; at += PAGE) *(volatile char *)(of->at + at) = 1;
}

/* Reads so much of the file, of which nothing is in memory. */
static void cache(const char *share) {
    static char buffer[HUGE];
    size_t bytes = (size_t)(node_bytes() * atof(share) / 100) / (2 * HUGE) * (2 * HUGE);
    const char *path = getenv("FILE");
    if (!path) {
        printf("skipped %s: FILE names no file on disk\n", program);
        fflush(stdout);
        _exit(0);
    }
    int file = open(path, O_RDONLY);
    need(file >= 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0, "the file on disk");
    for (size_t got = 0; got < bytes; got += HUGE) need(read(file, buffer, HUGE) == HUGE, "the file on disk");
    /* It stays open: the pages of a device go with the last who has it open. */
}

/* One page of each 2 MiB of physical memory that the area has part of is held by a pipe. */
static void pin(struct area *of) {
    enum { BLOCKS = 1 << 20 };
    static unsigned char seen[BLOCKS];
    int ends[2] = {-1, -1}, frames = open("/proc/self/pagemap", O_RDONLY), pins = 0;
    char *free_from = of->at, *end = of->at + of->bytes;
    memset(seen, 0, sizeof seen);
    for (char *at = of->at; at < end; at += PAGE) {
        uint64_t entry;
        need(pread(frames, &entry, 8, (uintptr_t)at / PAGE * 8) == 8, "pagemap");
        uint64_t block = (entry & ((1ull << 55) - 1)) / (HUGE / PAGE);
        if (block == 0 || block >= BLOCKS) fail("pagemap shows no frames");
        if (seen[block]) continue;
        seen[block] = 1;
        if (pins++ % IN_A_PIPE == 0) need(pipe(ends) == 0, "pipe");
        struct iovec page = {at, PAGE};
        need(vmsplice(ends[1], &page, 1, 0) == PAGE, "vmsplice");
    }
    memset(seen, 0, sizeof seen);
    /* The others go; of each block the first was pinned. */
    for (char *at = of->at; at < end; at += PAGE) {
        uint64_t entry;
        need(pread(frames, &entry, 8, (uintptr_t)at / PAGE * 8) == 8, "pagemap");
        uint64_t block = (entry & ((1ull << 55) - 1)) / (HUGE / PAGE);
        if (seen[block]) continue;
        seen[block] = 1;
        if (at > free_from) need(madvise(free_from, at - free_from, MADV_DONTNEED) == 0, "madvise");
        free_from = at + PAGE;
    }
    if (end > free_from) need(madvise(free_from, end - free_from, MADV_DONTNEED) == 0, "madvise");
    close(frames);
}

/* Where the pages of an area lie, or where they are moved to. */
static void on_nodes(struct area *of, const int *to, size_t *found) {
    size_t pages = of->bytes / PAGE;
    void **at = calloc(pages, sizeof *at);
    int *status = calloc(pages, sizeof *status), *nodes = to ? calloc(pages, sizeof *nodes) : NULL;
    need(at && status && (nodes || !to), "calloc");
    for (size_t page = 0; page < pages; page++) {
        at[page] = of->at + page * PAGE;
        if (to) nodes[page] = *to;
    }
    need(syscall(SYS_move_pages, 0, pages, at, nodes, status, to ? 2 : 0) >= 0, "move_pages");
    for (size_t page = 0; found && page < pages; page++)
        if (status[page] == 0 || status[page] == 1) found[status[page]]++;
    free(at), free(status), free(nodes);
}

static int within(double got, const char *range) {
    char *end;
    double least = strtod(range, &end), most = *end == '-' ? strtod(end + 1, &end) : least;
    return *end == '%' && got >= least - 1e-9 && got <= most + 1e-9;
}

static int release(const char *text) {
    int major = 0, minor = 0;
    sscanf(text, "%d.%d", &major, &minor);
    return major * 1000 + minor;
}

/* Whether the words from `at` on, "from A.B" and "below A.B", are for this kernel. */
static int is_for_this(char **words, int at, int count) {
    struct utsname name;
    uname(&name);
    for (; at + 1 < count; at += 2) {
        int limit = release(words[at + 1]), here = release(name.release);
        if (!strcmp(words[at], "from") ? here < limit : here >= limit) return 0;
    }
    return 1;
}

static void step(char **word, int count) {
    unsigned long nodes[16];
    char path[LINE];
    if (!strcmp(word[0], "cpu")) go_to_node(word[1]);
    else if (!strcmp(word[0], "policy")) {
        int mode = policy(word[1], nodes);
        need(syscall(SYS_set_mempolicy, mode, nodes, 1024) == 0, "set_mempolicy");
    } else if (!strcmp(word[0], "weights")) {
        for (int node = 0; node < 2; node++) {
            snprintf(path, sizeof path, "/sys/kernel/mm/mempolicy/weighted_interleave/node%d", node);
            write_file(path, word[1 + node]);
        }
    } else if (!strcmp(word[0], "map")) map(word[1], word[2], count > 3);
    else if (!strcmp(word[0], "mbind")) {
        int mode = policy(word[2], nodes);
        struct area *of = area(word[1]);
        need(syscall(SYS_mbind, of->at, of->bytes, mode, nodes, 1024, count > 3 ? 2 : 0) == 0, "mbind");
    } else if (!strcmp(word[0], "touch")) touch(area(word[1]));
    else if (!strcmp(word[0], "cache")) cache(word[1]);
    else if (!strcmp(word[0], "pin")) pin(area(word[1]));
    else if (!strcmp(word[0], "move")) {
        int to = atoi(word[2]);
        on_nodes(area(word[1]), &to, NULL);
    } else if (!strcmp(word[0], "migrate")) {
        unsigned long from[16] = {0}, to[16] = {0};
        list_bits(word[1], from), list_bits(word[2], to);
        need(syscall(SYS_migrate_pages, 0, 1024, from, to) >= 0, "migrate_pages");
    } else if (!strcmp(word[0], "expect")) {
        struct area *of = area(word[1]);
        size_t found[2] = {0, 0};
        on_nodes(of, NULL, found);
        double all = of->bytes / PAGE, here = 100 * found[0] / all, there = 100 * found[1] / all;
        printf("       %s: %s %.1f%% %.1f%%\n", program, word[1], here, there);
        if (!within(here, word[2]) || !within(there, word[3]))
            fail("%s lies %.1f%% and %.1f%%, expected %s and %s", word[1], here, there, word[2], word[3]);
    } else if (!strcmp(word[0], "huge")) {
        double got = 100.0 * (number_in("/proc/vmstat", "thp_fault_alloc ") - faults_before) / huge_slots;
        printf("       %s: huge %.1f%%\n", program, got);
        if (is_for_this(word, 2, count) && !within(got, word[1])) fail("%.1f%% are huge, expected %s", got, word[1]);
    } else fail("unknown step %s", word[0]);
}

static int split(char *line, char **words) {
    int count = 0;
    for (char *word = strtok(line, " \t\n"); word && count < WORDS; word = strtok(NULL, " \t\n")) words[count++] = word;
    return count;
}

/* Runs the program whose steps come next in a process of its own; says whether it failed. */
static int run(FILE *file, long behind) {
    fflush(stdout);
    /* What the one before has freed lies on lists of CPUs. */
    write_file("/proc/sys/vm/compact_memory", "1");
    pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        /* A new description of the file: the place in the old one is the parent's, too. */
        char line[LINE], *word[WORDS], path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
        FILE *own = fopen(path, "r");
        need(own != NULL && fseek(own, behind, SEEK_SET) == 0, "fopen");
        faults_before = number_in("/proc/vmstat", "thp_fault_alloc ");
        while (fgets(line, sizeof line, own) && strncmp(line, "program ", 8)) {
            int count = line[0] == '#' ? 0 : split(line, word);
            if (count) step(word, count);
        }
        printf("ok     %s\n", program);
        fflush(stdout);
        _exit(0);
    }
    int status;
    need(waitpid(child, &status, 0) == child, "waitpid");
    if (WIFSIGNALED(status)) printf("FAILED %s: killed by signal %d\n", program, WTERMSIG(status));
    return status != 0;
}

static int wanted(const char *name, char **names) {
    if (!*names) return 1;
    for (; *names; names++)
        if (!strcmp(*names, name)) return 1;
    return 0;
}

int main(int argc, char **argv) {
    char line[LINE], *word[WORDS], name[64];
    struct rlimit files = {65536, 65536};
    if (argc < 2) return fprintf(stderr, "usage: place programs.txt [PROGRAM...]\n"), 2;
    if (access("/sys/devices/system/node/node1", F_OK)) return printf("skipped: this machine has one node\n"), 77;
    FILE *file = fopen(argv[1], "r");
    need(file != NULL, argv[1]);
    setrlimit(RLIMIT_NOFILE, &files);
    write_file("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
    write_file("/sys/kernel/mm/transparent_hugepage/defrag", "madvise");
    if (!access("/proc/sys/kernel/numa_balancing", W_OK)) write_file("/proc/sys/kernel/numa_balancing", "0");
    int failed = 0, ran = 0;
    while (fgets(line, sizeof line, file)) {
        int count = line[0] == '#' ? 0 : split(line, word);
        if (!count || strcmp(word[0], "program")) continue;
        snprintf(name, sizeof name, "%s", word[1]);
        program = name;
        if (!wanted(name, argv + 2) || !is_for_this(word, 2, count)) continue;
        failed += run(file, ftell(file)), ran++;
    }
    printf("%d programs, %d failed\n", ran, failed);
    return failed > 0;
}
