#!/usr/bin/env bash
# Unpacks the newest cloud kernel of a suite of Debian, from the mirror that apt is configured with, without touching
# what is installed: DIR/SUITE/vmlinuz and DIR/SUITE/modules/.
#
#   scripts/captures/kernel.sh DIR SUITE
set -euo pipefail

dir=$1 suite=$2
keyring=${KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
mkdir -p "$dir/$suite/lists/partial" "$dir/$suite/cache/archives/partial" "$dir/$suite/unpacked"
cd "$dir/$suite"
[ -e vmlinuz ] && exit 0

mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
echo "deb [signed-by=$keyring] $mirror $suite main" >sources
apt=(-o "Dir::Etc::SourceList=$PWD/sources" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$PWD/lists"
    -o "Dir::Cache=$PWD/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root)
apt-get "${apt[@]}" -qq update

# The packages that the name of all cloud kernels stands for, and what these are split into from 7.2 on.
needs() { apt-cache "${apt[@]}" show "$1" | sed -n 's/^Depends: //p' | head -n 1 | tr ',|' '\n\n' | awk '{ print $1 }'; }
image=$(needs linux-image-cloud-amd64 | grep '^linux-image-.*-cloud-amd64$' | head -n 1)
packages=("$image")
for part in $(needs "$image" | grep -E '^linux-(binary|modules)-.*-cloud-amd64$' || true); do packages+=("$part"); done
apt-get "${apt[@]}" -qq download "${packages[@]}"
for package in ./*.deb; do dpkg -x "$package" unpacked; done

kernel=$(find unpacked -name 'vmlinuz*' -type f | head -n 1)
modules=$(find unpacked -type d -path '*lib/modules/*' -name kernel | head -n 1)
mv "$modules" modules
cp "$kernel" vmlinuz
rm -rf unpacked lists cache ./*.deb sources
