# order9: what to type. Details: CONTRIBUTING.md.

SNAPSHOT := tests/data/host-fragmented.o9snap
FUZZ_SECONDS ?= 60
SOAK_CASES ?= 20000

.PHONY: help run test bench bench-host fuzz soak prepare

help:
	@echo "make run         build, and inspect the memory of this host (as root; else of a bundled snapshot)"
	@echo "make test        every check"
	@echo "make bench       benchmarks of the engine and the analysis"
	@echo "make bench-host  benchmarks that read or fill this host's memory (as root)"
	@echo "make fuzz        every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) (nightly Rust and cargo-fuzz)"
	@echo "make soak        the property tests with SOAK_CASES=$(SOAK_CASES) cases each"

prepare:
	@bash scripts/prepare.sh

# Reading one word is the test: the file's mode alone does not tell what a container or lockdown forbids.
run: prepare
	@cargo build --release --locked -p order9-cli
	@if head -c 8 /proc/kpageflags >/dev/null 2>&1; then \
		cargo run --quiet --release --locked -p order9-cli -- inspect; \
	else \
		echo "order9: /proc/kpageflags cannot be read here (that takes Linux and root): showing $(SNAPSHOT), taken from a real host"; \
		cargo run --quiet --release --locked -p order9-cli -- inspect $(SNAPSHOT); \
	fi

test: prepare
	@bash scripts/check.sh

# The benches of crate host measure the host itself.
bench: prepare
	cargo bench --locked --workspace --exclude order9-host --bench '*'

bench-host: prepare
	@[ "$$(id -u)" = 0 ] || { echo "order9: these benchmarks fill and read physical memory: run them as root" >&2; exit 2; }
	cargo bench --locked -p order9-host --bench '*'

fuzz: prepare
	@cargo +nightly --version >/dev/null 2>&1 || \
		{ echo "order9: fuzzing needs nightly Rust: rustup toolchain install nightly --profile minimal" >&2; exit 2; }
	@cargo fuzz --version >/dev/null 2>&1 || \
		{ echo "order9: fuzzing needs cargo-fuzz: cargo install cargo-fuzz --locked" >&2; exit 2; }
	@for target in $$(cargo +nightly fuzz list); do \
		echo "== fuzz $$target: $(FUZZ_SECONDS) s"; \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

soak: prepare
	PROPTEST_CASES=$(SOAK_CASES) cargo test --release --locked --workspace --lib --bins --tests
