#!/usr/bin/env bash
# Holds `order9 advise` against doing what it says on this host, as root: a program holds memory in base pages, advice is asked for, the
# program's memory is collapsed, and its loads are measured before and after; then a program that advises nothing is started before and
# after `order9 apply`, and `order9 undo` puts the setting back. Takes SIZE MiB and WANT, and changes transparent_hugepage/enabled for the
# time of one program. Needs a C compiler and jq.
#
#   scripts/check-advise.sh
#   SIZE=1024 WANT=512M ORDER9=order9 scripts/check-advise.sh
set -euo pipefail
cd "$(dirname "$0")/.."

order9=${ORDER9:-target/release/order9}
size=${SIZE:-1024}
want=${WANT:-512M}
out=$(mktemp -d)
holder=
trap '[ -z "$holder" ] || kill "$holder" 2>/dev/null; rm -rf "$out"' EXIT
cc -O1 -o "$out/holder" scripts/check-advise/holder.c

mkfifo "$out/ask"
"$out/holder" "$size" <"$out/ask" >"$out/said" &
holder=$!
exec 3>"$out/ask"
until grep -q ready "$out/said"; do sleep 0.2; done

# measure: the mean time of a load, in ns.
measure() {
    local lines
    lines=$(wc -l <"$out/said")
    echo measure >&3
    until [ "$(wc -l <"$out/said")" -gt "$lines" ]; do sleep 0.1; done
    tail -n 1 "$out/said"
}

# program: huge share in percent and time of an access in ns of a program that advises nothing.
program() {
    "$order9" bench map-and-write --param "size=$want" --param madvise=no -o "$out/real" --force --json >"$out/real.json"
    jq -r '[.report.tables[].rows[]] | map({(.operation): .cells[0].value}) | add | "\(.huge) % huge"' "$out/real.json"
}

echo "Program in base pages, ${size} MiB, process $holder:"
"$order9" advise --want "$want" --seeds 2 --json >"$out/advice.json"
of='.findings + .others | map(select(.remedy.collapse.pid == '"$holder"')) | first'
jq -r "$of"' | "  advice: \(.remedy.name): \(.verdict), \(.order9); holder_ns \(.case.costs.holder_ns / 1e9 | round) s of a minute, requests \(.case.costs.requests_ns / 1e6 | round) ms"' \
    "$out/advice.json"
before=$(measure)
"$order9" collapse "$holder" | sed 's/^/  /'
echo "  load before: $before ns, after: $(measure) ns"

echo "Program that advises nothing, $want:"
"$order9" advise --want "$want" --seeds 2 --param madvise=no --param pause=0s --param hold=0s --json >"$out/advice.json"
jq -r '"  advice: \(.sentence)"' "$out/advice.json"
echo "  before: $(program)"
"$order9" apply --set thp.enabled=always | sed 's/^/  /'
echo "  after:  $(program)"
"$order9" undo | sed 's/^/  /'
echo "  undone: $(cat /sys/kernel/mm/transparent_hugepage/enabled)"
