# Shared by images.sh and images.bats. Everything is below IMAGES: base and layers, which are kept, and in IMAGES_RUN one run's state.
: "${IMAGES:=${XDG_CACHE_HOME:-$HOME/.cache}/muster/images}"
IMAGES_RUN=$IMAGES/run
export IMAGES

STORE=(--root "$IMAGES/storage" --runroot "$IMAGES_RUN" --storage-driver "${STORAGE_DRIVER:-overlay}")
BUILDAH=(buildah "${STORE[@]}")
PODMAN=(podman "${STORE[@]}" --cgroup-manager cgroupfs --events-backend file --tmpdir "$IMAGES_RUN/podman")
