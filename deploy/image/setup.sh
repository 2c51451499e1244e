#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes an agent machine of a stock Debian 12, Ubuntu 22.04 or 24.04, or of a deep learning image.
# Cloud-init, Packer and people run it alike. A second run changes nothing that is as it should be.
set -euo pipefail

usage() {
  cat << 'END'
usage: setup.sh --from URL --sums SHA256 [--gpu] [--ca URL] [--flags FLAGS]

  --from URL     a folder with SHA256SUMS and what it names: file:///..., https://..., s3://... or
                 gs://... (the last two with the machine's role)
  --sums SHA256  of SHA256SUMS itself; nothing is installed that does not follow from it
  --gpu          installs NVIDIA's driver and container toolkit, where they are missing
  --ca URL       the certificate that vouches for the server
  --flags FLAGS  of tidemill-agent, in one word; it is started then. Without them the machine is an
                 image, and the agent starts when somebody has said them

ROOT=/folder in the environment sets up that tree instead of this machine, and starts nothing.
END
}

from='' sums='' gpu=0 ca='' flags=''
while (($#)); do
  case $1 in
    --from | --sums | --ca | --flags)
      [[ $# -ge 2 ]] || { usage >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    --gpu) gpu=1; shift ;;
    --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
[[ -n $from && $sums =~ ^[0-9a-f]{64}$ ]] || { usage >&2; exit 2; }

root=${ROOT:-}
say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

apt() {
  export DEBIAN_FRONTEND=noninteractive
  # Ten minutes for whoever else installs at boot, and no longer.
  apt-get -qq -o DPkg::Lock::Timeout=600 "$@" > /dev/null
}
apt_lists=0
need() { # PROGRAM PACKAGE...
  if command -v "$1" > /dev/null; then return 0; fi
  say "installing ${*:2}"
  ((apt_lists)) || apt update
  apt_lists=1
  apt install -y --no-install-recommends "${@:2}"
}

fetch() { # URL FILE
  case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    https://*)
      need curl curl ca-certificates &&
        curl -fsS --retry 5 --retry-all-errors --max-time 600 -o "$2" "$1" ;;
    s3://*) need aws awscli && aws s3 cp --only-show-errors "$1" "$2" ;;
    gs://*) need curl curl ca-certificates && fetch_gs "${1#gs://}" "$2" ;;
    *) die "$1: not a file://, https://, s3:// or gs:// URL" ;;
  esac || die "cannot fetch $1"
}
fetch_gs() { # BUCKET/KEY FILE
  local metadata=http://metadata.google.internal/computeMetadata/v1 token key
  token=$(curl -fsS --retry 5 --max-time 60 -H 'Metadata-Flavor: Google' \
    "$metadata/instance/service-accounts/default/token" |
    sed -n 's/.*"access_token" *: *"\([^"]*\)".*/\1/p')
  key=${1#*/}
  # From a file: what stands in a command line everybody on the machine can read.
  curl -fsS --retry 5 --max-time 600 -o "$2" -H @<(echo "Authorization: Bearer $token") \
    "https://storage.googleapis.com/storage/v1/b/${1%%/*}/o/${key//\//%2F}?alt=media"
}

# Puts a file in its place if it is not there yet as it should be; by rename, so that a program that
# runs is not written into.
changed=0
put() { # FILE PLACE MODE
  if cmp -s "$1" "$2" && [[ $(stat -c %a "$2") == "$3" ]]; then return 0; fi
  mkdir -p "${2%/*}"
  cp "$1" "$2.new"
  chmod "$3" "$2.new"
  mv "$2.new" "$2"
  say "$2"
  changed=1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch_programs() {
  local name
  fetch "$from/SHA256SUMS" "$work/SHA256SUMS"
  echo "$sums  $work/SHA256SUMS" | sha256sum --check --status ||
    die "$from/SHA256SUMS is not the one whose hash was given"
  for name in tidemill-agent tidemill-init tidemill-agent.service; do
    grep -q "^[0-9a-f]\{64\}  $name\$" "$work/SHA256SUMS" || die "SHA256SUMS does not name $name"
    # What an image has already need not be fetched.
    if [[ $name != *.service ]] && cp "$root/usr/local/bin/$name" "$work/$name" 2> /dev/null &&
      (cd "$work" && sha256sum --check --status --ignore-missing SHA256SUMS); then
      continue
    fi
    fetch "$from/$name" "$work/$name"
  done
  (cd "$work" && sha256sum --check --quiet --ignore-missing SHA256SUMS) ||
    die "what was fetched is not what SHA256SUMS says"
}

install_docker() {
  need docker docker.io
  need update-ca-certificates ca-certificates # or no registry is believed
  need nft nftables # the agent keeps containers from the metadata service with it
  systemctl enable --now docker
}

# Deep learning images bring both. Elsewhere the driver is the distribution's, and the toolkit comes
# from NVIDIA's own packages.
install_gpu() {
  if ! command -v nvidia-smi > /dev/null; then install_driver; fi
  if command -v nvidia-ctk > /dev/null; then return 0; fi
  local packages=https://nvidia.github.io/libnvidia-container key=/usr/share/keyrings/nvidia.gpg
  need gpg gpg
  fetch "$packages/gpgkey" "$work/key"
  gpg --dearmor < "$work/key" > "$key"
  echo "deb [signed-by=$key] $packages/stable/deb/$(dpkg --print-architecture) /" \
    > /etc/apt/sources.list.d/nvidia.list
  apt_lists=0
  need nvidia-ctk nvidia-container-toolkit
}
install_driver() {
  # shellcheck source=/dev/null
  . /etc/os-release
  case $ID in
    debian)
      sed -i 's/^Components: main$/Components: main contrib non-free non-free-firmware/' \
        /etc/apt/sources.list.d/debian.sources
      need nvidia-smi "linux-headers-cloud-$(dpkg --print-architecture)" nvidia-driver nvidia-smi ;;
    ubuntu) need ubuntu-drivers ubuntu-drivers-common && ubuntu-drivers install --gpgpu ;;
    *) die "no driver for $ID: begin with a deep learning image" ;;
  esac
  modprobe nvidia || say "the driver is loaded with the next boot"
}

# The agent hands out devices by their paths; control devices and libraries come with the runtime.
use_gpus() {
  local gpu
  if ! grep -qs '"default-runtime": *"nvidia"' /etc/docker/daemon.json; then
    nvidia-ctk runtime configure --runtime=docker --set-as-default
    systemctl restart docker
  fi
  mkdir -p /etc/cdi
  nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml
  for gpu in /dev/nvidia[0-9]*; do
    if [[ -e $gpu ]]; then flags+=" --device nvidia.com/gpu=$gpu"; fi
  done
}

write_flags() {
  printf 'TIDEMILL_AGENT_FLAGS=%s\n' "$flags" > "$work/agent.env"
  put "$work/agent.env" "$root/etc/tidemill/agent.env" 600
}

start_agent() {
  systemctl daemon-reload
  systemctl enable --quiet tidemill-agent
  [[ -n $flags ]] || return 0
  if ((changed)); then systemctl restart tidemill-agent; else systemctl start tidemill-agent; fi
}

fetch_programs
for name in tidemill-agent tidemill-init; do
  put "$work/$name" "$root/usr/local/bin/$name" 755
done
unit=etc/systemd/system/tidemill-agent.service
put "$work/tidemill-agent.service" "$root/$unit" 644
if [[ -n $ca ]]; then
  fetch "$ca" "$work/ca.pem"
  put "$work/ca.pem" "$root/etc/tidemill/ca.pem" 644
fi
if [[ -z $root ]]; then
  install_docker
  # Images that have the driver need not say so.
  if ((gpu)) || command -v nvidia-smi > /dev/null; then install_gpu; fi
  if [[ -n $flags ]] && command -v nvidia-smi > /dev/null; then use_gpus; fi
fi
if [[ -n $flags ]]; then write_flags; fi
if [[ -z $root ]]; then
  start_agent
else
  mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
  ln -sfn "/$unit" "$root/etc/systemd/system/multi-user.target.wants/tidemill-agent.service"
fi
say "done"
