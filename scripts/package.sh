#!/usr/bin/env bash
# Makes what can be installed elsewhere, into out/. What is in each is in docs/install.md.
#
#   scripts/package.sh deb      muster_VERSION-1_ARCH.deb for this system, linked to its libraries
#   scripts/package.sh tarball  muster-VERSION-linux-ARCH.tar.gz, which runs where it is unpacked
#   scripts/package.sh wheel    muster-VERSION-py3-none-linux_ARCH.whl, for pip
#
# It needs the build packages (scripts/quickstart.sh installs them); deb also dpkg-dev, wheel python3-venv.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD out=$PWD/out
# shellcheck source=scripts/packages.bash
source scripts/packages.bash

# build NAME OPTION...: an optimised build of its own in build/package-NAME
build() {
  local build=$root/build/package-$1 log=$root/build/package-$1.log
  shift
  mkdir -p "$build"
  if ! { cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DMUSTER_WERROR=OFF "$@" &&
    cmake --build "$build"; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    say "the build failed; all of its output is in $log" >&2
    return 1
  fi
}

# pack NAME GENERATOR
pack() {
  local scratch
  scratch=$(mktemp -d)
  cpack --config "build/package-$1/CPackConfig.cmake" -G "$2" -B "$scratch" >"build/cpack-$1.log" 2>&1 ||
    { tail -n 20 "build/cpack-$1.log" >&2; return 1; }
  find "$scratch" -maxdepth 1 -type f -exec mv -t "$out" {} + -printf "${0##*/}: out/%f\n"
  rm -rf "$scratch"
}

# An archive for other machines may need nothing that glibc does not bring. Says from which version on.
check_portable() { # program...
  local program needed newest
  for program in "$@"; do
    needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(lib(c|m|dl|rt|pthread)\.so|ld-linux)' || true)
    newest=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
    [[ -z $needed ]] || { say "$program needs ${needed//$'\n'/ }: archives (*.a) of the libraries are missing here" >&2; return 1; }
    say "${program##*/} needs glibc ${newest#GLIBC_} or newer, and no other library"
  done
}

mkdir -p "$out"
case ${1-} in
deb)
  build deb -DMUSTER_STATIC_DEPS=OFF -DCMAKE_INSTALL_PREFIX=/usr
  pack deb DEB
  ;;
tarball)
  build tarball -DMUSTER_STATIC_DEPS=ON
  check_portable build/package-tarball/bin/muster build/package-tarball/bin/muster-worker
  pack tarball TGZ
  ;;
wheel)
  python3 -m venv build/package-venv
  build/package-venv/bin/pip wheel -q . --no-deps -w "$out"
  say "the wheel is in out/"
  ;;
*)
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
  exit 2
  ;;
esac
