# SPDX-License-Identifier: Apache-2.0
# tidemill.yaml: the pools that `tidemill apply` makes. The server makes their groups itself, with no
# machine in them until there is work.
locals {
  sums = join("", [for name, hash in local.hashes : "${hash}  ${name}\n"])
  hashes = merge(
    { for name in local.programs : name => filesha256("${var.programs}/${name}") },
    { for name, path in local.files : name => filesha256(path) },
  )

  user_data = { for pool in ["cpu", "gpu"] : pool => templatefile("${path.module}/../../image/agent.yaml", {
    cloud  = "gcp"
    server = local.machine_url
    pool   = pool
    setup  = base64gzip(file(local.files["setup.sh"]))
    from   = "gs://${local.bucket}/programs"
    sums   = sha256(local.sums)
    ca     = "gs://${local.bucket}/server/ca.pem"
  }) }

  options = {
    project         = var.project
    zone            = var.zone
    network         = local.network
    subnet          = local.subnet
    service_account = google_service_account.machines.email
    labels          = { deployment = local.prefix }
  }

  cpu_pool = {
    provider  = "gcp"
    shape     = { cpus = var.cpu_pool.cpus, memory = var.cpu_pool.memory }
    spot      = true
    price     = var.cpu_pool.price
    on_demand = var.cpu_pool.on_demand
    min       = 0
    max       = var.cpu_pool.max
    idle      = "3m"
    labels    = { arch = "amd64" }
    options = merge(local.options, {
      type      = var.cpu_pool.type
      image     = var.machine_image
      disk_gb   = var.cpu_pool.disk_gb
      user_data = local.user_data["cpu"]
    })
  }

  gpu_pool = {
    provider = "gcp"
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
      type      = var.gpu_pool.type
      image     = var.gpu_image
      disk_gb   = var.gpu_pool.disk_gb
      user_data = local.user_data["gpu"]
      }, var.gpu_pool.accelerator == null ? {} : {
      accelerators = { type = var.gpu_pool.accelerator, count = var.gpu_pool.gpus }
    })
  }

  pools = { cpu = local.cpu_pool, gpu = local.gpu_pool }
  # Apart, so that work without accelerators does not end up on machines that are paid for theirs.
  queues        = { default = { pools = ["cpu"] }, gpu = { pools = ["gpu"] } }
  tidemill_yaml = yamlencode({ pools = local.pools, queues = local.queues })
}
