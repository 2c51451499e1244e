#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether a container sees every NVIDIA device of this machine, by CDI and by Docker's default
# runtime: the image fails to build otherwise.
set -euo pipefail
image=${1:-debian:12-slim}
die() { echo "see_gpu: $*" >&2; exit 1; }

devices=(/dev/nvidia[0-9]*)
[[ -e ${devices[0]} ]] || die "there is no /dev/nvidia0"
nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
mkdir -p /etc/cdi
nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml
nvidia-ctk runtime configure --runtime=docker --set-as-default --cdi.enabled
systemctl restart docker

seen() { # FLAGS of docker run
  local lines
  lines=$(docker run --rm --network none "$@" "$image" nvidia-smi --list-gpus) ||
    die "docker run $* failed"
  [[ $(grep -c '^GPU ' <<< "$lines") == "${#devices[@]}" ]] ||
    die "with $* a container sees: $lines"
}
docker pull --quiet "$image" > /dev/null
seen --device nvidia.com/gpu=all
seen --env NVIDIA_VISIBLE_DEVICES=all --env NVIDIA_DRIVER_CAPABILITIES=utility,compute
docker rmi "$image" > /dev/null
echo "see_gpu: containers see ${#devices[@]} of ${#devices[@]}"
