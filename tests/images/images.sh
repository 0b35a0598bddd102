#!/usr/bin/env bash
# Builds docker/Dockerfile.cpu with buildah, runs the image with podman, and looks at both with images.bats: without a
# docker engine, and without a registry of images, since the base is made of Debian's packages and given the name that
# FROM says. As root; base and layers are kept in ~/.cache/muster/images, so that a second run only compiles.
# Ends with 77, and the reason, where that cannot be.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_tree=$(cd "$here/../.." && pwd)

cannot() { echo "images cannot be built here: $*"; exit 77; }

((EUID == 0)) || cannot "only root makes the base and the layers"
for tool in buildah podman crun mmdebstrap bats unshare ip; do
  command -v "$tool" >/dev/null || cannot "no $tool; scripts/test.sh --images installs it"
done
# shellcheck source=tests/images/images.bash
source "$here/images.bash"
# Mounts are this run's own and end with it, as does what is in IMAGES_RUN: podman wants the same path every time, and takes an empty
# one for a machine that has just booted.
if [[ ${1-} != --inside ]]; then
  unshare --mount --propagation private true 2>/dev/null || cannot "no mount namespaces"
  exec unshare --mount --propagation private bash "$0" --inside
fi
mkdir -p "$IMAGES_RUN"
mount -t tmpfs tmpfs "$IMAGES_RUN"
# crun refuses a cgroup2 beside cgroups of version 1.
if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi

# The image that Dockerfile.cpu names in FROM: the smallest Debian 12, whose apt, as in that image, keeps no cache.
make_base() { # name
  local container started=$SECONDS
  if "${BUILDAH[@]}" inspect --type image "$1" >/dev/null 2>&1; then return 0; fi
  mmdebstrap --quiet --variant=minbase --aptopt='Dir::Cache::pkgcache ""' --aptopt='Dir::Cache::srcpkgcache ""' bookworm \
    "$IMAGES/base.tar" || cannot "mmdebstrap failed"
  container=$("${BUILDAH[@]}" from scratch)
  "${BUILDAH[@]}" add --quiet "$container" "$IMAGES/base.tar" / >/dev/null
  "${BUILDAH[@]}" commit --quiet --rm "$container" "$1" >/dev/null
  rm -f "$IMAGES/base.tar"
  echo "base $1: made in $((SECONDS - started)) s"
}

build_image() { # Dockerfile, name
  local started=$SECONDS
  if ! "${BUILDAH[@]}" build --isolation chroot --pull-never --layers -f "$1" -t "$2" "$source_tree" >"$IMAGES_RUN/log" 2>&1; then
    tail -n 40 "$IMAGES_RUN/log"
    echo "FAILED: building $1"
    return 1
  fi
  echo "image $2: built in $((SECONDS - started)) s"
}

dockerfile=$source_tree/docker/Dockerfile.cpu
make_base "docker.io/library/$(sed -n 's/^ARG BASE=//p' "$dockerfile")"
build_image "$dockerfile" localhost/muster:cpu
"${BUILDAH[@]}" images --format '{{.Name}}:{{.Tag}} {{.Size}}' | grep -E 'debian|muster'
# The network of the containers is the loopback of this one.
BIN=/usr/bin SOURCE=$source_tree unshare --net bash -c 'ip link set lo up && exec bats --print-output-on-failure "$1"' bash "$here/images.bats"
