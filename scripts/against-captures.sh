#!/usr/bin/env bash
# order9 against the newest release, from the memory of real kernels: thpscale and hugealloc from every bundled capture.
# One row a capture and workload: success, mean, median and 95th percentile under each policy, and a verdict over all runs.
# Prints the table of docs/results/captures.md. Takes some minutes.
#
#   scripts/against-captures.sh                            # every capture
#   scripts/against-captures.sh numa-6.1 host.o9snap       # some of them, or files of one's own
#   SEEDS=3 THREADS=1,2,4 SHARES="30 45 60" WORKLOADS="thpscale hugealloc" scripts/against-captures.sh
#
# thpscale touches SHARES percent of what is available, by THREADS. A run is a share, a number of threads and a seed. The
# verdict is a paired t-test over runs, at 5 percent: of the success, and of the logarithms of the mean and of the 95th
# percentile. They are of all first touches, 2 MiB each, huge or not, since a policy that refuses what is hard must not look
# fast for it. The mean is the time to touch it all: a percentile does not see a stall that is long and rare enough.
set -euo pipefail
cd "$(dirname "$0")/.."

order9=${ORDER9:-${CARGO_TARGET_DIR:-target}/release/order9}
other=${OTHER:-linux-6.18}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "${ORDER9:-}" ] || cargo build --release --locked -p order9-cli

captures=("$@")
[ $# -gt 0 ] || captures=(tests/data/host-*.o9snap tests/data/captures/*.o9snap)

# available MAP: MemAvailable, in MiB.
available() { tail -c +49 "$1" | { zstd -dcq 2>/dev/null || true; } | grep -ao '"MemAvailable":[0-9]*' | head -n 1 | awk -F: '{ print int($2 / 1024) }'; }

# quantiles DIR OPERATION: mean, median and 95th percentile in us over a run's log.
quantiles() {
    find "$1" -name "$2.log" -exec cat {} + | awk '{ print $NF / 1000 }' | sort -g |
        awk '{ x[NR] = $1; sum += $1 } END { print NR ? sum / NR " " x[int((NR + 1) / 2)] " " x[int((95 * NR + 99) / 100)] : "- - -" }'
}

# mean DIR OPERATION: mean of a run's log.
mean() { find "$1" -name "$2.log" -exec cat {} + | awk '{ sum += $NF } END { print NR ? sum / NR : "-" }'; }

# cells WORKLOAD MAP: a line for each run: success, mean, median and 95th percentile of both policies.
cells() {
    local run=$work/run iteration policy share threads
    case $1 in
    thpscale)
        for share in ${SHARES:-30 45 60}; do
            experiment thpscale "$2" --param madvise=yes --threads "${THREADS:-1,2,4}" \
                --param "size=$(at_least 64 $(($(available "$2") * share / 100)))M" || return
            for iteration in "$run/order9"/iter-*; do
                for threads in $(tr ',' ' ' <<<"${THREADS:-1,2,4}"); do
                    for policy in "$other" order9; do
                        echo "$(mean "$run/$policy/${iteration##*/}" "huge-$threads")" \
                            "$(quantiles "$run/$policy/${iteration##*/}" "fault-both-$threads")"
                    done | paste -sd' '
                done
            done
        done
        ;;
    hugealloc)
        experiment hugealloc "$2" || return
        for iteration in "$run/order9"/iter-*; do
            for policy in "$other" order9; do
                echo "$(mean "$run/$policy/${iteration##*/}" "Share of free memory allocated")" \
                    "$(quantiles "$run/$policy/${iteration##*/}" alloc)"
            done | paste -sd' '
        done
        ;;
    esac
}

at_least() { echo $(($2 > $1 ? $2 : $1)); }

experiment() {
    local workload=$1 map=$2
    shift 2
    rm -rf "$work/run"
    "$order9" run "$workload" --machine "$map" --policy "$other" --policy order9 --seeds "${SEEDS:-1}" "$@" \
        -o "$work/run" --force >/dev/null 2>"$work/err" || { tail -n 1 "$work/err" >&2; return 1; }
}

# Lines of cells to a row. The critical values are those of Student's t at 5 percent, two-sided.
row() {
    awk -v words="$1" '
        function verdict(sum, square, sign,    mean, spread) {
            if (n < 2) return "one run"
            mean = sum / n
            spread = sqrt((square - n * mean * mean > 0 ? square - n * mean * mean : 0) / (n - 1) / n)
            if ((mean < 0 ? -mean : mean) <= critical * spread || mean == 0) return "not told apart"
            return mean * sign > 0 ? "better" : "worse"
        }
        $1 != "-" && $5 != "-" && $4 != "-" && $8 != "-" {
            n++
            for (at = 1; at <= 8; at++) sum[at] += $at
            gain = $5 - $1; gains += gain; gains2 += gain * gain
            mean = log(($6 + 0.001) / ($2 + 0.001)); means += mean; means2 += mean * mean
            ratio = log(($8 + 0.001) / ($4 + 0.001)); ratios += ratio; ratios2 += ratio * ratio
        }
        END {
            if (!n) { printf "| %s | - | - | - | - | nothing to compare |\n", words; exit }
            split("12.71 4.30 3.18 2.78 2.57 2.45 2.36 2.31 2.26 2.23 2.20 2.18 2.16 2.14 2.13 2.12 2.11 2.10 2.09", t, " ")
            critical = n - 1 in t ? t[n - 1] : 2.05
            printf "| %s | %.1f; %.1f | %.0f; %.0f | %.0f; %.0f | %.0f; %.0f | %s; %s; %s |\n", words, sum[5] / n, sum[1] / n,
                sum[6] / n, sum[2] / n, sum[7] / n, sum[3] / n, sum[8] / n, sum[4] / n,
                verdict(gains, gains2, 1), verdict(means, means2, -1), verdict(ratios, ratios2, -1)
        }'
}

echo "| workload, capture | success, percent | mean, us | median, us | 95th percentile, us | order9 in success; in the mean; in the 95th percentile |"
echo "|---|---|---|---|---|---|"
for capture in "${captures[@]}"; do
    [ -e "$capture" ] || capture=tests/data/captures/$capture.o9snap
    for workload in ${WORKLOADS:-thpscale hugealloc}; do
        cells "$workload" "$capture" >"$work/cells" || continue
        row "$workload, $(basename "$capture" .o9snap)" <"$work/cells"
    done
done
