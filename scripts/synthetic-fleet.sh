#!/usr/bin/env bash
# Makes up snapshots of hosts that differ as those of a fleet do, for measurements of `order9 fleet`. Equal arguments give equal files.
#
#   scripts/synthetic-fleet.sh DIR 1000 24G        # so many hosts of that size
#   ORDER9=order9 scripts/synthetic-fleet.sh ...   # another binary
set -euo pipefail
order9=$(realpath "${ORDER9:-$(dirname "$0")/../target/release/order9}")
out=$1 hosts=$2 size=$3
mkdir -p "$out"

# Kinds of hosts, and how many of ten each is: pattern, fill, unmovable, huge, page cache, scattered share of free memory, contamination.
kinds=(
    "aged 0.70 0.04 0.10 0.10 0.60 0.30"
    "aged 0.85 0.06 0.05 0.15 0.90 0.50"
    "aged 0.55 0.03 0.20 0.10 0.40 0.20"
    "contaminated 0.75 0.02 0.00 0.20 1.00 0.80"
    "contaminated 0.90 0.03 0.00 0.10 1.00 0.90"
    "clustered 0.60 0.02 0.30 0.05 0.30 0.00"
    "clustered 0.65 0.02 0.35 0.05 0.30 0.00"
    "random 0.80 0.05 0.00 0.30 1.00 0.00"
    "packed 0.40 0.01 0.25 0.05 0.10 0.00"
    "packed 0.95 0.02 0.60 0.05 0.10 0.00"
)

# A share with up to 4 points added, by the number of the host.
near() { awk -v share="$1" -v nth="$2" 'BEGIN { printf "%.3f", share * (1 + 0.04 * (nth % 7) / 7) }'; }

make_host() {
    read -r pattern fill unmovable huge cache degree contamination <<<"${kinds[$(($1 % ${#kinds[@]}))]}"
    "$order9" snapshot synth -o "$out/host-$(printf %05d "$1").o9snap" --size "$size" --seed "$1" --pattern "$pattern" \
        --fill "$(near "$fill" "$1")" --unmovable "$(near "$unmovable" "$(($1 / 7))")" --huge "$(near "$huge" "$(($1 / 3))")" \
        --clean-cache "$cache" --degree "$degree" --contamination "$contamination" >/dev/null
}

for ((nth = 0; nth < hosts; nth++)); do
    [ -e "$out/host-$(printf %05d "$nth").o9snap" ] || make_host "$nth"
done
