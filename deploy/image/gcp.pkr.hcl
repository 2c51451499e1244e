# SPDX-License-Identifier: Apache-2.0
# Ubuntu for both: Google's Debian has no cloud-init, by which a machine is told its pool.
source "googlecompute" "plain" {
  project_id          = var.project
  zone                = var.zone
  machine_type        = "e2-medium"
  source_image_family = "ubuntu-2204-lts"
  image_name          = "tidemill-plain-${replace(var.version, ".", "-")}"
  image_family        = "tidemill-plain"
  ssh_username        = "packer"
  disk_size           = 10
}

source "googlecompute" "gpu" {
  project_id          = var.project
  zone                = var.zone
  machine_type        = "g2-standard-4" # comes with an L4
  on_host_maintenance = "TERMINATE"
  source_image_family = "ubuntu-2204-lts"
  image_name          = "tidemill-gpu-${replace(var.version, ".", "-")}"
  image_family        = "tidemill-gpu"
  ssh_username        = "packer"
  disk_size           = 40
}
