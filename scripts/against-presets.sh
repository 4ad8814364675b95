#!/usr/bin/env bash
# order9 against every other built-in policy: what it moves, looks at, gets, and how long that takes, beside the best of
# the others. Prints the table of docs/results/presets.md. Takes some minutes.
#
#   scripts/against-presets.sh                  # all others
#   scripts/against-presets.sh linux-6.18       # or these
set -euo pipefail
cd "$(dirname "$0")/.."

order9=${CARGO_TARGET_DIR:-target}/release/order9
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --release --locked -p order9-cli
policies=("$@")
if [ $# -eq 0 ]; then
    for file in policies/linux-*.toml; do policies+=("$(basename "$file" .toml)"); done
fi
policies+=(order9)

# Two small machines: one of a server that cannot swap, one of a desktop that can.
machine() {
    printf 'base = "%s"\nsummary = "%s"\n[[nodes]]\nmemory = "%s"\ncpus = 4\ndistances = [10]\n' "$2" "$1" "$3" >"$work/$1.toml"
}
machine no-swap xeon-2s "4 GiB"
machine swap desktop-8g "2 GiB"

# Numbers of a row of the report, one for each policy.
row() {
    awk -v label="$1" 'index($0, label) == 1 {
        $0 = substr($0, length(label) + 1)
        gsub(/\*? *\([^)]*\)|\* *-?[0-9.]+%\*/, "")
        print; exit
    }' "$work/run/report.txt"
}

# The median and the 95th percentile of an operation under a policy, in us; "-" where it never happened.
quantiles() {
    local log
    log=$(find "$work/run/$1" -name "$2.log")
    [ -n "$log" ] || { echo "- -"; return; }
    awk '{ print $NF / 1000 }' "$log" | sort -g |
        awk '{ x[NR] = $1 } END { if (NR) print x[int((NR + 1) / 2)], x[int((95 * NR + 99) / 100)]; else print "- -" }'
}

# experiment WORDS OPERATION SUCCESS ARGUMENTS...: runs it and prints a row of the table.
experiment() {
    local words=$1 operation=$2 success=$3 policy
    shift 3
    "$order9" run "$@" "${policies[@]/#/--policy=}" --seeds 1 -o "$work/run" --force >/dev/null 2>"$work/err" || {
        # The others end as they did; there is nothing to compare with.
        echo "| $words | $(tail -n 1 "$work/err") | | | | |"
        return
    }
    {
        row "Ops Moved by least"
        row "Ops Scanned by huge page"
        row "Ops Pages moved"
        row "Ops Huge pages gained"
        row "$success"
        for policy in "${policies[@]}"; do quantiles "$policy" "$operation"; done
    } | awk -v words="$words" -v names="${policies[*]}" '
        function best(list, sign,    at, found) {
            for (at = 1; at < n; at++)
                if (list[at] > 0 && (!found || sign * list[at] < sign * list[found])) found = at
            return list[found] " (" name[found] ")"
        }
        function take(list,    at) { for (at = 1; at <= NF; at++) list[at] = $at }
        BEGIN { n = split(names, name, " "); for (at in name) sub(/^linux-/, "", name[at]) }
        NR == 1 { take(least) } NR == 2 { take(scanned) } NR == 3 { take(moved) } NR == 4 { take(gained) } NR == 5 { take(got) }
        NR > 5 { median[NR - 5] = $1; tail[NR - 5] = $2 }
        END {
            limit = gained[n] > 0 ? 512 + 2 * moved[n] / gained[n] : 512
            printf "| %s | %s; %s | %.0f of %.0f; %s | %s; %s | %s; %s | %s; %s |\n", words,
                least[n], best(least, 1), scanned[n], limit, best(scanned, 1),
                got[n], best(got, -1), median[n], best(median, 1), tail[n], best(tail, 1)
        }'
}

echo "| experiment | moved by least | scanned for each huge page | success, percent | median, us | 95th percentile, us |"
echo "|---|---|---|---|---|---|"
for machine in no-swap swap; do
    for pattern in first stride random; do
        experiment "hugealloc, $pattern, $machine" alloc "Ops Share of free memory allocated" \
            hugealloc --machine "$work/$machine.toml" --param "pattern=$pattern"
    done
    experiment "frag-mix, $machine" alloc "Ops Huge pages got" frag-mix --machine "$work/$machine.toml"
done
for map in fragmented fresh; do
    host=tests/data/host-$map.o9snap
    experiment "hugealloc, $map host" alloc "Ops Share of free memory allocated" hugealloc --machine "$host"
    for threads in 1 2; do
        experiment "thpscale, $map host, $threads threads" "fault-huge-$threads" "Percentage huge-$threads" \
            thpscale --machine "$host" --param madvise=yes --param size=4G --threads "$threads"
    done
done
