/* A program that wants memory: `want MIB` as it comes, `want MIB NODE` advised, on one node. Says how much it got before the kernel killed it,
 * the share of its first faults of each 2 MiB that became huge, and its CPU time. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 2 << 20, MPOL_BIND = 2 };

static void need(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(1);
}

static long vmstat(const char *name) {
    char line[128];
    long value = -1;
    FILE *file = fopen("/proc/vmstat", "r");
    need(file != NULL, "/proc/vmstat");
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ') value = atol(line + strlen(name));
    fclose(file);
    return value;
}

static void touch(size_t bytes, const char *node, volatile size_t *touched) {
    unsigned long mask = node ? 1ul << strtoul(node, NULL, 10) : 0;
    FILE *first_to_go = fopen("/proc/self/oom_score_adj", "w");
    need(first_to_go && fputs("1000", first_to_go) >= 0 && fclose(first_to_go) == 0, "oom_score_adj");
    need(!node || syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 64) == 0, "set_mempolicy");
    char *memory = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "mmap");
    memory += HUGE - (uintptr_t)memory % HUGE;
    need(!node || madvise(memory, bytes, MADV_HUGEPAGE) == 0, "madvise");
    for (size_t at = 0; at < bytes; at += PAGE) memory[at] = 1, *touched = at + PAGE;
}

int main(int count, char **words) {
    need(count == 2 || count == 3, "want MIB [NODE]");
    volatile size_t *touched = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(touched != MAP_FAILED, "mmap");
    long huge = vmstat("thp_fault_alloc"), base = vmstat("thp_fault_fallback");
    struct rusage used;
    int status;
    if (fork() == 0) {
        touch(strtoul(words[1], NULL, 10) << 20, words[2], touched);
        _exit(0);
    }
    wait4(-1, &status, 0, &used);
    double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    huge = vmstat("thp_fault_alloc") - huge, base = vmstat("thp_fault_fallback") - base;
    printf("%zu MiB fit, %.0f %% huge%s, %.1f s of CPU\n", *touched >> 20, 100.0 * huge / (huge + base ? huge + base : 1),
           WIFSIGNALED(status) ? ", killed" : "", cpu);
    return 0;
}
