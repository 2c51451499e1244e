# SPDX-License-Identifier: Apache-2.0
# What the server's role may, as statements.
locals {
  # None of these knows a resource or a condition.
  may_look = [{
    Sid    = "Look"
    Effect = "Allow"
    Action = [
      "autoscaling:DescribeAutoScalingGroups",
      "autoscaling:DescribeScalingActivities",
      "ec2:DescribeImages",
      "ec2:DescribeInstances",
      "ec2:DescribeLaunchTemplates",
      "ec2:DescribeLaunchTemplateVersions",
      "ecr:GetAuthorizationToken",
    ]
    Resource = ["*"]
  }]

  # Groups by name; Auto Scaling needs its own service roles, once an account.
  may_keep_groups = [
    {
      Sid    = "Groups"
      Effect = "Allow"
      Action = [
        "autoscaling:CreateAutoScalingGroup",
        "autoscaling:CreateOrUpdateTags",
        "autoscaling:DeleteAutoScalingGroup",
        "autoscaling:SetDesiredCapacity",
        "autoscaling:SuspendProcesses",
        "autoscaling:TerminateInstanceInAutoScalingGroup",
        "autoscaling:UpdateAutoScalingGroup",
      ]
      Resource = [local.groups_arn]
    },
    {
      Sid    = "ServiceRoles"
      Effect = "Allow"
      Action = ["iam:CreateServiceLinkedRole"]
      Resource = [
        "arn:aws:iam::${var.account}:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
        "arn:aws:iam::${var.account}:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot",
      ]
      Condition = {
        StringEquals = { "iam:AWSServiceName" = ["autoscaling.amazonaws.com", "spot.amazonaws.com"] }
      }
    },
  ]

  # Templates have no name in their ARN: a new one must come with our tag, another one must have it.
  may_keep_templates = [
    {
      Sid       = "NewTemplates"
      Effect    = "Allow"
      Action    = ["ec2:CreateLaunchTemplate"]
      Resource  = [local.template_arn]
      Condition = { StringLike = { "aws:RequestTag/tidemill-project" = "*" } }
    },
    {
      Sid    = "Templates"
      Effect = "Allow"
      Action = [
        "ec2:CreateLaunchTemplateVersion",
        "ec2:DeleteLaunchTemplate",
      ]
      Resource  = [local.template_arn]
      Condition = local.ours
    },
  ]

  # A group starts instances with the rights of whoever made it: only of our templates, only here,
  # only with the machines' role.
  may_keep_instances = [
    {
      Sid    = "Run"
      Effect = "Allow"
      Action = ["ec2:RunInstances"]
      Resource = concat(
        [
          local.instance_arn,
          "arn:aws:ec2:${local.here}:volume/*",
          "arn:aws:ec2:${local.here}:network-interface/*",
          "arn:aws:ec2:${local.here}:key-pair/*",
          "arn:aws:ec2:${local.here}:security-group/${aws_security_group.machines.id}",
          "arn:aws:ec2:${var.region}::image/*",
          "arn:aws:ec2:${var.region}::snapshot/*",
        ],
        [for subnet in local.machine_subnets : "arn:aws:ec2:${local.here}:subnet/${subnet}"],
      )
      Condition = { ArnLike = { "ec2:LaunchTemplate" = local.template_arn } }
    },
    {
      Sid       = "RunOurTemplates"
      Effect    = "Allow"
      Action    = ["ec2:RunInstances"]
      Resource  = [local.template_arn]
      Condition = local.ours
    },
    {
      Sid      = "TagWhatIsMade"
      Effect   = "Allow"
      Action   = ["ec2:CreateTags"]
      Resource = [local.template_arn, local.instance_arn, "arn:aws:ec2:${local.here}:volume/*"]
      Condition = {
        StringEquals = { "ec2:CreateAction" = ["CreateLaunchTemplate", "RunInstances"] }
      }
    },
    {
      Sid      = "NameMachines"
      Effect   = "Allow"
      Action   = ["ec2:CreateTags", "ec2:DeleteTags"]
      Resource = [local.instance_arn]
      Condition = {
        StringLike                  = { "aws:ResourceTag/tidemill-project" = "*" }
        "ForAllValues:StringEquals" = { "aws:TagKeys" = ["tidemill-machine"] }
      }
    },
    {
      Sid       = "End"
      Effect    = "Allow"
      Action    = ["ec2:TerminateInstances"]
      Resource  = [local.instance_arn]
      Condition = local.ours
    },
    {
      Sid       = "GiveMachinesTheirRole"
      Effect    = "Allow"
      Action    = ["iam:PassRole"]
      Resource  = ["${local.role_prefix}-machines"]
      Condition = { StringEquals = { "iam:PassedToService" = "ec2.amazonaws.com" } }
    },
  ]

  server_data = [
    {
      Sid      = "Bucket"
      Effect   = "Allow"
      Action   = ["s3:ListBucket"]
      Resource = concat([local.bucket_arn], local.data_arns)
    },
    {
      Sid      = "Objects"
      Effect   = "Allow"
      Action   = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
      Resource = [for prefix in concat(local.objects, ["server/*"]) : "${local.bucket_arn}/${prefix}"]
    },
    {
      Sid      = "Programs"
      Effect   = "Allow"
      Action   = ["s3:GetObject"]
      Resource = ["${local.bucket_arn}/programs/*"]
    },
    {
      Sid    = "Events"
      Effect = "Allow"
      Action = [
        "sqs:ChangeMessageVisibility",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
        "sqs:ReceiveMessage",
      ]
      Resource = [local.queue_arn]
    },
    {
      Sid      = "PinImages"
      Effect   = "Allow"
      Action   = ["ecr:BatchGetImage", "ecr:DescribeImages"]
      Resource = ["arn:aws:ecr:${local.here}:repository/*"]
    },
  ]

  # What must outlive the server's disk: the keys of secrets, the certificate's key, the first token.
  server_kept = [{
    Sid      = "Kept"
    Effect   = "Allow"
    Action   = ["ssm:GetParameter", "ssm:PutParameter"]
    Resource = [local.kept_arn]
  }]

  server_database = [for database in aws_db_instance.this : {
    Sid      = "MasterOfTheDatabase"
    Effect   = "Allow"
    Action   = ["secretsmanager:GetSecretValue"]
    Resource = [database.master_user_secret[0].secret_arn]
  }]

  # Machines may not: a job's keys reach those alone that run it.
  server_roles = length(var.job_roles) == 0 ? [] : [{
    Sid      = "RolesOfJobs"
    Effect   = "Allow"
    Action   = ["sts:AssumeRole"]
    Resource = var.job_roles
  }]
}
