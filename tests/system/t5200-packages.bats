#!/usr/bin/env bats
# The .deb and the archive that cpack makes of this build.

bats_require_minimum_version 1.5.0
load helpers

setup() {
  begin_test
  PATH=/usr/bin:/bin:/usr/sbin:/sbin
}

pack() { # generator
  command -v cpack >/dev/null || skip "no cpack here"
  cpack --config "${BIN%/bin}/CPackConfig.cmake" -G "$1" -B made >cpack.log 2>&1 || { cat cpack.log; return 1; }
}

@test "the .deb has a proper control file, and lintian finds no error" {
  command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-dev here"
  pack DEB
  local deb
  deb=$(echo made/muster_*.deb)
  run dpkg-deb -f "$deb"
  expect_in "$output" "Package: muster"
  expect_in "$output" "Maintainer: "
  expect_in "$output" "libc6 (>= 2."
  expect_in "$output" "Recommends: libhwloc15"
  dpkg-deb -x "$deb" root
  [[ -s root/usr/share/doc/muster/copyright && -s root/usr/share/doc/muster/changelog.Debian.gz ]]
  gzip -t root/usr/share/man/man1/muster-run.1.gz
  [[ -s root/usr/share/zsh/vendor-completions/_muster ]]
  run --separate-stderr bounded root/usr/bin/muster -n 2 muster-worker --backend host --sizes 8
  expect_status 0
  command -v lintian >/dev/null || skip "no lintian here; all else is right"
  run lintian --allow-root --fail-on error "$deb"
  expect_status 0
  expect_not_in "$output" "E: "
}

@test "the archive runs where it is unpacked, without the environment it was made in" {
  pack TGZ
  mkdir "with blanks"
  tar -xzf made/muster-*.tar.gz -C "with blanks"
  local folder
  folder=$(echo "with blanks"/muster-*)
  [[ -d $folder && $(find "with blanks" -mindepth 1 -maxdepth 1 | wc -l) -eq 1 ]]
  run --separate-stderr bounded env -i TEST_TAG="$TEST_TAG" "$folder/bin/muster" -n 2 muster-worker --backend host --sizes 8
  expect_status 0
  expect_in "$output" "verified: 0 wrong"
  command -v man >/dev/null || return 0
  run man -l "$folder/share/man/man1/muster.1"
  expect_in "$output" "launcher for groups of GPU workers"
}
