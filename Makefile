# order9: what to type. Details: CONTRIBUTING.md.

FUZZ_SECONDS ?= 60
SOAK_CASES ?= 20000
SOAK_SEEDS ?= 3
# More for the matrix: --only PATTERN, --seconds N, --memory GIB.
MATRIX ?=
# More for the validation: --quick, --kernels LIST, --runs N, --prices FILE, --causes FILE.
VALIDATE ?=
# Where `make install` puts things; DESTDIR stands before it.
PREFIX ?= /usr/local
BUILT = $(or $(CARGO_TARGET_DIR),target)

.PHONY: help install uninstall dist wheel run test bench bench-host fuzz soak matrix mutants prepare prepare-guests validate

help:
	@echo "make run         build, inspect the memory of this host (as root; else of a bundled snapshot), and run thpscale in it"
	@echo "make install     order9 with completions and manual pages below PREFIX=$(PREFIX); make uninstall removes exactly these"
	@echo "make test        every check"
	@echo "make bench       benchmarks of the engine and the analysis"
	@echo "make bench-host  benchmarks that read or fill this host's memory (as root)"
	@echo "make dist        a static binary as tar.gz and as a Debian package, in target/packages"
	@echo "make wheel       the Python package as a wheel, in target/wheels; WHEEL_TARGETS='x86_64-unknown-linux-musl' for others"
	@echo "make fuzz        every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) (nightly Rust and cargo-fuzz)"
	@echo "make soak        hours: the property tests with SOAK_CASES=$(SOAK_CASES) cases each, small runs of SOAK_SEEDS=$(SOAK_SEEDS)"
	@echo "                 seeds twice and in two builds, and every workload with its defaults on every machine (make matrix)"
	@echo "make matrix      the last of these alone; MATRIX='--only \"fsmark xeon-1s\"' takes some cells"
	@echo "make validate    hours: holds the lab against kernels in virtual machines and this host's, as root, and writes docs/fidelity.md;"
	@echo "                 what is there is kept; VALIDATE='--quick' takes minutes, --kernels \"6.12 host\" takes some"
	@echo "make mutants     plants the defects of tests/mutants/, one at a time, and says which tests see them (hours the first time)"

prepare:
	@bash scripts/prepare.sh

prepare-guests:
	@bash scripts/prepare.sh guests

run: prepare
	@bash scripts/run.sh

# The first process of virtual machines comes along where this Rust can build it.
install: prepare
	cargo build --release --locked -p order9-cli
	@if [ -d "$$(rustc --print target-libdir --target x86_64-unknown-linux-musl)" ]; then \
		cargo build --profile guest --locked -p order9-guest --target x86_64-unknown-linux-musl && \
		guest=$(BUILT)/x86_64-unknown-linux-musl/guest/order9-guest; \
	fi && PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" bash scripts/install.sh install $(BUILT)/release/order9 $$guest

uninstall:
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" bash scripts/install.sh uninstall

dist: prepare
	@bash scripts/dist.sh

wheel: prepare
	@bash scripts/wheel.sh $(WHEEL_TARGETS)

test: prepare-guests
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
	PROPTEST_CASES=$(SOAK_CASES) CAPTURES=all cargo test --release --locked --workspace --tests
	cargo build --locked -p order9-cli
	cargo build --release --locked -p order9-cli
	scripts/matrix.sh --small --check 1000 --seeds $(SOAK_SEEDS) --against target/debug/order9 $(MATRIX) target/release/order9
	scripts/matrix.sh $(MATRIX) target/release/order9

validate: prepare-guests
	@bash scripts/validate-all.sh $(VALIDATE)

matrix: prepare
	cargo build --release --locked -p order9-cli
	scripts/matrix.sh $(MATRIX) target/release/order9

mutants: prepare
	cargo run --release --locked -p order9-mutants
