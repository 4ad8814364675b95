#!/usr/bin/env bash
# Makes wheels of the Python package in target/wheels: for this machine, or for the targets that are named. Another C library or
# processor needs zig as linker, which comes from PyPI. What `make wheel` does: wheel.sh [TARGET]...
set -euo pipefail
cd "$(dirname "$0")/.."

most=$((12 * 1024 * 1024))
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
place=$target/wheel-tools
out=$target/wheels

fail() {
    printf 'order9: %s\n' "$*" >&2
    exit 2
}

python3 -c 'import ensurepip, venv' 2>/dev/null || fail "no python3 with venv and pip: on Debian, apt-get install python3-venv"
if ! [ -x "$place/bin/maturin" ]; then
    python3 -m venv "$place"
    "$place/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' || fail "PyPI cannot be reached for maturin"
fi
# A cross build links by zig.
if [ $# -gt 0 ] && ! "$place/bin/python" -c 'import ziglang' 2>/dev/null; then
    "$place/bin/pip" install --quiet --disable-pip-version-check ziglang || fail "PyPI cannot be reached for ziglang"
fi

build() {
    # Where pyproject.toml is, which names the crate.
    (cd python && "$place/bin/maturin" build --quiet --locked --profile wheel --interpreter "$place/bin/python" --out "$out" "$@")
}

if [ $# -eq 0 ]; then
    build
fi
for triple in "$@"; do
    [ -d "$(rustc --print target-libdir --target "$triple")" ] ||
        fail "this Rust has no target $triple: rustup target add $triple"
    PATH=$place/bin:$PATH RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=-crt-static" build --zig --target "$triple"
done
for wheel in "$out"/order9-*.whl; do
    bytes=$(stat -c %s "$wheel")
    [ "$bytes" -le $most ] || fail "$wheel has $bytes bytes, and may have $most"
    printf '%s: %d bytes\n' "$wheel" "$bytes"
done
