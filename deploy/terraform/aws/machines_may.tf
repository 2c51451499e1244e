# SPDX-License-Identifier: Apache-2.0
# What the machines' role may, as statements. Every item of a pool without a role of its own may have
# what stands here, so it is as little as work needs: nothing of the server's, no key of a secret.
locals {
  machine_data = [
    {
      Sid       = "Bucket"
      Effect    = "Allow"
      Action    = ["s3:ListBucket"]
      Resource  = [local.bucket_arn]
      Condition = { StringLike = { "s3:prefix" = local.objects } }
    },
    {
      Sid      = "Objects"
      Effect   = "Allow"
      Action   = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
      Resource = concat([for p in local.objects : "${local.bucket_arn}/${p}"], [for arn in local.data_arns : "${arn}/*"])
    },
    {
      Sid      = "ProgramsAndCertificate"
      Effect   = "Allow"
      Action   = ["s3:GetObject"]
      Resource = ["${local.bucket_arn}/programs/*", "${local.bucket_arn}/server/ca.pem"]
    },
  ]

  # An agent that has lost its server for long takes its own machine out of the group. AWS cannot
  # say "itself"; the worst that a stolen machine can do with it is end other machines of pools.
  machine_end = [{
    Sid       = "EndWhenAlone"
    Effect    = "Allow"
    Action    = ["autoscaling:TerminateInstanceInAutoScalingGroup"]
    Resource  = [local.groups_arn]
    Condition = local.ours
  }]

  # The login to a registry knows no resource; what may be pulled does.
  machine_images = [
    {
      Sid      = "RegistryLogin"
      Effect   = "Allow"
      Action   = ["ecr:GetAuthorizationToken"]
      Resource = ["*"]
    },
    {
      Sid      = "Pull"
      Effect   = "Allow"
      Action   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
      Resource = ["arn:aws:ecr:${local.here}:repository/*"]
    },
  ]
}
