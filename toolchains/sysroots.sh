# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts share that fill build-sysroot: source it, and call choose_target first. apt works on lists of its own, which
# needs no root and leaves the machine's packages and architectures alone.
#
# Environment: SHOAL_MIRROR, where packages come from (default: where this machine's apt gets Debian's from).
#              SHOAL_SYSROOTS, the folder of the sysroots (default: build-sysroot).
release=trixie
sysroots=$(realpath -m "${SHOAL_SYSROOTS:-build-sysroot}")

# choose_target <name of the script> <target>: sets target, triplet (the prefix of the compiler's programs) and root (the
# sysroot's folder).
choose_target() {
  local -A triplets=([arm64]=aarch64-linux-gnu [armhf]=arm-linux-gnueabihf [riscv64]=riscv64-linux-gnu [amd64]=x86_64-linux-gnu)
  target=${2:-}
  triplet=${triplets[${target:-none}]:-}
  [[ -n $triplet ]] || die "usage: toolchains/$1 arm64|armhf|riscv64|amd64"
  # shellcheck disable=SC2034  # The scripts that source this file use it.
  root=$sysroots/$target
}

# begin_apt <folder> <deb|deb-src>: fetches the lists of the release's packages for the target, or of its sources, into a new
# folder. Sets apt_options, which every later call of apt-get takes.
begin_apt() {
  local folder=$1 kind=$2 keys=/usr/share/keyrings/debian-archive-keyring.gpg
  local mirror=${SHOAL_MIRROR:-}
  command -v apt-get dpkg-deb >/dev/null || die "apt-get and dpkg-deb are missing: sysroots are made of Debian's packages"
  [[ -e $keys ]] || die "$keys is missing: apt-get install debian-archive-keyring"
  if [[ -z $mirror ]]; then mirror=$(toolchains/mirror); fi
  rm -rf "$folder"
  mkdir -p "$folder"/{lists/partial,archives/partial}
  touch "$folder/status"
  echo "$kind [signed-by=$keys] $mirror $release main" >"$folder/sources.list"
  apt_options=(-qq -o Acquire::Retries=3 -o "APT::Architecture=$target" -o "APT::Architectures=$target"
    -o "Dir::State=$folder" -o "Dir::State::status=$folder/status" -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder"
    -o "Dir::Cache::archives=$folder/archives" -o "Dir::Etc::sourcelist=$folder/sources.list" -o "Dir::Etc::sourceparts=-"
    -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none")
  apt-get "${apt_options[@]}" update
}
