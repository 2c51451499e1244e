# SPDX-License-Identifier: Apache-2.0
# tidemill.yaml: the pools that `tidemill apply` makes. The server makes their groups itself, with no
# machine in them until there is work.
data "aws_ami" "gpu" {
  most_recent = true
  owners      = ["amazon"]
  filter {
    name   = "name"
    values = ["Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) *"]
  }
  filter {
    name   = "architecture"
    values = ["x86_64"]
  }
}

locals {
  sums = join("", [for name, hash in local.hashes : "${hash}  ${name}\n"])
  hashes = merge(
    { for name in local.programs : name => filesha256("${var.programs}/${name}") },
    { for name, path in local.files : name => filesha256(path) },
  )
  image     = var.machine_image == null ? data.aws_ami.debian.id : var.machine_image
  gpu_image = var.gpu_image == null ? data.aws_ami.gpu.id : var.gpu_image

  user_data = { for pool in ["cpu", "gpu"] : pool => templatefile("${path.module}/../../image/agent.yaml", {
    cloud  = "aws"
    server = local.machine_url
    pool   = pool
    setup  = base64gzip(file(local.files["setup.sh"]))
    from   = "s3://${local.bucket}/programs"
    sums   = sha256(local.sums)
    ca     = "s3://${local.bucket}/server/ca.pem"
  }) }

  options = {
    region          = var.region
    subnets         = local.machine_subnets
    security_groups = [aws_security_group.machines.id]
    role            = aws_iam_instance_profile.machines.name
    tags            = { deployment = local.prefix }
  }

  cpu_pool = {
    provider  = "aws"
    shape     = { cpus = var.cpu_pool.cpus, memory = var.cpu_pool.memory }
    spot      = true
    price     = var.cpu_pool.price
    on_demand = var.cpu_pool.on_demand
    min       = 0
    max       = var.cpu_pool.max
    idle      = "3m"
    labels    = { arch = "amd64" }
    options = merge(local.options, {
      types     = var.cpu_pool.types
      image     = local.image
      disk_gb   = var.cpu_pool.disk_gb
      user_data = local.user_data["cpu"]
    })
  }

  gpu_pool = {
    provider = "aws"
    shape = {
      cpus    = var.gpu_pool.cpus
      memory  = var.gpu_pool.memory
      devices = { "nvidia.com/gpu" = var.gpu_pool.gpus }
    }
    spot      = true
    price     = var.gpu_pool.price
    on_demand = var.gpu_pool.on_demand
    min       = 0
    max       = var.gpu_pool.max
    idle      = "3m"
    labels    = { arch = "amd64", accelerator = "nvidia" }
    options = merge(local.options, {
      types     = var.gpu_pool.types
      image     = local.gpu_image
      disk_gb   = var.gpu_pool.disk_gb
      user_data = local.user_data["gpu"]
    })
  }

  pools = { cpu = local.cpu_pool, gpu = local.gpu_pool }
  # Apart, so that work without accelerators does not end up on machines that are paid for theirs.
  queues        = { default = { pools = ["cpu"] }, gpu = { pools = ["gpu"] } }
  tidemill_yaml = yamlencode({ pools = local.pools, queues = local.queues })
}
