#!/usr/bin/env bash
# A stand-in for python:3.12-slim in buildah's store, made from Debian's packages in half a minute, for CI that no
# image registry answers. Needs root, buildah and mmdebstrap. Python's version is Debian's.
set -euo pipefail

name=docker.io/library/python:3.12-slim
buildah inspect --type image "$name" >/dev/null 2>&1 && exit 0
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mmdebstrap --quiet --variant=minbase --include=python3,python3-pip,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' trixie "$tree/root"
ln -s python3 "$tree/root/usr/bin/python"
rm -f "$tree"/root/usr/lib/python3*/EXTERNALLY-MANAGED  # the public image's pip installs without asking
cp /etc/ssl/certs/ca-certificates.crt "$tree/root/etc/ssl/certs/"
container=$(buildah from scratch)
buildah add --quiet "$container" "$tree/root" / >/dev/null
buildah config --env PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin --cmd python3 "$container"
buildah commit --quiet --rm "$container" "$name" >/dev/null
