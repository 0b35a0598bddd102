#!/usr/bin/env bash
# Tries what the RUN lines of the Dockerfiles say, on this system and without docker: every package of
# their apt-get lines is known to apt here (where the image is of another system than this one, a
# package that only that system has is named, not failed), and the cmake commands, run in a copy of
# the sources, put the programs where COPY --from=build takes them from; these start, and need no
# library that the last stage does not install.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# The RUN instructions of a file, one a line, continuation lines joined.
run_lines() {
  sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$1" | sed -n 's/^RUN *//p' | tr -s ' '
}

# debian, ubuntu: the system of the image.
system_of() {
  if grep -q 'ubuntu' "$1"; then echo ubuntu; else echo debian; fi
}

check_packages() { # file
  local here image package
  here=$(sed -n 's/^ID=//p' /etc/os-release)
  image=$(system_of "$1")
  for package in $(run_lines "$1" | grep -o 'apt-get install [^&]*' | sed 's/apt-get install//' | tr ' ' '\n' | grep -v '^-' | sort -u); do
    if [[ -n $(apt-cache --names-only search "^$package\$" 2>/dev/null) ]] || dpkg -s "$package" >/dev/null 2>&1; then
      echo "$1: package $package exists"
    elif [[ $here == "$image" ]]; then
      fail "$1: $here has no package $package"
    else
      echo "$1: NOT CHECKED: package $package (the image is $image, this is $here)"
    fi
  done
}

# has_cuda FOLDER: whether this system has what the NCCL backend is built with. Configures there.
has_cuda() {
  ! cmake -S "$scratch/src" -B "$1" -G Ninja -DBUILD_TESTING=OFF -DMUSTER_CUDA=REQUIRED 2>&1 | grep -q "MUSTER_CUDA is REQUIRED"
}

# The cmake lines, with /build, /stage and the working folder replaced; everything else as written.
check_build() { # file
  local tree=$scratch/src build=$scratch/build-${1##*.} stage=$scratch/stage-${1##*.} line folder program needed
  line=$(run_lines "$1" | grep '^cmake' | sed "s|/build\\b|$build|g; s|/stage\\b|$stage|g")
  if [[ $line == *MUSTER_CUDA=REQUIRED* ]] && ! has_cuda "$build"; then
    echo "$1: NOT CHECKED: the NCCL backend (no CUDA toolkit or no nccl.h here)"
    line=${line/MUSTER_CUDA=REQUIRED/MUSTER_CUDA=OFF}
  fi
  if ! (cd "$tree" && bash -c "$line") >"$scratch/log" 2>&1; then
    tail -n 30 "$scratch/log"
    fail "$1: $line"
    return
  fi
  folder=$stage$(sed -n 's|^COPY --from=build /stage\(/[^ ]*\) .*|\1|p' "$1")
  for program in muster muster-worker muster-torchrun; do
    if "$folder$program" --help >/dev/null; then echo "$1: $program starts"; else fail "$1: no $program in $folder"; fi
  done
  needed=$(readelf -d "${folder}muster" "${folder}muster-worker" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    sort -u | grep -vE '^(lib(c|m|dl|rt|pthread)\.so|ld-linux)' || true)
  [[ -z $needed ]] || fail "$1: programs need ${needed//$'\n'/ }, which the image does not install"
}

# COPY . . of a checkout: what git knows or would add; of a source archive: all but build folders.
copy_sources() {
  mkdir -p "$scratch/src"
  if [[ -e .git ]]; then
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' name; do
      [[ -e $name ]] && printf '%s\0' "$name"
    done | tar --null -T - -cf - | tar -xf - -C "$scratch/src"
  else
    tar --exclude=./build --exclude=./out -cf - . | tar -xf - -C "$scratch/src"
  fi
}

copy_sources
for file in docker/Dockerfile.*; do
  if command -v apt-cache >/dev/null; then check_packages "$file"; else echo "$file: NOT CHECKED: packages (no apt here)"; fi
  check_build "$file"
done
((failures == 0)) || { echo "$failures failed"; exit 1; }
