# SPDX-License-Identifier: Apache-2.0
# One recipe for all four. setup.sh is what cloud-init runs, too; without --flags it makes an image.
build {
  sources = [
    "source.amazon-ebs.plain",
    "source.amazon-ebs.gpu",
    "source.googlecompute.plain",
    "source.googlecompute.gpu",
  ]

  provisioner "shell" {
    inline = ["mkdir -p /tmp/release"]
  }

  provisioner "file" {
    sources = [
      "${var.programs}/tidemill-agent",
      "${var.programs}/tidemill-init",
      "${path.root}/../systemd/tidemill-agent.service",
      "${path.root}/setup.sh",
      "${path.root}/see_gpu.sh",
    ]
    destination = "/tmp/release/"
  }

  provisioner "shell" {
    inline = [
      "cloud-init status --wait || true", # it may be installing, too
      "cd /tmp/release && sha256sum tidemill-* > SHA256SUMS",
      "sums=$(sha256sum /tmp/release/SHA256SUMS | cut -d ' ' -f 1)",
      "gpu=; case ${source.name} in gpu) gpu=--gpu ;; esac",
      "sudo bash /tmp/release/setup.sh --from file:///tmp/release --sums $sums $gpu",
    ]
  }

  # The driver's module is there after a boot for certain; then a container must see the device.
  provisioner "shell" {
    only              = ["amazon-ebs.gpu", "googlecompute.gpu"]
    inline            = ["sudo systemctl reboot"]
    expect_disconnect = true
  }

  provisioner "shell" {
    only         = ["amazon-ebs.gpu", "googlecompute.gpu"]
    pause_before = "30s"
    inline       = ["sudo bash /tmp/release/see_gpu.sh"]
  }

  # Who the machine was, and what it logged, is nothing for those made of its image.
  provisioner "shell" {
    inline = [
      "sudo rm -rf /tmp/release /var/lib/tidemill-agent /etc/tidemill",
      "sudo cloud-init clean --logs --seed",
      "sudo truncate -s 0 /etc/machine-id",
      "sudo rm -f /etc/ssh/ssh_host_* /root/.ssh/authorized_keys",
      "sync",
    ]
  }
}
