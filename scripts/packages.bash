# Shared by quickstart.sh and test.sh: `say`, and `need_packages`, which installs what is missing and
# nothing else. Debian 12 and Ubuntu 24.04; elsewhere it names what has to be there.

say() { printf '%s: %s\n' "${0##*/}" "$*"; }

# The libraries that cmake/MusterDeps.cmake asks for, as packages. $1: the project's root.
library_packages() {
  local row
  while read -r row; do
    case $row in
    uv) echo libuv1-dev ;;
    jansson) echo libjansson-dev ;;
    sodium) echo libsodium-dev ;;
    hwloc) echo libhwloc-dev ;;
    *) say "cmake/MusterDeps.cmake asks for '$row', and scripts/packages.bash knows no package of it" >&2 ;;
    esac
  done < <(sed -n 's/^ *muster_dep(\([a-z]*\).*/\1/p; s/^ *pkg_check_modules(\(hwloc\|sodium\) .*/\1/p' \
    "$1/cmake/MusterDeps.cmake" | sort -u)
}

build_packages() {
  echo cmake ninja-build gcc libc6-dev pkg-config
  library_packages "$1"
}

# Those of the given packages that dpkg does not know as installed.
missing_packages() {
  local package
  for package in "$@"; do
    # shellcheck disable=SC2016 # dpkg's own variable
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -n true 2>/dev/null || say "sudo may ask for your password, to install packages"
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    say "neither root nor sudo; run this as root: $*" >&2
    return 1
  fi
}

# need_packages LABEL PACKAGE...
need_packages() {
  local label=$1 missing
  shift
  if ! command -v apt-get >/dev/null; then
    say "$label: no apt here; these have to be there: $*"
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    say "$label: all $# packages are already installed"
    return 0
  fi
  say "$label: installing ${#missing[@]} of $# packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  if ! { as_root apt-get update -q && as_root apt-get install -y -q --no-install-recommends "${missing[@]}"; } \
    </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "$label: apt-get failed" >&2
    return 1
  fi
  rm -f "$log"
}

# fetch_package FOLDER PACKAGE: its .deb, not installed. The lists may be missing, as in an image.
fetch_package() {
  if [[ -z $(apt-cache madison "$2" 2>/dev/null) ]]; then as_root apt-get update -q >/dev/null 2>&1; fi
  (cd "$1" && apt-get download -q "$2") >/dev/null 2>&1
}

# Runs a command while no package may start a service: Debian's own switch, put back afterwards.
without_services() { # command...
  local switch=/usr/sbin/policy-rc.d status=0
  [[ -e $switch ]] && { "$@"; return; }
  as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$switch && chmod 755 $switch" || return 1
  "$@" || status=$?
  as_root rm -f "$switch"
  return "$status"
}

# Of the given packages, those that this system's archive has; the others are named.
available_packages() {
  local package
  for package in "$@"; do
    if [[ -n $(apt-cache madison "$package" 2>/dev/null) ]] || [[ -z $(missing_packages "$package") ]]; then
      echo "$package"
    else
      say "this system has no package $package; what needs it is skipped" >&2
    fi
  done
}
