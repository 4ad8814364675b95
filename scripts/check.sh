#!/usr/bin/env bash
# Every check of order9, cheapest first; stops at the first that fails. Called by `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."

CARGO_DENY=0.20.2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a check under a heading and says how long it took: step HEADING COMMAND...
step() {
    local heading=$1 start=$SECONDS
    shift
    printf '\n== %s\n' "$heading"
    "$@" || {
        printf '== FAILED: %s (%d s)\n' "$heading" $((SECONDS - start))
        exit 1
    }
    printf -- '-- %s: %d s\n' "$heading" $((SECONDS - start))
}

engine_for() {
    cargo build --locked -p order9-units -p order9-frames -p order9-mm -p order9-procfs --target "$1" &&
        # The allocator alone, before there is a heap.
        cargo build --locked -p order9-frames --no-default-features --target "$1"
}

# The machine in virtual time allocates and formats, but needs no operating system.
lab_for() {
    cargo build --locked -p order9-machine --target "$1"
}

documentation() {
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
}

licences() {
    if ! cargo deny --version >/dev/null 2>&1; then
        # Without optimisation it is compiled in a third of the time, and takes 2 s for its checks.
        echo "installing cargo-deny $CARGO_DENY, once: less than a minute on 2 cores"
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --debug --locked --quiet cargo-deny --version "$CARGO_DENY"
    fi
    cargo fetch --locked
    cargo deny --offline --log-level warn check licenses bans sources
}

advisories() {
    if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*" >/dev/null; then
        cargo deny --offline check advisories
    else
        echo "SKIPPED: no advisory database on this machine. 'cargo deny fetch db' brings one."
    fi
}

# One thread more than there are cores: some tests wait for the clock, for a guest or for the host.
tests() {
    RUST_TEST_THREADS=$(($(nproc) + 1)) cargo test --locked --workspace --no-fail-fast "$@" 2>&1 | tee -a "$log"
}

# The parts of virtual machines that tests boot: their first process and a kernel. Tests say where one is missing.
guests() {
    local target=x86_64-unknown-linux-musl
    if ! command -v qemu-system-x86_64 >/dev/null; then
        echo "SKIPPED: no qemu-system-x86_64 on this machine. 'apt-get install qemu-system-x86' brings it."
    elif ! [ -d "$(rustc --print target-libdir --target $target)" ]; then
        echo "SKIPPED: this Rust has no target $target."
    else
        cargo build --locked --profile guest --target $target -p order9-guest && kernel
    fi
}

# A distribution's kernel with its modules, once: 50 MB come from the mirror, and 20 MB are kept.
kernel() {
    target/debug/order9 kernels list | grep '^linux-6.12 ' | grep -Eqv 'not fetched|without modules' ||
        target/debug/order9 kernels fetch 6.12 ||
        echo "SKIPPED: no kernel for virtual machines came."
}

# The sum over all test binaries, in the form of their own summaries.
total() {
    awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
         END { printf "\ntests: %d passed, %d failed, %d skipped\n", passed, failed, ignored }' "$log"
}

step "format" cargo fmt --all --check
step "clippy" cargo clippy --locked --workspace --all-targets -- -D warnings
step "engine without std: wasm32-unknown-unknown" engine_for wasm32-unknown-unknown
step "lab without an operating system: wasm32-unknown-unknown" lab_for wasm32-unknown-unknown
step "engine without std: x86_64-unknown-none" engine_for x86_64-unknown-none
step "documentation" documentation
step "licences, bans and sources of dependencies" licences
step "security advisories" advisories
# Benches are compiled by clippy; running them is `make bench`.
# Libraries and binaries with unit tests are among --tests; --lib would compile those without, too.
kinds=(--tests --examples)
step "tests compile" cargo test --locked --workspace --no-run "${kinds[@]}"
step "examples in the documentation" tests --doc
step "virtual machines" guests
step "tests" tests "${kinds[@]}"
step "Python package" scripts/python.sh
step "every workload on every machine, small" scripts/matrix.sh --small --one-in 4 --jobs "$(nproc)" target/debug/order9
total
