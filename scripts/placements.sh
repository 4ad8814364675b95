#!/usr/bin/env bash
# Runs the programs of tests/data/placements/programs.txt on real kernels: on this one where it has two nodes, and in guests of
# two nodes with kernels of Debian, for each suite that is named. Fails where pages lie elsewhere than expected. Needs a C
# compiler; for guests Debian with qemu-system-x86, busybox-static, cpio and what scripts/captures/kernel.sh needs.
#
#   scripts/placements.sh                      # this kernel
#   scripts/placements.sh bullseye trixie      # 5.10 and 6.12
#   FILE=/srv/large scripts/placements.sh      # with a file or device on disk that may be read; else a sparse file is made
#   CACHE=DIR scripts/placements.sh trixie     # keep the kernels
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${CACHE:-$(mktemp -d)}
[ -n "${CACHE:-}" ] || trap 'rm -rf "$cache"' EXIT
programs=tests/data/placements/programs.txt
mkdir -p "$cache"
cc -O1 -static -o "$cache/place" scripts/placements/place.c

# guest SUITE: two nodes of 1 GiB with a CPU each, and a disk.
guest() {
    local root=$cache/placements-root said=$cache/$1.placements
    scripts/captures/kernel.sh "$cache" "$1"
    rm -rf "$root"
    mkdir -p "$root/bin" "$root/modules"
    scripts/captures/modules.sh "$cache/$1" virtio_pci virtio_blk | while read -r file; do
        cp "$file" "$root/modules/"
        basename "$file"
    done >"$cache/order"
    cp "$cache/order" "$root/modules/order"
    cp scripts/placements/init "$programs" "$root/"
    cp "$(command -v busybox)" "$root/bin/busybox"
    cp "$cache/place" "$root/bin/"
    rm -f "$cache/disk"
    truncate -s 1G "$cache/disk"
    (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$cache/placements-initrd"
    timeout "${SECONDS_MAX:-600}" qemu-system-x86_64 -accel tcg,thread=single -cpu max,-cx16 -smp 2 -m 2048 \
        -object memory-backend-ram,id=m0,size=1024M -numa node,nodeid=0,cpus=0,memdev=m0 \
        -object memory-backend-ram,id=m1,size=1024M -numa node,nodeid=1,cpus=1,memdev=m1 -numa dist,src=0,dst=1,val=21 \
        -drive "file=$cache/disk,if=virtio,format=raw,cache=unsafe" \
        -kernel "$cache/$1/vmlinuz" -initrd "$cache/placements-initrd" -no-reboot -display none -net none \
        -append "console=ttyS0 quiet panic=-1 no_timer_check nowatchdog" \
        -serial "file:$cache/$1.log" -serial "file:$said" || true
    cat "$said"
    tr -d '\r' <"$said" | grep -q '^[0-9]* programs, 0 failed$'
}

failed=0
if [ $# -eq 0 ]; then
    FILE=${FILE:-$cache/disk}
    [ -e "$FILE" ] || truncate -s "$(awk '/MemTotal/ { print $4 "K" }' /sys/devices/system/node/node0/meminfo)" "$FILE"
    FILE=$FILE "$cache/place" "$programs" || { status=$?; [ $status -eq 77 ] || failed=1; }
fi
for suite in "$@"; do
    guest "$suite" || { echo "$suite: not all pages lie where they are expected" >&2; failed=1; }
done
exit $failed
