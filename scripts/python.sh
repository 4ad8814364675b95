#!/usr/bin/env bash
# The Python package: a wheel in an environment of its own, its tests and its types. Called by scripts/check.sh.
#
# Cargo has compiled the extension module together with the tests of the workspace: by itself it would have other features, and compile
# nearly everything anew. So the wheel is packed from that; the one to hand out is made by scripts/wheel.sh from the same sources.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Whatever else has built the module: a file lib_order9.so.
module=${ORDER9_MODULE:-$target/debug/deps/lib_order9.so}
place=$target/python
bin=$place/venv/bin
requirements=python/tests/requirements.txt

if ! python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "SKIPPED: no python3 of 3.11 or later with venv and pip on this machine. 'apt-get install python3-venv' brings it."
    exit 0
fi

# The tools, once: some 300 MB from PyPI.
if ! cmp --silent "$requirements" "$place/requirements.txt"; then
    rm -rf "$place"
    mkdir -p "$place"
    python3 -m venv "$place/venv"
    if ! "$bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"; then
        echo "SKIPPED: PyPI does not have what $requirements names, or cannot be reached."
        exit 0
    fi
    cp "$requirements" "$place/requirements.txt"
fi

# The wheel, as maturin lays it out.
rm -rf "$place/wheel" "$place"/*.whl
mkdir -p "$place/wheel/order9"
cp python/order9/*.py python/order9/*.pyi python/order9/py.typed "$place/wheel/order9"
strip --strip-debug -o "$place/wheel/order9/_order9.abi3.so" "$module"
(cd python && "$bin/maturin" pep517 write-dist-info --metadata-directory "$place/wheel" --interpreter "$bin/python" >/dev/null)
"$bin/python" -m wheel pack --dest-dir "$place" "$place/wheel" >/dev/null
"$bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$place"/order9-*.whl

# Away from the sources, so that what is tested is what was installed.
captures=$PWD/tests/data/captures
cd python/tests
ORDER9_CAPTURES=$captures "$bin/pytest" -q -p no:cacheprovider
cd ../examples
"$bin/mypy" --strict --cache-dir "$place/mypy" ./*.py ../tests/*.py
"$bin/python" -m mypy.stubtest order9 --allowlist ../tests/stubtest.txt --mypy-config-file ../pyproject.toml
