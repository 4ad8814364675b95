#!/usr/bin/env bash
# Runs every workload on every built-in machine under old and new policies, each in a process of its own, and says what
# became of each: a line per cell, with the CPU seconds it took. Exits with 1 unless all end well: with status 0, or since
# memory ran out, as it does where files lie in memory.
#
#   matrix.sh [OPTION...] BINARY
#
#   --small         small parameters, on copies of the machines that have 256 MiB on each node
#   --one-in N      one in N of the policies for each workload on each machine, by turns (1)
#   --against OTHER each cell runs once more, and once with this binary: the three digests must be equal
#   --seeds N       seeds of each cell (1)
#   --check N       check all laws after every N steps (0, never)
#   --only PATTERN  only cells whose "WORKLOAD MACHINE POLICY" has a match
#   --seconds N     how long a run may take (3600)
#   --memory GIB    how much memory of this host a run may take (16)
#   --jobs N        cells at the same time (1)
set -uo pipefail
TIMEFORMAT=%U
# The oldest release, one from the middle, the newest, and the index.
POLICIES=(linux-4.4 linux-5.3-shrinker linux-6.18 order9)

usage() {
    sed -n '6,17s/^# \{0,3\}//p' "$0" >&2
    exit 2
}

small=no one_in=1 against='' seeds=1 check=0 only=. seconds=3600 memory=16 jobs=1
while [ $# -gt 1 ]; do
    case $1 in
        --small) small=yes && shift && continue ;;
        --one-in) one_in=$2 ;;
        --against) against=$2 ;;
        --seeds) seeds=$2 ;;
        --check) check=$2 ;;
        --only) only=$2 ;;
        --seconds) seconds=$2 ;;
        --memory) memory=$2 ;;
        --jobs) jobs=$2 ;;
        *) usage ;;
    esac
    shift 2
done
[ $# = 1 ] && [ -x "$1" ] || usage
order9=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Writes a machine like the built-in one, but with little memory: 256 MiB on each of two nodes, less where there are more.
small_machine() {
    local nodes cpus distances
    nodes=$("$order9" machines show "$1" | grep -c '^\[\[nodes\]\]')
    printf 'base = "%s"\n' "$1"
    printf '\n[reserved.boot_tables]\nsize = "4 MiB"\nsource = "A small machine of the matrix."\n'
    # A node without CPUs stays one.
    "$order9" machines show "$1" | grep -E '^(cpus|distances) = ' | while read -r cpus && read -r distances; do
        [ "$cpus" = 'cpus = 0' ] || cpus='cpus = 2'
        printf '\n[[nodes]]\nmemory = "%d MiB"\n%s\n%s\n' $((nodes > 2 ? 128 : 256)) "$cpus" "$distances"
    done
}

# What makes a workload small; one that is not named here runs with its defaults.
small_parameters() {
    case $1 in
        frag-mix) echo duration=2s rate=100 ;;
        fsmark) echo processes=2 files=4000 iterations=4 ;;
        hugealloc-unmovable) echo watch=5s ;;
        stream-reader) echo time=1s ;;
        numa-access-latency) echo size=32M ;;
        stutter) echo copies=1 file=64M hog=96M probe=4M ;;
        thpfioscale) echo size=128M threads=2 ;;
        thpchallenge | thpscale) echo size=128M threads=1,2 ;;
        uptime) echo days=1 rate_percent=1 ;;
        usemem) echo size=128M loops=2 iterations=1 threads=2 ;;
    esac
}

# Runs a cell once with a binary; its digest goes into a file of the cell's own folder, what it says into another.
run_cell() {
    local binary=$1
    (
        ulimit -v $((memory << 20))
        timeout "$seconds" "$binary" "${arguments[@]}" 2>"$own/errors" | sed -n 's/^digest //p' >"$own/digest"
        exit "${PIPESTATUS[0]}"
    )
}

# All runs of a cell; sets `text`.
try_cell() {
    local binary status first=''
    for binary in "$order9" ${against:+"$order9" "$against"}; do
        run_cell "$binary"
        status=$?
        case $status in
            0) ;;
            2) sed -n 's/.*\(memory ran out after [^:;]*\).*/\1/p' "$own/errors" >"$own/digest" ;;&
            2) [ -s "$own/digest" ] || { text="FAILED: $(head -3 "$own/errors" | tr '\n' ' ')" && return 1; } ;;
            124) text="FAILED: not through after $seconds s" && return 1 ;;
            *) text="FAILED with status $status: $(grep -v '^$' "$own/errors" | head -3 | tr '\n' ' ')" && return 1 ;;
        esac
        [ -s "$own/digest" ] || { text="FAILED: no digest" && return 1; }
        first=${first:-$(<"$own/digest")}
        [ "$first" = "$(<"$own/digest")" ] || { text="FAILED: $binary has another digest" && return 1; }
    done
    text="ok $first"
}

# Runs a cell and prints its line: NUMBER WORKLOAD MACHINE POLICY.
cell() {
    local own=$folder/$1 workload=$2 machine=$3 policy=$4 parameter status text arguments
    mkdir "$own"
    arguments=(run "$workload" --policy "$policy" --seeds "$seeds" --check "$check" --machine "$machine")
    if [ "$small" = yes ]; then
        arguments[-1]=$folder/$machine.toml
        for parameter in $(small_parameters "$workload"); do arguments+=(--param "$parameter"); done
    fi
    { time try_cell; } 2>"$own/cpu"
    status=$?
    printf '%-20s %-12s %-19s %8.1f s  %s\n' "$workload" "$machine" "$policy" "$(tail -1 "$own/cpu")" "$text"
    [ "$status" != 0 ] || touch "$own/passed"
}

cells=0 turn=0
workloads=$("$order9" workloads | sed -n 's/^\([a-z][a-z0-9-]*\): .*/\1/p')
for machine in $("$order9" machines list | awk 'NR > 1 { print $1 }'); do
    [ "$small" = no ] || small_machine "$machine" >"$folder/$machine.toml"
    # A machine begins with the policies that the one before left out.
    turn=$((turn + 1))
    for workload in $workloads; do
        turn=$((turn + 1))
        for policy in "${POLICIES[@]}"; do
            turn=$((turn + 1))
            [ $((turn % one_in)) = 0 ] || continue
            [[ "$workload $machine $policy" =~ $only ]] || continue
            cells=$((cells + 1))
            while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do wait -n; done
            cell "$cells" "$workload" "$machine" "$policy" &
        done
    done
done
wait
# A cell that came to no verdict has failed as well.
failed=$((cells - $(find "$folder" -mindepth 2 -name passed | wc -l)))
echo "matrix: $cells cells, $failed failed"
[ "$cells" -gt 0 ] && [ "$failed" = 0 ]
