# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For scripts that fetch packages of Debian: source it. apt works on lists of its own, which needs no root and leaves the
# machine's packages and architectures alone.
#
# Environment: SHOAL_MIRROR, where packages come from (default: where this machine's apt gets Debian's from).

# begin_apt <folder> <release> <architecture> <deb|deb-src>: fetches the lists of packages, or of sources, into a new folder. Sets
# apt_options, which every later call of apt-get takes.
begin_apt() {
  local folder=$1 release=$2 architecture=$3 kind=$4 keys=/usr/share/keyrings/debian-archive-keyring.gpg
  local mirror=${SHOAL_MIRROR:-}
  command -v apt-get dpkg-deb >/dev/null || die "apt-get and dpkg-deb are missing: sysroots are made of Debian's packages"
  [[ -e $keys ]] || die "$keys is missing: apt-get install debian-archive-keyring"
  if [[ -z $mirror ]]; then mirror=$(toolchains/mirror); fi
  rm -rf "$folder"
  mkdir -p "$folder"/{lists/partial,archives/partial}
  touch "$folder/status"
  echo "$kind [signed-by=$keys] $mirror $release main" >"$folder/sources.list"
  apt_options=(-qq -o Acquire::Retries=3 -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
    -o "Dir::State=$folder" -o "Dir::State::status=$folder/status" -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder"
    -o "Dir::Cache::archives=$folder/archives" -o "Dir::Etc::sourcelist=$folder/sources.list" -o "Dir::Etc::sourceparts=-"
    -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none")
  apt-get "${apt_options[@]}" update
}
