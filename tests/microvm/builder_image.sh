#!/usr/bin/env bash
# An image with buildah to build in: `builder_image.sh FILE` makes it from Debian's packages, about 130 MB, one layer.
# Needs root, buildah and mmdebstrap; takes a minute.
set -euo pipefail

archive=$(realpath -m "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mmdebstrap --quiet --variant=minbase --include=buildah,tar,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' trixie "$scratch/root"
# buildah wants netavark even where it makes no networks; its package also has 100 MB of helpers for its own tests.
rm -rf "$scratch"/root/usr/libexec/buildah "$scratch"/root/var/{cache/apt,lib/apt/lists}/*
mkdir -p "$scratch/root/usr/lib/podman"
ln -sf /bin/true "$scratch/root/usr/lib/podman/netavark"
container=$(buildah from scratch)
buildah add --quiet "$container" "$scratch/root" / >/dev/null
buildah config --env PATH=/usr/sbin:/usr/bin:/sbin:/bin --cmd sh "$container"
buildah commit --quiet --rm --format docker "$container" localhost/workbench-builder >/dev/null
rm -f "$archive"
buildah push --quiet localhost/workbench-builder "docker-archive:$archive:localhost/workbench-builder:latest" >/dev/null
buildah rmi localhost/workbench-builder >/dev/null
