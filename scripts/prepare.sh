#!/usr/bin/env bash
# Makes sure that order9 can be built here: a C compiler and linker, make, the pinned Rust toolchain and its targets.
# Installs what is missing where it may, otherwise says what to type. Silent where all is there.
# With the word `guests`, QEMU and a maker of file systems, too, without which tests of virtual machines are left out.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    printf 'order9: %s\n' "$*" >&2
    exit 2
}

# rustc links with cc; zstd is C; libFuzzer, which fuzz targets link, is C++.
if ! command -v cc >/dev/null || ! command -v c++ >/dev/null || ! command -v make >/dev/null; then
    packages="build-essential"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        printf 'order9: installing %s, for a C compiler, a linker and make\n' "$packages" >&2
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $packages; } >&2
    else
        fail "no C compiler and linker, or no make. On Debian: sudo apt-get install $packages"
    fi
fi

if [ "${1:-}" = guests ] && ! { command -v qemu-system-x86_64 && command -v mkfs.ext4; } >/dev/null; then
    packages="qemu-system-x86 e2fsprogs"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        printf 'order9: installing %s, for tests in virtual machines\n' "$packages" >&2
        { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $packages; } >&2 ||
            printf 'order9: not installed: tests in virtual machines are left out\n' >&2
    else
        printf 'order9: tests in virtual machines are left out. On Debian: sudo apt-get install %s\n' "$packages" >&2
    fi
fi

command -v cargo >/dev/null || fail "no cargo. Install Rust with rustup, which reads rust-toolchain.toml"
# A cargo that rustup does not manage is used as it is; it has to bring the version and the targets itself.
command -v rustup >/dev/null || exit 0

channel=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
if ! rustup which --toolchain "$channel" rustc >/dev/null 2>&1; then
    rustup toolchain install "$channel" --profile minimal --component clippy,rustfmt >&2 ||
        fail "Rust $channel is not installed: rustup toolchain install $channel --component clippy,rustfmt"
fi
targets=$(sed -n 's/^targets = \[\(.*\)\]$/\1/p' rust-toolchain.toml | tr -d '",')
for target in $targets; do
    rustup target list --toolchain "$channel" --installed | grep -qx "$target" ||
        rustup target add --toolchain "$channel" "$target" >&2 ||
        fail "target $target is not installed: rustup target add --toolchain $channel $target"
done
