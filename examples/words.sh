#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The words of each file of a list. The machines must have the files; where they do not, see
# `--upload` and `paths` in docs/cli.md.
#
# usage: words.sh FOLDER
set -eu
find "$(realpath "$1")" -name '*.md' |
  tidemill submit "$(dirname "$0")/words.yaml" --items - --watch
