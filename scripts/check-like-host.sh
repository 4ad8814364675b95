#!/usr/bin/env bash
# Holds the workload `like-host` against this host, as root: records a look, then the minute after it, replays the look in the lab for as
# long, and prints faults, allocations and frees for each second of both. Changes nothing. Needs awk.
#
#   scripts/check-like-host.sh                          # 3 rounds of 30 s and 60 s
#   ROUNDS=5 LOOK=60s THEN=60s scripts/check-like-host.sh
#   scripts/check-like-host.sh make -j2                 # while a command runs, over and over
#   ORDER9=order9 OUT=DIR scripts/check-like-host.sh    # another binary; keep recordings and runs
set -euo pipefail
order9=$(realpath "${ORDER9:-$(dirname "$0")/../target/release/order9}")
look=${LOOK:-30s} then=${THEN:-60s}
out=${OUT:-$(mktemp -d)}
[ -n "${OUT:-}" ] || trap 'rm -rf "$out"' EXIT
mkdir -p "$out"

if [ $# -gt 0 ]; then
    # In a group of processes of its own, all of which end with the script.
    set -m
    (while :; do "$@" >"$out/command.txt" 2>&1 || true; done) &
    busy=$!
    set +m
    trap 'kill -- "-$busy"; [ -n "${OUT:-}" ] || rm -rf "$out"' EXIT
    sleep 5
fi

# rates DIR: faults, pages allocated and pages freed for each second, while the replay, or the host, was at work.
rates() {
    "$order9" export "$1" --to csv --table counters -o - | awk -F, '
        $4 == "run" || $4 == "replay" {
            if (!($6 in first)) first[$6] = $7
            last[$6] = $7
            if ($3 + 0 > time) time = $3 + 0
        }
        END {
            for (name in last) if (name ~ /^pgalloc_/) allocated += last[name] - first[name]
            s = time / 1e9
            printf "%.0f %.0f %.0f\n", (last["pgfault"] - first["pgfault"]) / s, allocated / s, (last["pgfree"] - first["pgfree"]) / s
        }'
}

printf '%-6s %-12s %10s %10s %10s %8s\n' round "each second" look host replay off
for round in $(seq "${ROUNDS:-3}"); do
    dir=$out/$round
    "$order9" record -o "$dir/look" --for "$look" --events 2>"$dir.look.txt"
    "$order9" record -o "$dir/then" --for "$then" 2>"$dir.then.txt"
    "$order9" run like-host --param profile="$dir/look" --param time="$then" --seeds 1 -o "$dir/replay" >"$dir.replay.txt"
    read -r -a looked < <(rates "$dir/look")
    read -r -a real < <(rates "$dir/then")
    read -r -a lab < <(rates "$dir/replay")
    names=(faults allocated freed)
    for n in 0 1 2; do
        off=$(awk -v real="${real[n]}" -v lab="${lab[n]}" 'BEGIN { printf "%+.0f %%", real ? 100 * (lab - real) / real : 0 }')
        printf '%-6s %-12s %10s %10s %10s %8s\n' "$round" "${names[n]}" "${looked[n]}" "${real[n]}" "${lab[n]}" "$off"
    done
done
