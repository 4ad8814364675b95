#!/usr/bin/env bash
# Holds `order9 guard` against the kernel's own proactive compaction on this host, as root: fragments free memory by a program, lets the one
# or the other gather huge pages for a while, and prints what came of it and what it cost. The kernel at each value is followed by a guard
# whose goal is what the kernel has gathered; then come guards that gather all they can. Each row begins with memory that was compacted
# whole and then fragmented anew. Sets vm.compaction_proactiveness, vm.percpu_pagelist_high_fraction and thp/defrag meanwhile, and puts
# them back. Needs a C compiler.
#
#   scripts/check-guard.sh                                  # 30 s each
#   SECONDS_EACH=60 KEEP=8 LEAVE=64 VALUES="20 100" BUDGETS="2 5" scripts/check-guard.sh
#   VALUES="" LOGS=1 scripts/check-guard.sh                   # guards alone, with what they log
#   ORDER9=order9 scripts/check-guard.sh                    # another binary
set -euo pipefail
cd "$(dirname "$0")/.."

order9=${ORDER9:-target/release/order9}
each=${SECONDS_EACH:-30}
out=$(mktemp -d)
knob=/proc/sys/vm/compaction_proactiveness
defrag=/sys/kernel/mm/transparent_hugepage/defrag
lists=/proc/sys/vm/percpu_pagelist_high_fraction
before=$(cat "$knob")
high=$(cat "$lists")
faults=$(sed 's/.*\[\(.*\)\].*/\1/' "$defrag")
trap 'echo "$before" >"$knob"; echo "$faults" >"$defrag"; echo "$high" >"$lists"; rm -rf "$out"; kill $(jobs -p) 2>/dev/null || true' EXIT
cc -O1 -o "$out/fragment" scripts/check-ask/fragment.c

huge() { awk '{ sum += $14 + 2 * $15 } END { print sum }' /proc/buddyinfo; }
# CPU time of all kcompactds, in ms.
kcompactd() { cat $(grep -l '^kcompactd[0-9]*$' /proc/[0-9]*/comm 2>/dev/null | sed 's/comm$/schedstat/') | awk '{ sum += $1 } END { printf "%.0f", sum / 1e6 }'; }
moved() { awk '$1 == "pgmigrate_success" { print $2 }' /proc/vmstat; }

# row NAME PROACTIVENESS [CONFIG]: fragments memory, waits, and prints a row.
row() {
    echo 0 >"$knob"
    echo never >"$defrag"
    echo 1 >/proc/sys/vm/compact_memory
    rm -f "$out/ready"
    "$out/fragment" "${LEAVE:-64}" "${KEEP:-4}" 1 >"$out/ready" &
    local holder=$! guard=
    until [ -s "$out/ready" ]; do sleep 0.2; done
    local free=$(huge) cpu=$(kcompactd) pages=$(moved) sum=0 n=0
    echo "$2" >"$knob"
    if [ -n "${3:-}" ]; then
        printf '%s\n[metrics]\ntextfile = "%s/guard.prom"\n' "$3" "$out" >"$out/guard.toml"
        rm -f /run/order9/guard.budget # Each guard is the first one.
        "$order9" guard --config "$out/guard.toml" 2>"$out/guard.log" &
        guard=$!
    fi
    for _ in $(seq "$each"); do
        sleep 1
        sum=$((sum + $(huge))) n=$((n + 1))
    done
    local steps=0 looks=0
    if [ -n "$guard" ]; then
        sleep 5 # The textfile is as old as that.
        steps=$(awk '$1 == "order9_guard_cpu_seconds_total" { printf "%.0f", 1000 * $2 }' "$out/guard.prom")
        looks=$(awk '{ printf "%.0f", $1 / 1e6 }' "/proc/$guard/schedstat")
        kill "$guard"
        wait "$guard" || true
    fi
    ended=$(huge)
    printf '%-28s %7d %7d %7d %8d %8d %8d\n' "$1" "$free" "$((sum / n))" "$ended" "$(($(kcompactd) - cpu + steps))" "$looks" \
        "$((($(moved) - pages) / 256))"
    [ -z "${LOGS:-}" ] || [ -z "$guard" ] || cat "$out/guard.log"
    kill "$holder"
    wait "$holder" 2>/dev/null || true
}

# Per-CPU lists take a gigabyte of what a holder frees, and give it back in half a minute: it merges with nothing until then, and would be
# gained by whoever is at work at that moment.
echo 1000000 >"$lists"

printf '%-28s %7s %7s %7s %8s %8s %8s\n' 'who compacts' 'before' 'mean' 'end' 'CPU, ms' 'looks,ms' 'moved, M'
for value in ${VALUES-20 40 60 80 100}; do
    row "proactiveness $value" "$value"
    row "guard, goal of $ended" 0 "$(printf 'goal = %d\n[budget]\ncpu = "5%%"' "$ended")"
done
for cpu in ${BUDGETS-1 2 5}; do
    row "guard, $cpu% CPU" 0 "$(printf 'goal = "100%%"\n[budget]\ncpu = "%s%%"' "$cpu")"
done
