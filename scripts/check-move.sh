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
. scripts/guests/guests.sh

want=${WANT:-600}
nodes=()
for node in 0 1; do
    nodes+=(-object "memory-backend-ram,id=m$node,size=1024M" -numa "node,nodeid=$node,cpus=$node,memdev=m$node")
done

# pages: MiB of the group on each node.
pages() {
    ask 'for pid in $(cat /sys/fs/cgroup/batch/cgroup.procs); do cat /proc/$pid/numa_maps; done' | grep -o 'N[01]=[0-9]*' |
        awk -F '[N=]' '{ sum[$2] += $3 } END { printf "%d MiB on node 0, %d MiB on node 1\n", sum[0] / 256, sum[1] / 256 }'
}

# The memory of two control groups, as the capture numa-groups has it.
groups() {
    ask 'echo madvise >/sys/kernel/mm/transparent_hugepage/enabled; mkdir /sys/fs/cgroup/batch /sys/fs/cgroup/web'
    ask 'echo 0 >/sys/fs/cgroup/batch/cgroup.procs; taskset 1 hold heap 800 2'
    ask 'echo 0 >/sys/fs/cgroup/web/cgroup.procs; taskset 2 hold heap 100'
}

for suite in ${*:-trixie}; do
    boot "$suite" "${nodes[@]}" -numa dist,src=0,dst=1,val=21
    groups
    echo "Linux $(ask 'uname -r')"
    capture "$work/map.o9snap"
    echo "  /batch before:  $(pages)"
    echo "  as it is:       $(ask "taskset 1 want $want 0")"
    "$order9" advise "$work/map.o9snap" --want "${want}M" --prices xeon-2s --param pause=0s --param hold=0s \
        --param cpus=cpunodebind:0 --param mempolicy=bind:0 --json >"$work/advice.json"
    of='.findings + .others | map(select(.remedy.group_move.cgroup == "/batch"))'
    jq -r "$of | .[].linux[]" "$work/advice.json" >"$work/commands"
    [ -z "${COMMANDS:-}" ] || printf '%s\n' "$COMMANDS" >"$work/commands"
    follow "$work/commands"
    echo "  /batch after:   $(pages)"
    echo "  after the move: $(ask "taskset 1 want $want 0")"
    jq -r 'def killed: (.ended[0] // "" | capture("which had (?<pages>[0-9]+) pages").pages | tonumber / 256 | round | "\(.) MiB fit, killed, ") // "";
        def case: (if .written then "\(.written / 1048576 | round) MiB fit, " else killed end) + "\(.huge_percent.mean | round) % huge";
        "  the copy:       \(.now | case) as it is, " +
        ('"$of"' | first | if . then "\(.case | case) after the move" else "no move is named" end)' "$work/advice.json"
    leave
done
