#!/usr/bin/env bash
# Holds `order9 advise` against real kernels: boots guests of several releases in QEMU, has a real program fragment the memory of each, runs
# a program as it is, asks for advice on a capture, does in the guest what the best finding says, line by line, and runs the program again.
# Prints what the copy promised beside what the kernel did. Needs what scripts/captures.sh needs, and jq; two minutes for each guest.
#
#   scripts/check-advise-guests.sh                     # 5.10, 6.1, 6.12 and the newest
#   scripts/check-advise-guests.sh bookworm            # kernels of these suites of Debian
#   CACHE=DIR WANT=600 ORDER9=order9 scripts/check-advise-guests.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guests/guests.sh

want=${WANT:-600}
thp=/sys/kernel/mm/transparent_hugepage

# host ENABLED DEFRAG: a guest with these settings, of whose memory a program has kept every second page of 1500 MiB, written in base pages:
# what it gave back of a huge page would wait for the split of that.
host() {
    ask "echo never >$thp/enabled; hold heap 1500 2; echo 0 >/proc/sys/vm/compaction_proactiveness; echo $1 >$thp/enabled; echo $2 >$thp/defrag" || true
}

# program ADVISES: asks for the memory in the guest, as it comes or advised.
program() { ask "want $want $([ "$1" = no ] || echo 0)"; }

# hold SUITE ENABLED DEFRAG ADVISES
hold() {
    boot "$1"
    host "$2" "$3"
    echo "Linux $(ask 'uname -r'), thp/enabled=$2, thp/defrag=$3, a program of $want MiB that advises $([ "$4" = no ] && echo nothing || echo it)"
    capture "$work/map.o9snap"
    "$order9" advise "$work/map.o9snap" --want "${want}M" --prices guest-disk --param "madvise=$4" --param pause=0s --param hold=0s \
        --json >"$work/advice.json"
    # What no file of the kernel does, order9 does.
    jq -r '.findings[0] // empty | if .linux != [] then .linux[] else .order9 | ltrimstr("sudo ") end' "$work/advice.json" >"$work/commands"
    echo "  as it is:  $(program "$4")"
    follow "$work/commands"
    echo "  then:      $(program "$4")"
    jq -r 'def case: "\(.huge_percent.mean | round) % huge";
        "  the copy:  \(.now | case) as it is, " +
        (.findings[0] | if . then "\(.case | case) with \(.remedy.name)" else "nothing is worth it" end)' "$work/advice.json"
    leave
}

for suite in ${*:-bullseye bookworm trixie sid}; do
    hold "$suite" always never no
    hold "$suite" madvise defer yes
done
