#!/usr/bin/env bash
# Lays out what an installation of order9 has, below an empty directory that stands for the prefix (/usr/local, for instance):
#   stage.sh ORDER9 DIR [GUEST]
# ORDER9 is the command, GUEST the first process of virtual machines (`order9 bench --kernel`), where there is one.
set -euo pipefail
order9=$(realpath "$1")
to=$(realpath -m "$2")
guest=${3:+$(realpath "$3")}
cd "$(dirname "$0")/.."
umask 022

install -Dm755 "$order9" "$to/bin/order9"
if [ -n "$guest" ]; then
    install -Dm755 "$guest" "$to/libexec/order9/order9-guest"
fi

# Shells and man have places of their own for what the command prints.
completions() {
    mkdir -p "$(dirname "$to/share/$2")"
    "$to/bin/order9" completions "$1" >"$to/share/$2"
}
completions bash bash-completion/completions/order9
completions zsh zsh/site-functions/_order9
completions fish fish/vendor_completions.d/order9.fish
mkdir -p "$to/share/man"
"$to/bin/order9" man -o "$to/share/man/man1"

# Policies and machines are in the command; experiments and published claims are files.
for folder in scenarios sweeps claims; do
    mkdir -p "$to/share/order9/$folder"
    install -m644 "$folder"/*.toml "$to/share/order9/$folder"
done
mkdir -p "$to/share/doc/order9"
install -m644 LICENSE-MIT LICENSE-APACHE CHANGELOG.md "$to/share/doc/order9"
