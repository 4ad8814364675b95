#!/usr/bin/env bash
# Installs order9 below PREFIX, or removes what an installation has put there and nothing else:
#   install.sh install ORDER9 [GUEST]
#   install.sh uninstall
# PREFIX is /usr/local unless set. DESTDIR stands before it where a package is made.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
root=${DESTDIR:-}${PREFIX:-/usr/local}
list=share/order9/installed

fail() {
    printf 'order9: %s\n' "$*" >&2
    exit 2
}

# Removes the files of the list, and then those folders that are empty without them.
remove() {
    local path
    while IFS= read -r path; do
        case $path in /* | *..*) fail "$root/$list: names $path, expected paths below the prefix" ;; esac
        rm -f -- "$root/$path"
    done <"$root/$list"
    # The list is read once more: a folder is left after the folders in it.
    while IFS= read -r path; do
        path=$(dirname "$path")
        while [ "$path" != . ]; do
            rmdir -- "$root/$path" 2>/dev/null || break
            path=$(dirname "$path")
        done
    done < <(sort -r "$root/$list"; rm -f -- "$root/$list"; printf '%s\n' "$list")
}

case ${1:-} in
install)
    [ -x "${2:-}" ] || fail "install.sh install ORDER9: expected the built command, found '${2:-}'"
    case $root in /*) ;; *) fail "PREFIX: found '$root', expected a path that begins with /" ;; esac
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    "$here/stage.sh" "$2" "$made" "${3:-}"
    (cd "$made" && find . -type f -printf '%P\n' | LC_ALL=C sort) >"$made.list"
    trap 'rm -rf "$made" "$made.list"' EXIT
    # Files of an older version go first.
    if [ -f "$root/$list" ]; then remove; fi
    while IFS= read -r path; do
        install -D -m "$(stat -c %a "$made/$path")" "$made/$path" "$root/$path"
    done <"$made.list"
    install -D -m 644 "$made.list" "$root/$list"
    printf 'order9: installed below %s; "make uninstall" with the same PREFIX removes it\n' "$root"
    ;;
uninstall)
    [ -f "$root/$list" ] || fail "nothing to remove: there is no $root/$list, which 'make install' writes"
    remove
    printf 'order9: removed from %s\n' "$root"
    ;;
*) fail "install.sh: found '${1:-}', expected install or uninstall" ;;
esac
