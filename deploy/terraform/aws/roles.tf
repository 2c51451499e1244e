# SPDX-License-Identifier: Apache-2.0
# Two roles: the server's makes machines, the machines' runs them. Neither may act outside of what
# has our names or tags; where AWS knows no resource for an action, it only describes.
locals {
  here         = "${var.region}:${var.account}"
  role_prefix  = "arn:aws:iam::${var.account}:role/${local.prefix}"
  groups_arn   = "arn:aws:autoscaling:${local.here}:autoScalingGroup:*:autoScalingGroupName/tidemill-*"
  template_arn = "arn:aws:ec2:${local.here}:launch-template/*"
  instance_arn = "arn:aws:ec2:${local.here}:instance/*"
  kept_arn     = "arn:aws:ssm:${local.here}:parameter/tidemill/${var.name}/*"
  ours         = { StringLike = { "aws:ResourceTag/tidemill-project" = "*" } }
  objects      = ["tidemill/*", "data/*"]
  data_arns    = [for bucket in var.data_buckets : "arn:aws:s3:::${bucket}"]
}

resource "aws_iam_role" "server" {
  name               = "${local.prefix}-server"
  assume_role_policy = local.trust_ec2
}

resource "aws_iam_role" "machines" {
  name               = "${local.prefix}-machines"
  assume_role_policy = local.trust_ec2
}

resource "aws_iam_instance_profile" "server" {
  name = aws_iam_role.server.name
  role = aws_iam_role.server.name
}

resource "aws_iam_instance_profile" "machines" {
  name = aws_iam_role.machines.name
  role = aws_iam_role.machines.name
}

locals {
  trust_ec2 = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "server_machines" {
  name = "machines"
  role = aws_iam_role.server.name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(local.may_look, local.may_keep_groups, local.may_keep_templates, local.may_keep_instances)
  })
}

resource "aws_iam_role_policy" "server_data" {
  name = "data"
  role = aws_iam_role.server.name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(local.server_data, local.server_kept, local.server_roles, var.small ? [] : local.server_database)
  })
}

resource "aws_iam_role_policy" "machines" {
  name = "work"
  role = aws_iam_role.machines.name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(local.machine_data, local.machine_end, local.machine_images)
  })
}
