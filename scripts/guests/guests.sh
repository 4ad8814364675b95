# Guests that scripts talk to, to be sourced at the top of the repository: `boot` starts one, `ask` has it run a line and prints what that
# says, `capture` fetches its memory, `leave` ends it. Needs what scripts/captures.sh needs. CACHE=DIR keeps the kernels, ORDER9=FILE is the program.

work=$(mktemp -d)
cache=${CACHE:-$work/cache}
order9=${ORDER9:-${CARGO_TARGET_DIR:-target}/release/order9}
guest=
trap '[ -z "$guest" ] || kill "$guest" 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$cache"

initrd() {
    local root=$work/root file
    mkdir -p "$root/bin"
    cp scripts/guests/init "$root/init"
    cp "$(command -v busybox)" "$root/bin/busybox"
    strip -o "$root/bin/order9" "$order9"
    cc -O1 -static -o "$root/bin/hold" scripts/captures/hold.c
    cc -O1 -static -o "$root/bin/want" scripts/guests/want.c
    ldd "$order9" | grep -o '/[^ ]*' | while read -r file; do
        mkdir -p "$root$(dirname "$file")"
        cp -L "$file" "$root$file"
    done
    (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd"
}

# boot SUITE OPTION...: a guest of 2 GiB with the kernel of a suite of Debian, which answers on file descriptors 4 and 5.
boot() {
    local suite=$1
    shift
    [ -e "$work/initrd" ] || initrd
    scripts/captures/kernel.sh "$cache" "$suite"
    rm -f "$work"/port.*
    mkfifo "$work/port.in" "$work/port.out"
    timeout 900 qemu-system-x86_64 -accel tcg,thread=single -cpu max,-cx16 -smp 2 -m 2048 "$@" \
        -kernel "$cache/$suite/vmlinuz" -initrd "$work/initrd" -no-reboot -display none -net none \
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

# capture FILE: the guest's memory.
capture() { ask 'order9 capture --owners -o /tmp/map >/tmp/said 2>&1 && base64 /tmp/map' | base64 -d >"$1"; }

# follow FILE: has the guest run each line.
follow() {
    local command
    while IFS= read -r command; do
        echo "  # $command"
        ask "$command" || echo "  status $?"
    done <"$1"
}

leave() {
    exec 4>&- 5<&-
    kill "$guest" && wait "$guest" 2>/dev/null || true
    guest=
}
