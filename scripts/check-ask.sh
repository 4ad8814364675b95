#!/usr/bin/env bash
# Holds `order9 ask` against really asking on this host, as root: fragments free memory at random, asks, runs the same program on the
# kernel, and prints both. Keeps less than 1 GiB, but leaves few free huge pages to others for the seconds of a state. Sets
# vm.compaction_proactiveness and thp/defrag meanwhile, and puts them back. Needs a C compiler, jq and chrt.
#
#   scripts/check-ask.sh                                         # 20 states
#   STATES=5 SEED=100 scripts/check-ask.sh
#   SETTLE=40 scripts/check-ask.sh                               # memory rests for so many seconds before it is captured, and again before
#                                                                # the program: a guest reports free pages to its hypervisor that slowly
#   ORDER9=order9 OUT=DIR scripts/check-ask.sh                   # another binary; keep captures, answers and runs
set -euo pipefail
cd "$(dirname "$0")/.."

order9=${ORDER9:-target/release/order9}
states=${STATES:-20}
settle=${SETTLE:-0}
out=${OUT:-$(mktemp -d)}
knob=/proc/sys/vm/compaction_proactiveness
faults=/sys/kernel/mm/transparent_hugepage/defrag
proactiveness=$(cat "$knob")
mode=$(sed 's/.*\[\(.*\)\].*/\1/' "$faults")
trap 'echo "$proactiveness" >"$knob"; echo "$mode" >"$faults"; [ -n "${OUT:-}" ] || rm -rf "$out"' EXIT
RANDOM=${SEED:-1}
mkdir -p "$out"
cc -O1 -o "$out/fragment" scripts/check-ask/fragment.c

# until_still: waits until kcompactd has looked at nothing for a second.
until_still() {
    local before=- now
    until now=$(awk '$1 == "compact_daemon_migrate_scanned" { print $2 }' /proc/vmstat) && [ "$now" = "$before" ]; do
        before=$now
        sleep 1
    done
}

# state NUMBER SIZE_MIB DEFRAG LEAVE KEEP: asks and really asks in memory that holds still, and prints what came out.
state() {
    local dir=$out/$1 holder
    mkdir -p "$dir"
    # Nobody compacts what is being fragmented.
    echo 0 >"$knob"
    echo never >"$faults"
    "$out/fragment" "$4" "$5" "$1" >"$dir/ready" &
    holder=$!
    until [ -s "$dir/ready" ]; do sleep 0.2; done
    echo "$proactiveness" >"$knob"
    echo "$mode" >"$faults"
    # That wakes kcompactd.
    until_still
    sleep "$settle"
    "$order9" capture --calibrate-first -o "$dir/host.o9snap" >"$dir/capture.txt"
    sleep "$settle"
    # Before others: the answer is that of a host where the program has its CPU.
    chrt -f 1 "$order9" bench map-and-write --param "size=${2}M" --param madvise=yes --set "thp/defrag=$3" -o "$dir/real" --force >"$dir/real.txt"
    kill "$holder"
    wait "$holder" 2>/dev/null || true
    "$order9" ask "${2}M" "$dir/host.o9snap" --defrag "$3" --json >"$dir/ask.json"
    "$order9" export "$dir/real" --to csv --table samples -o - >"$dir/samples.csv"
    jq -r '[.huge_percent.mean, .huge_faults.p50_ns // "-", .huge_faults.p95_ns // "-", .obstacle.kind] | @tsv' "$dir/ask.json"
}

# of FILE OPERATION: its values in ascending order.
of() {
    awk -F, -v operation="$2" '$3 == operation { print $5 }' "$1" | sort -g
}

# rank PERCENT: the value that so many percent do not exceed.
rank() {
    awk -v percent="$1" '{ value[NR] = $1 } END { n = int((NR * percent + 99) / 100); print NR ? value[n] : "-" }'
}

defrags=(always defer defer+madvise madvise never)
sizes=(512 1024 2048 3072)
for n in $(seq "$states"); do
    size=${sizes[RANDOM % 4]} defrag=${defrags[RANDOM % 5]} keep=$((1 + RANDOM % 16)) leave=$((size * (RANDOM % 150) / 200 + 8))
    IFS=$'\t' read -r share p50 p95 obstacle < <(state "$n" "$size" "$defrag" "$leave" "$keep")
    samples=$out/$n/samples.csv
    echo "$n $size $defrag $leave $keep $share $(of "$samples" huge) $p50 $(of "$samples" fault-huge | rank 50)" \
        "$p95 $(of "$samples" fault-huge | rank 95) $obstacle"
done | awk '
    # Equal where both are missing.
    function off(a, b) { return a == "-" || b == "-" ? (a == b ? 0 : 100) : b == 0 ? 0 : 100 * (a - b) / b }
    function abs(x) { return x < 0 ? -x : x }
    function us(x) { return x == "-" ? x : sprintf("%.0f", x / 1000) }
    BEGIN {
        print "state  MiB  defrag         left  kept   share, %      p50, us          p95, us       obstacle"
        print "                                        ask   real    ask  real   off  ask   real"
    }
    {
        shares += abs($6 - $7) <= 3
        medians += abs(off($8, $9)) <= 25
        printf "%5d %4d  %-13s %5d  %4d  %5.1f  %5.1f  %5s %5s %4.0f%%  %5s %5s  %s\n", $1, $2, $3, $4, $5, $6, $7, us($8), us($9),
            off($8, $9), us($10), us($11), $12
        fflush()
    }
    END { printf "share within 3 points: %d of %d; median within 25 %%: %d of %d\n", shares, NR, medians, NR }'
