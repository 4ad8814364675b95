#!/usr/bin/env bash
# Makes packages of order9 in target/packages, the same bytes from the same commit: a static binary with its completions, manual
# pages, scenarios and licences as tar.gz and as a Debian package, and SHA256SUMS. What `make dist` does.
#   MAINTAINER="NAME <ADDRESS>" names the maintainer of the Debian package.
#   BUILT=DIR takes order9 and order9-guest from there instead of building them.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

target=x86_64-unknown-linux-musl
most=$((15 * 1024 * 1024))
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
maintainer=${MAINTAINER:-The order9 authors <authors@order9.invalid>}
folder=${CARGO_TARGET_DIR:-target}
out=$(realpath -m "$folder/packages")
name=order9-$version-$target

fail() {
    printf 'order9: %s\n' "$*" >&2
    exit 2
}

# Bytes must not tell when or where they were made.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} || fail "no git commit tells a date: set SOURCE_DATE_EPOCH"
export SOURCE_DATE_EPOCH LC_ALL=C

build() {
    command -v musl-gcc >/dev/null || fail "no musl-gcc, which compiles zstd: on Debian, apt-get install musl-tools"
    CARGO_ENCODED_RUSTFLAGS=$(printf -- '--remap-path-prefix=%s=.\x1f--remap-path-prefix=%s=cargo' \
        "$PWD" "${CARGO_HOME:-$HOME/.cargo}") \
        CFLAGS="-O2 -ffile-prefix-map=${CARGO_HOME:-$HOME/.cargo}=cargo" CARGO_INCREMENTAL=0 \
        cargo build --locked --profile dist --target "$target" -p order9-cli -p order9-guest
}

# A tar.gz with the same bytes for the same files: pack FOLDER NAME FILE
pack() {
    tar --create --directory "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --format=gnu "$2" | gzip -9n >"$3"
}

built=${BUILT:-$folder/$target/dist}
[ -n "${BUILT:-}" ] || build
command=$built/order9
[ -x "$command" ] && [ -x "$built/order9-guest" ] || fail "$built: expected order9 and order9-guest there"

length=$(stat -c %s "$command")
# A goal that is missed, not a package that is broken.
[ "$length" -le "$most" ] || echo "OVER: $command has $length bytes, the goal is $most" >&2
if LC_ALL=C readelf -lW "$command" | grep -q INTERP; then fail "$command is not static"; fi
if readelf -SW "$command" | grep -q '\.symtab'; then fail "$command is not stripped"; fi

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
rm -rf "$out"
mkdir -p "$out"

scripts/stage.sh "$command" "$made/$name" "$built/order9-guest"
cp README.md "$made/$name/share/doc/order9"
pack "$made" "$name" "$out/$name.tar.gz"

# The Debian package has the same tree below /usr.
root=$made/debian
mkdir -p "$root/DEBIAN"
scripts/stage.sh "$command" "$root/usr" "$built/order9-guest"
doc=$root/usr/share/doc/order9
gzip -9n "$root"/usr/share/man/man1/*.1
mv "$doc/CHANGELOG.md" "$doc/changelog"
printf 'order9 (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")" >"$doc/changelog.Debian"
gzip -9n "$doc"/changelog*
# Both licences stand in the copyright file, the text of the second one is in /usr/share/common-licenses.
{
    sed "s/@MAINTAINER@/$maintainer/" scripts/debian/copyright
    sed -e 's/^$/./' -e 's/^/ /' LICENSE-MIT
} >"$doc/copyright"
rm "$doc"/LICENSE-*
kilobytes=$(find "$root/usr" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
sed -e "s/@VERSION@/$version/" -e "s/@MAINTAINER@/$maintainer/" -e "s/@KILOBYTES@/$kilobytes/" scripts/debian/control \
    >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$out/order9_$version-1_amd64.deb" >/dev/null

(cd "$out" && sha256sum -- *.tar.gz *.deb >SHA256SUMS)
printf '%s: static, %s bytes\n' "$command" "$length"
(cd "$out" && ls -l -- * && cat SHA256SUMS)
