#!/usr/bin/env bash
# Holds the advice to move a control group against a real kernel: boots guests with two nodes in QEMU, captures each, asks for advice on the
# capture, runs a program in the guest as it is, does there what the advice says, line by line, and runs the program again. Prints what the
# copy promised beside what the kernel did. Needs what scripts/captures.sh needs, and jq; a minute for each guest.
#
#   scripts/check-move.sh                      # 6.12
#   scripts/check-move.sh bullseye trixie      # kernels of these suites of Debian
#   CACHE=DIR WANT=600 ORDER9=order9 scripts/check-move.sh
#   COMMANDS="a line each" scripts/check-move.sh  # other commands than the advice
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
cache=${CACHE:-$work/cache}
order9=${ORDER9:-${CARGO_TARGET_DIR:-target}/release/order9}
want=${WANT:-600}
guest=
trap '[ -z "$guest" ] || kill "$guest" 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$cache"

initrd() {
    local root=$work/root file
    mkdir -p "$root/bin"
    cp scripts/check-move/init "$root/init"
    cp "$(command -v busybox)" "$root/bin/busybox"
    strip -o "$root/bin/order9" "$order9"
    cc -O1 -static -o "$root/bin/hold" scripts/captures/hold.c
    cc -O1 -static -o "$root/bin/want" scripts/check-move/want.c
    ldd "$order9" | grep -o '/[^ ]*' | while read -r file; do
        mkdir -p "$root$(dirname "$file")"
        cp -L "$file" "$root$file"
    done
    (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd"
}

# boot SUITE: a guest of two nodes, which answers on file descriptors 4 and 5.
boot() {
    rm -f "$work"/port.*
    mkfifo "$work/port.in" "$work/port.out"
    local nodes=()
    for node in 0 1; do
        nodes+=(-object "memory-backend-ram,id=m$node,size=1024M" -numa "node,nodeid=$node,cpus=$node,memdev=m$node")
    done
    timeout 600 qemu-system-x86_64 -accel tcg,thread=single -cpu max,-cx16 -smp 2 -m 2048 "${nodes[@]}" -numa dist,src=0,dst=1,val=21 \
        -kernel "$cache/$1/vmlinuz" -initrd "$work/initrd" -no-reboot -display none -net none \
        -append "console=ttyS0 quiet panic=-1 no_timer_check nowatchdog" \
        -serial "file:$work/console" -serial "pipe:$work/port" &
    guest=$!
    exec 4>"$work/port.in" 5<"$work/port.out"
    answer >/dev/null
}

# answer: what the guest prints, up to the status, which is the function's own.
answer() {
    local line
    while IFS= read -r -t 240 line <&5; do
        case $line in "status "*) return "${line#status }" ;; esac
        printf '%s\n' "$line"
    done
    tail -n 5 "$work/console" >&2
    exit 1
}
ask() { printf '%s\n' "$1" >&4; answer; }

# pages: MiB of the group on each node.
pages() {
    ask 'for pid in $(cat /sys/fs/cgroup/batch/cgroup.procs); do cat /proc/$pid/numa_maps; done' | grep -o 'N[01]=[0-9]*' |
        awk -F '[N=]' '{ sum[$2] += $3 } END { printf "%d MiB on node 0, %d MiB on node 1\n", sum[0] / 256, sum[1] / 256 }'
}

initrd
for suite in ${*:-trixie}; do
    scripts/captures/kernel.sh "$cache" "$suite"
    boot "$suite"
    echo "Linux $(ask 'uname -r')"
    ask 'order9 capture --owners -o /tmp/map >/tmp/said 2>&1 && base64 /tmp/map' | base64 -d >"$work/map.o9snap"
    echo "  /batch before:  $(pages)"
    echo "  as it is:       $(ask "taskset 1 want $want 0")"
    "$order9" advise "$work/map.o9snap" --want "${want}M" --prices xeon-2s --param pause=0s --param hold=0s \
        --param cpus=cpunodebind:0 --param mempolicy=bind:0 --json >"$work/advice.json"
    of='.findings + .others | map(select(.remedy.group_move.cgroup == "/batch"))'
    jq -r "$of | .[].linux[]" "$work/advice.json" >"$work/commands"
    [ -z "${COMMANDS:-}" ] || printf '%s\n' "$COMMANDS" >"$work/commands"
    while IFS= read -r command; do
        echo "  # $command"
        ask "$command" || echo "  status $?"
    done <"$work/commands"
    echo "  /batch after:   $(pages)"
    echo "  after the move: $(ask "taskset 1 want $want 0")"
    jq -r 'def killed: (.ended[0] // "" | capture("which had (?<pages>[0-9]+) pages").pages | tonumber / 256 | round | "\(.) MiB fit, killed, ") // "";
        def case: (if .written then "\(.written / 1048576 | round) MiB fit, " else killed end) + "\(.huge_percent.mean | round) % huge";
        "  the copy:       \(.now | case) as it is, " +
        ('"$of"' | first | if . then "\(.case | case) after the move" else "no move is named" end)' "$work/advice.json"
    exec 4>&- 5<&-
    kill "$guest" && wait "$guest" 2>/dev/null || true
    guest=
done
