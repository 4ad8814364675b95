#!/usr/bin/env bash
# What `make run` does: the memory of this host (or of a bundled one) as it is, then what two policies make of it.
set -euo pipefail
cd "$(dirname "$0")/.."

bundled=tests/data/host-fragmented.o9snap
order9=${CARGO_TARGET_DIR:-target}/release/order9
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --release --locked -p order9-cli
# Reading one word is the test: the file's mode alone does not tell what a container or lockdown forbids.
if head -c 8 /proc/kpageflags >/dev/null 2>&1; then
    "$order9" inspect
    map=$work/host.o9snap
    "$order9" capture -o "$map" >/dev/null 2>&1
else
    echo "order9: /proc/kpageflags cannot be read here (that takes Linux and root): showing $bundled, taken from a real host"
    "$order9" inspect "$bundled"
    map=$bundled
fi

cat <<'TEXT'

From this very memory: 1, 2 and 4 threads touch 4 GiB that asked for huge pages, under the rules of Linux 6.18 and
under those of order9, on a simulated machine, three times each with another seed.

TEXT
"$order9" run thpscale --machine "$map" --policy linux-6.18 --policy order9 --param madvise=yes --param size=4G \
    --threads 1,2,4 --seeds 3 -o "$work/run" >/dev/null
rows='^(Amean +fault-(huge|both)|Mean access|Percentage (huge|tlb-miss)|Ops (Huge pages gained|Pages moved|Least moves|Moved by|Scanned by))'
awk -v rows="$rows" '
    /^(thpscale|Compaction for)/ { heading = 3; if (NR > 1) print "" }
    / against linux-/ { verdict = 1; print "" }
    /^$/ { verdict = 0 }
    verdict || heading-- > 0 || $0 ~ rows { print }
' "$work/run/report.txt"
echo

cat <<'TEXT'
In words: fault-huge is the mean time of a fault that got a huge page, fault-both of all faults, in us; the share of huge
ones is below. Access is what a load at random from the touched memory takes, in ns, and below that how many of them miss
the TLB: what huge pages are for. Huge pages gained are 2 MiB blocks that compaction emptied for them. Moved by least is
how many times more pages it moved than the cheapest blocks would have taken: every one costs about a microsecond of
somebody's time. Nothing gained means that free huge pages were enough. Values are means of three runs with their 95 %
interval, or the least and the most of a run; what is better or worse by a test over runs is said last.
`order9 run thpscale --machine ...` prints all of it; see docs/running.md.
TEXT
