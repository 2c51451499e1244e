# SPDX-License-Identifier: Apache-2.0
# One server. Its disk is of no worth: what lasts is in the database, the bucket and Parameter Store.
# Its addresses belong to a network interface that stays when the instance is replaced.
data "aws_ami" "debian" {
  most_recent = true
  owners      = ["136693071363"] # Debian's own account
  filter {
    name   = "name"
    values = ["debian-12-amd64-*"]
  }
  filter {
    name   = "architecture"
    values = ["x86_64"]
  }
}

resource "aws_network_interface" "server" {
  subnet_id       = local.server_subnet
  security_groups = [aws_security_group.server.id]
  tags            = { Name = "${local.prefix}-server" }
}

resource "aws_eip" "server" {
  count             = var.server_public ? 1 : 0
  domain            = "vpc"
  network_interface = aws_network_interface.server.id
  tags              = { Name = "${local.prefix}-server" }
  depends_on        = [aws_internet_gateway.this]
}

locals {
  server_private = aws_network_interface.server.private_ip
  server_public  = var.server_public ? aws_eip.server[0].public_ip : local.server_private
  machine_url    = "https://${local.server_private}:8443"
  server_settings = {
    CLOUD           = "aws"
    REGION          = var.region
    BUCKET          = local.bucket
    KEPT            = "/tidemill/${var.name}/"
    ADDRESSES       = join(" ", distinct([local.server_private, local.server_public]))
    MACHINE_URL     = local.machine_url
    SUMS_SHA256     = sha256(local.sums)
    DATABASE_HOST   = var.small ? "" : aws_db_instance.this[0].address
    DATABASE_MASTER = var.small ? "" : aws_db_instance.this[0].master_user_secret[0].secret_arn
    DATABASE_DISK   = var.small ? "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_${replace(aws_ebs_volume.database[0].id, "-", "")}" : ""
  }
}

resource "aws_instance" "server" {
  ami                         = data.aws_ami.debian.id
  instance_type               = var.server_type
  iam_instance_profile        = aws_iam_instance_profile.server.name
  user_data_replace_on_change = true
  user_data = join("\n", concat(
    ["#!/bin/bash"],
    [for name, value in local.server_settings : "export ${name}='${value}'"],
    [file("${path.module}/../../image/server.sh")],
  ))
  primary_network_interface {
    network_interface_id = aws_network_interface.server.id
  }
  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
  root_block_device {
    volume_type = "gp3"
    volume_size = 10
    encrypted   = true
  }
  tags = { Name = "${local.prefix}-server" }
  lifecycle {
    ignore_changes = [ami] # a newer Debian alone is no reason for an outage
  }
  depends_on = [
    aws_s3_object.programs,
    aws_s3_object.files,
    aws_iam_role_policy.server_data,
    aws_iam_role_policy.server_machines,
    aws_eip.server,
    aws_vpc_security_group_egress_rule.server,
  ]
}

# If the hardware under it fails, AWS moves it to other hardware, with its addresses and disks.
resource "aws_cloudwatch_metric_alarm" "server_lost" {
  alarm_name          = "${local.prefix}-server-lost"
  namespace           = "AWS/EC2"
  metric_name         = "StatusCheckFailed_System"
  dimensions          = { InstanceId = aws_instance.server.id }
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 2
  threshold           = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  alarm_actions       = ["arn:aws:automate:${var.region}:ec2:recover"]
}

# The smallest form: PostgreSQL's disk, apart from the server's own.
resource "aws_ebs_volume" "database" {
  count             = var.small ? 1 : 0
  availability_zone = local.server_zone
  size              = var.database_gb
  type              = "gp3"
  encrypted         = true
  final_snapshot    = var.keep_data
  tags              = { Name = "${local.prefix}-database" }
}

resource "aws_volume_attachment" "database" {
  count                          = var.small ? 1 : 0
  device_name                    = "/dev/sdf"
  volume_id                      = aws_ebs_volume.database[0].id
  instance_id                    = aws_instance.server.id
  stop_instance_before_detaching = true
}
