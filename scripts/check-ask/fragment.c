/* Fragments free memory and keeps it so until it is killed: takes nearly all free huge pages one after another, splits each, and
 * gives back all of it but KEEP base pages, chosen at random; then frees LEAVE of them whole. It never holds more than what it
 * keeps and one huge page. Every free huge page has been written to then: under a hypervisor that takes free pages away, a first
 * touch would measure the hypervisor.
 *
 * Where faults compact (thp/defrag), or kcompactd does, new ones come meanwhile, without end.
 *
 *   fragment LEAVE KEEP SEED      prints "ready" with the number of huge pages that it took
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define PAGES 512UL
#define UNIT (PAGE * PAGES)

/* Free blocks of 2 MiB in all zones, a larger one being two. */
static long free_huge(void)
{
	char line[512];
	long sum = 0;
	FILE *file = fopen("/proc/buddyinfo", "r");

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		long counts[11] = { 0 };
		char *at = strstr(line, "zone");
		int order;

		at += strlen("zone");
		at += strspn(at, " ");
		at += strcspn(at, " ");
		for (order = 0; order < 11; order++)
			counts[order] = strtol(at, &at, 10);
		sum += counts[9] + 2 * counts[10];
	}
	fclose(file);
	return sum;
}

/* Keeps `keep` pages of a huge page; 0 where there is none at this place. */
static int fragment(char *unit, unsigned long keep)
{
	unsigned char there, kept[PAGES] = { 0 };
	unsigned long nth, of;

	*unit = 1;
	if (mincore(unit + 64 * PAGE, PAGE, &there) || !(there & 1))
		return 0;
	/* Pages of zeros go with the split from 6.12 on. */
	for (nth = 0; nth < keep; nth++) {
		of = random() % PAGES;
		kept[of] = 1;
		unit[of * PAGE] = 1;
	}
	/* A huge page of which a part may go is split. */
	if (madvise(unit, PAGE, MADV_FREE))
		return 0;
	*unit = 1;
	for (nth = 0; nth < PAGES; nth = of + 1) {
		for (of = nth; of < PAGES && !kept[of]; of++)
			;
		if (of > nth)
			madvise(unit + nth * PAGE, (of - nth) * PAGE, MADV_DONTNEED);
	}
	return 1;
}

/* Free huge pages at which memory counts as fragmented: some lie where programs get none. */
#define FEW 16

int main(int argc, char **argv)
{
	unsigned long leave, keep, length, nth, taken = 0;
	char *area;

	if (argc != 4) {
		fprintf(stderr, "usage: fragment LEAVE KEEP SEED\n");
		return 2;
	}
	leave = strtoul(argv[1], NULL, 10);
	keep = strtoul(argv[2], NULL, 10);
	srandom(strtoul(argv[3], NULL, 10));
	length = (unsigned long)sysconf(_SC_PHYS_PAGES) * PAGE / UNIT * UNIT;
	area = mmap(NULL, length + UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED || madvise(area, length + UNIT, MADV_HUGEPAGE)) {
		perror("fragment");
		return 1;
	}
	area = (char *)(((uintptr_t)area + UNIT - 1) / UNIT * UNIT);
	while (taken < length / UNIT && free_huge() > FEW && fragment(area + taken * UNIT, keep))
		taken++;
	/* The last ones first: what was taken before may have been moved together since. */
	for (nth = 0; nth < leave && nth < taken; nth++)
		madvise(area + (taken - 1 - nth) * UNIT, UNIT, MADV_DONTNEED);
	printf("ready %lu\n", taken);
	fflush(stdout);
	pause();
	return 0;
}
