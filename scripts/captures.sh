#!/usr/bin/env bash
# Makes the captures of tests/data/captures anew: boots guests of several kernels in QEMU, brings the memory of each into
# a state, and captures it there. Needs Debian with qemu-system-x86, busybox-static, cpio, xz-utils, e2fsprogs, xfsprogs
# and a C compiler; the kernels come from the mirror that apt is configured with. Emulates every instruction, since that
# works anywhere: some ten seconds of CPU for each capture.
#
#   scripts/captures.sh                        # all of them, into tests/data/captures
#   scripts/captures.sh numa-6.1 zram-6.1      # some
#   OUT=DIR CACHE=DIR scripts/captures.sh      # elsewhere; keep the kernels
set -euo pipefail
cd "$(dirname "$0")/.."

out=${OUT:-tests/data/captures}
cache=${CACHE:-$(mktemp -d)}
[ -n "${CACHE:-}" ] || trap 'rm -rf "$cache"' EXIT
order9=${ORDER9:-${CARGO_TARGET_DIR:-target}/release/order9}

# name  suite  memory of each node  modules, the file system of a disk  kernel parameters; the state has its own script, captures/init
table() {
    cat <<'ROWS'
fresh-5.10           bullseye  512       -                -     -                                    fresh
tmpfs-full-5.10      bullseye  768       -                -     -                                    tmpfs-full
movable-zone-5.10    bullseye  1024      -                -     movablecore=512M                     movable
huge-heaps-5.10      bullseye  1024      -                -     -                                    huge
numa-6.1             bookworm  1024+1024 -                -     -                                    numa
copy-xfs-6.1         bookworm  512       virtio_blk,xfs   xfs   -                                    copy-xfs
zram-6.1             bookworm  512       zram             -     -                                    zram
fragmented-6.1       bookworm  2048      -                -     -                                    fragmented
tmpfs-huge-6.1       bookworm  768       -                -     -                                    tmpfs-huge
cache-xfs-6.12       trixie    1024      virtio_blk,xfs   xfs   -                                    cache-xfs
hugetlb-6.12         trixie    1024      -                -     -                                    hugetlb
pinned-vmsplice-6.12 trixie    1024      -                -     -                                    vmsplice
offline-6.12         trixie    2048      -                -     -                                    offline
compacted-6.12       trixie    1024      -                -     -                                    compacted
numa-groups-6.12     trixie    1024+1024 -                -     -                                    numa-groups
slabs-6.12           trixie    768       -                -     -                                    slabs
fresh-7.2            sid       4096      -                -     -                                    fresh
cache-ext4-7.2       sid       1024      virtio_blk       ext4  -                                    cache-ext4
zram-huge-7.2        sid       768       zram             -     -                                    zram-thp
pinned-io_uring-7.2  sid       1024      -                -     -                                    io_uring
numa-uneven-7.2      sid       512+1024  virtio_blk       ext4  -                                    numa-huge
ROWS
}

# initrd KERNEL MODULES: everything the guest runs.
initrd() {
    local root=$cache/root file
    rm -rf "$root"
    mkdir -p "$root/bin" "$root/modules"
    cp scripts/captures/init "$root/init"
    cp "$(command -v busybox)" "$root/bin/busybox"
    strip -o "$root/bin/order9" "$order9"
    cc -O1 -static -o "$root/bin/hold" scripts/captures/hold.c
    ldd "$order9" | grep -o '/[^ ]*' | while read -r file; do
        mkdir -p "$root$(dirname "$file")"
        cp -L "$file" "$root$file"
    done
    # The kernel's own choice among compressors is not a dependency that a module names.
    scripts/captures/modules.sh "$1" virtio_pci lzo lzo_rle crc32c_generic ${2//,/ } | while read -r file; do
        cp "$file" "$root/modules/"
        basename "$file"
    done >"$cache/order"
    cp "$cache/order" "$root/modules/order"
    (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1)
}

# nodes MIB+MIB...: the machine's memory.
nodes() {
    local node=0 sum=0 mib
    case $1 in *+*) ;; *) echo "-m $1"; return ;; esac
    for mib in ${1//+/ }; do
        printf -- '-object memory-backend-ram,id=m%d,size=%dM -numa node,nodeid=%d,cpus=%d,memdev=m%d ' $node "$mib" $node $node $node
        sum=$((sum + mib)) node=$((node + 1))
    done
    echo "-numa dist,src=0,dst=1,val=21 -m $sum"
}

# guest NAME SUITE MEMORY MODULES FILE_SYSTEM PARAMETERS STATE
guest() {
    local name=$1 kernel=$cache/$2 disk=() modules=${4#-} parameters=${6#-}
    scripts/captures/kernel.sh "$cache" "$2"
    initrd "$kernel" "$modules" >"$cache/initrd"
    if [ "$5" != - ]; then
        rm -f "$cache/disk"
        truncate -s 2G "$cache/disk"
        "mkfs.$5" -q "$cache/disk"
        disk=(-drive "file=$cache/disk,if=virtio,format=raw,cache=unsafe")
    fi
    # shellcheck disable=SC2046
    timeout 240 qemu-system-x86_64 -accel tcg,thread=single -cpu max,-cx16 -smp 2 $(nodes "$3") "${disk[@]}" \
        -kernel "$kernel/vmlinuz" -initrd "$cache/initrd" -no-reboot -display none -net none \
        -append "console=ttyS0 quiet panic=-1 no_timer_check nowatchdog ${parameters//,/ } state=$7" \
        -serial "file:$cache/$name.log" -serial "file:$cache/$name.base64"
    base64 -d "$cache/$name.base64" >"$cache/$name.o9snap" && "$order9" snapshot info "$cache/$name.o9snap" >/dev/null || {
        tail -n 20 "$cache/$name.log" >&2
        return 1
    }
    mv "$cache/$name.o9snap" "$out/"
    printf '%s\t%s bytes\n' "$name" "$(stat -c %s "$out/$name.o9snap")"
}

mkdir -p "$out"
[ -x "$order9" ] || cargo build --release --locked -p order9-cli
failed=0
while read -r name row; do
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    guest "$name" $row </dev/null || { echo "$name: the guest sent no capture" >&2; failed=1; }
done < <(table)
exit $failed
