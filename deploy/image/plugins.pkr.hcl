# SPDX-License-Identifier: Apache-2.0
# For Packer from 1.7 on, which fetches these with `packer init .`
packer {
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "~> 1"
    }
    googlecompute = {
      source  = "github.com/hashicorp/googlecompute"
      version = "~> 1"
    }
  }
}
