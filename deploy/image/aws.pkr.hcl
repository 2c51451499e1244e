# SPDX-License-Identifier: Apache-2.0
# Plain: Debian 12 with Docker and the agent. GPU: Ubuntu 22.04 with driver and toolkit, too; it is
# made on a machine with a GPU, so that a container has seen the device before a fleet is paid for.
source "amazon-ebs" "plain" {
  region        = var.region
  instance_type = "t3.medium"
  ami_name      = "tidemill-plain-${var.version}"
  ssh_username  = "admin"
  source_ami_filter {
    owners      = ["136693071363"] # Debian's own account
    most_recent = true
    filters = {
      name                = "debian-12-amd64-*"
      architecture        = "x86_64"
      virtualization-type = "hvm"
    }
  }
  launch_block_device_mappings {
    device_name           = "/dev/xvda"
    volume_size           = 10
    volume_type           = "gp3"
    throughput            = 125
    iops                  = 3000
    delete_on_termination = true
  }
}

source "amazon-ebs" "gpu" {
  region        = var.region
  instance_type = "g4dn.xlarge"
  ami_name      = "tidemill-gpu-${var.version}"
  ssh_username  = "ubuntu"
  source_ami_filter {
    owners      = ["099720109477"] # Canonical
    most_recent = true
    filters = {
      name                = "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-*"
      architecture        = "x86_64"
      virtualization-type = "hvm"
    }
  }
  launch_block_device_mappings {
    device_name           = "/dev/sda1"
    volume_size           = 40
    volume_type           = "gp3"
    throughput            = 125
    iops                  = 3000
    delete_on_termination = true
  }
}
