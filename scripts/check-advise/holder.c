/* A program whose memory came in base pages, as one that started when memory was fragmented: writes MIB MiB in base pages, advises them
 * MADV_HUGEPAGE then, and measures loads at random, each waiting for the one before, whenever a line comes on standard input.
 *
 *   holder MIB        prints "ready", then for each line the mean CPU time of a load in ns
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define UNIT (2UL << 20)
#define LOADS 2000000UL

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static double load(const volatile uint64_t *area, uint64_t words)
{
	uint64_t at = 88172645463325252ULL, nth;
	double begin = cpu_ns();

	for (nth = 0; nth < LOADS; nth++) {
		at ^= at << 13;
		at ^= at >> 7;
		at ^= at << 17;
		/* All words are 0: the next address waits for this one all the same. */
		at += area[at % words];
	}
	return (cpu_ns() - begin) / LOADS;
}

int main(int argc, char **argv)
{
	char *area, line[64];
	size_t length;

	if (argc != 2 || !(length = strtoul(argv[1], NULL, 10) << 20)) {
		fprintf(stderr, "usage: holder MIB\n");
		return 2;
	}
	area = mmap(NULL, length + UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED) {
		perror("holder");
		return 1;
	}
	area = (char *)(((uintptr_t)area + UNIT - 1) / UNIT * UNIT);
	madvise(area, length, MADV_NOHUGEPAGE);
	memset(area, 0, length);
	madvise(area, length, MADV_HUGEPAGE);
	load((uint64_t *)area, length / 8);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%.1f\n", load((uint64_t *)area, length / 8));
		fflush(stdout);
	}
	return 0;
}
