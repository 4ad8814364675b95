#!/usr/bin/env bash
# Holds the lab against real kernels: every experiment of the referee's scenarios in guests with each kernel, and on this host, and
# writes docs/fidelity.md from the verdicts. Takes hours; what is there from an earlier run is kept, so that it can be broken off.
#
#   validate-all.sh [OPTION...]
#
#   --quick         one experiment of each scenario, one run each: minutes
#   --again         run the lab anew against the kernels' runs that are there, and no kernel: minutes
#   --more          boot kernels again for experiments that have fewer runs than --runs says, and keep the runs that are there
#   --kernels LIST  kernels, "5.10 6.1 6.12 7.2 host" by default; host is the one that runs here
#   --runs N        runs of each experiment (3)
#   --prices FILE   prices of the lab (each kernel's own, measured in a guest or on this host once and kept in the folder)
#   --causes FILE   causes of gaps that people have found (docs/fidelity-causes.toml)
#   --binary FILE   order9 to take, with order9-guest beside it or in its tree (both are built)
#   --into FOLDER   folder for verdicts and runs (target/fidelity)
#   --page FILE     page to write (docs/fidelity.md, with --quick page.md in the folder)
set -uo pipefail
cd "$(dirname "$0")/.."

usage() {
    sed -n '5,16s/^# \{0,3\}//p' "$0" >&2
    exit 2
}

order9=''
kernels='5.10 6.1 6.12 7.2 host' runs=3 prices='' causes=docs/fidelity-causes.toml into='' page='' quick=no again=no more=no
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=yes && shift && continue ;;
        --again) again=yes && shift && continue ;;
        --more) more=yes && shift && continue ;;
        --kernels) kernels=${2-} ;;
        --runs) runs=${2-} ;;
        --prices) prices=${2-} ;;
        --causes) causes=${2-} ;;
        --binary) order9=${2-} ;;
        --into) into=${2-} ;;
        --page) page=${2-} ;;
        *) usage ;;
    esac
    [ $# -gt 1 ] || usage
    shift 2
done
if [ $quick = yes ]; then
    runs=1 into=${into:-target/fidelity-quick} page=${page:-$into/page.md}
fi
into=${into:-target/fidelity}
page=${page:-docs/fidelity.md}
mkdir -p "$into"

if [ -z "$order9" ]; then
    order9=target/release/order9
    cargo build --release --locked -p order9-cli &&
        cargo build --locked --profile guest --target x86_64-unknown-linux-musl -p order9-guest || exit 1
fi

# Experiments of a scenario: the names of its cases, one a line.
cases() {
    sed -n '/^\[\[case\]\]/,/^name/s/^name = "\(.*\)"/\1/p' "$1"
}

# Prices of the lab for a kernel: those that were named, else its own; measured once, in the guest that has all that has a price, or on
# this host with files in the folder. With --again no kernel runs: where none were measured there are none.
prices_of() {
    local own=$into/$1/prices.toml
    local where=(--kernel "linux-$1" --machine guest-disk-zram --deterministic --rounds 3)
    [ "$1" != host ] || where=(--files "$into/$1")
    [ -z "$prices" ] || { printf '%s' "$prices" && return; }
    [ $again = no ] || [ -e "$own" ] || return 0
    [ -e "$own" ] || "$order9" calibrate "${where[@]}" -o "$own" >"$own.log" 2>&1 ||
        { printf '%-6s no prices: %s\n' "$1" "$(grep '^order9: ' "$own.log" | tail -n 1)" >&2 && return 1; }
    printf '%s' "$own"
}

# Judges one experiment under one kernel, unless its verdict is there: judge KERNEL SCENARIO CASE. What it cannot do is said, and tried
# again the next time.
judge() {
    local kernel=$1 scenario=$2 case=$3 name place status
    name=$(printf '%s' "$case" | tr -c '[:alnum:]' '-')
    place=$into/$kernel/$name
    local arguments=("$scenario" --case "$case")
    # What a host's programs leave to others ends thpscale with its usual 8/10 of memory, and as many files.
    [ "$kernel.$case" != host.thpscale ] || arguments+=(--param "size=$(awk '/^MemTotal:/ { print int($2 * 6 / 10 / 2 ^ 20) }' /proc/meminfo)G")
    # Some experiments may have more boots than others.
    local boots
    boots=$(compgen -G "$place/*/*/start-*/kernel.json" | wc -l)
    if [ $again = yes ]; then
        compgen -G "$place/*/*/kernel.json" >/dev/null || [ "$boots" -gt 0 ] || return
        arguments+=(--again "$place" --runs "$((boots > 0 ? boots : runs))")
    else
        if [ -e "$place/fidelity.json" ]; then
            [ $more = yes ] && [ "$kernel" != host ] && [ "$boots" -gt 0 ] && [ "$boots" -lt "$runs" ] || return
        fi
        if [ "$kernel" != host ] && [ "$boots" -gt 0 ]; then
            arguments+=(--more --runs "$((boots > runs ? boots : runs))")
        else
            rm -rf "$place"
            arguments+=(--runs "$runs")
        fi
        arguments+=(-o "$place")
        if [ "$kernel" = host ]; then
            [ "$scenario" != scenarios/referee-disk.toml ] || arguments+=(--files "$into/host")
        else
            arguments+=(--kernel "linux-$kernel" --deterministic)
        fi
    fi
    [ -z "$own_prices" ] || arguments+=(--prices "$own_prices")
    local start=$SECONDS
    "$order9" validate "${arguments[@]}" >"$place.log" 2>&1
    status=$?
    # 1 is a verdict: quantities outside their goals.
    if [ $status -gt 1 ] || ! [ -e "$place/fidelity.json" ]; then
        printf '%-6s %-28s no verdict: %s\n' "$kernel" "$case" "$(grep '^order9: ' "$place.log" | tail -n 1)"
        if [ "$boots" -gt 0 ] || [ $again = yes ]; then rm -f "$place/fidelity.json"; else rm -rf "$place"; fi
        return
    fi
    printf '%-6s %-28s %s (%d s)\n' "$kernel" "$case" "$(sed -n 's/.*: \([0-9]* of [0-9]*\) quantities good enough$/\1/p' "$place.log")" \
        $((SECONDS - start))
}

for kernel in $kernels; do
    mkdir -p "$into/$kernel"
    scenarios='scenarios/referee.toml scenarios/referee-2n.toml scenarios/referee-swap.toml scenarios/referee-disk.toml'
    if [ "$kernel" = host ]; then
        # Nodes and swap of this host are what they are.
        scenarios='scenarios/referee.toml scenarios/referee-disk.toml'
    elif [ $again = no ] && ! "$order9" kernels list | grep "^linux-$kernel " | grep -Eqv 'not fetched|without modules'; then
        "$order9" kernels fetch "$kernel" || continue
    fi
    own_prices=$(prices_of "$kernel") || continue
    for scenario in $scenarios; do
        cases "$scenario" | { [ $quick = yes ] && head -n 1 || cat; } | while read -r case; do
            judge "$kernel" "$scenario" "$case" </dev/null
        done
    done
done

files=("$into"/*/*/fidelity.json)
[ -e "${files[0]}" ] || { echo "order9: there is no verdict to write a page from" >&2; exit 2; }
cpu=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)
origin="Generated by \`make validate\` on $(date -u +%Y-%m-%d), on a machine with $(nproc) CPUs ($cpu) under Linux $(uname -r | cut -d- -f1). \
Guests ran with \`--deterministic\`; runs of each experiment: $runs real or more, and three times as many in the lab."
"$order9" fidelity "${files[@]}" --causes "$causes" --origin "$origin" >"$into/page.new" && mv "$into/page.new" "$page" &&
    printf '%d experiments: %s\n' "${#files[@]}" "$page"
