#!/usr/bin/env bash
# Names the files of modules of a kernel that kernel.sh has unpacked, each after those it needs, and once. What is built in has none.
#
#   scripts/captures/modules.sh KERNEL MODULE...
set -euo pipefail

with_dependencies() {
    local module file
    for module in "$@"; do
        file=$(find "$kernel/modules" -name "${module//_/[-_]}.ko*" | head -n 1)
        [ -n "$file" ] || continue
        case $file in *.xz) unxz -kf "$file"; file=${file%.xz} ;; esac
        # shellcheck disable=SC2046
        with_dependencies $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | tr ',' ' ')
        echo "$file"
    done
}

kernel=$1
shift
with_dependencies "$@" | awk '!seen[$0]++'
