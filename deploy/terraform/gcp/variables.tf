# SPDX-License-Identifier: Apache-2.0
variable "name" {
  description = "What this deployment is called; names of all that is made begin with tidemill-NAME."
  type        = string
  default     = "main"
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,13}$", var.name))
    error_message = "At most 14 of a-z, 0-9 and -, beginning with a letter: names of accounts are short."
  }
}

variable "project" {
  description = "The project at Google. One of its own is best: rights there cannot be bound to names as well as at AWS."
  type        = string
}

variable "zone" {
  description = "Where server and machines are, such as europe-west4-a."
  type        = string
  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", var.zone))
    error_message = "A zone, such as europe-west4-a."
  }
}

variable "small" {
  description = "The server carries its own PostgreSQL on a disk of its own; there is no Cloud SQL."
  type        = bool
  default     = false
}

variable "programs" {
  description = "Folder with tidemill-server, tidemill-agent, tidemill-init and tidemill for Linux on x86-64."
  type        = string
}

variable "allow_from" {
  description = "Addresses, as CIDR blocks, from which people reach the server; none by default."
  type        = list(string)
  default     = []
}

variable "server_type" {
  description = "Machine type of the server (x86-64)."
  type        = string
  default     = "e2-small"
}

variable "database_type" {
  description = "Tier of the database; not used if small."
  type        = string
  default     = "db-g1-small"
}

variable "database_gb" {
  description = "Disk of the database, or of PostgreSQL on the server if small."
  type        = number
  default     = 20
}

variable "database_standby" {
  description = "Whether the database has a standby in another zone; needs a tier that is not shared."
  type        = bool
  default     = false
}

variable "network" {
  description = "An existing network to use, as links; null makes one. The subnet needs Private Google Access and a way out; the network, unless small, a private services connection."
  type = object({
    network = string
    subnet  = string
  })
  default = null
}

variable "network_cidr" {
  description = "Addresses of the subnet that is made."
  type        = string
  default     = "10.77.0.0/18"
}

variable "server_public" {
  description = "Whether the server has a public address. false only in a network with another way out."
  type        = bool
  default     = true
}

variable "machine_image" {
  description = "Image of the CPU pool's machines; it must have cloud-init, which Google's Debian does not."
  type        = string
  default     = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2204-lts"
}

variable "gpu_image" {
  description = "Image of the GPU pool's machines, with cloud-init and driver."
  type        = string
  default     = "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accelerator-2204-amd64-with-nvidia-580"
}

variable "cpu_pool" {
  description = "The spot pool without accelerators; cpus and memory are what a machine gives to items."
  type = object({
    type      = optional(string, "n2d-standard-16")
    cpus      = optional(number, 16)
    memory    = optional(string, "60GiB")
    disk_gb   = optional(number, 100)
    max       = optional(number, 20)
    price     = optional(number, 0.15)
    on_demand = optional(number, 0.676)
  })
  default = {}
}

variable "gpu_pool" {
  description = "The spot pool with accelerators. Types such as g2-standard-4 bring theirs; for others, say accelerator."
  type = object({
    type        = optional(string, "g2-standard-4")
    accelerator = optional(string)
    cpus        = optional(number, 4)
    memory      = optional(string, "14GiB")
    gpus        = optional(number, 1)
    disk_gb     = optional(number, 150)
    max         = optional(number, 4)
    price       = optional(number, 0.28)
    on_demand   = optional(number, 0.71)
  })
  default = {}
}

variable "data_buckets" {
  description = "Other buckets that items may read and write."
  type        = list(string)
  default     = []
}

variable "job_accounts" {
  description = "Service accounts, by e-mail, that jobs may take (role: in a spec)."
  type        = list(string)
  default     = []
}

variable "keep_data" {
  description = "Refuses to remove a bucket with objects in it and the database; false to take a trial down."
  type        = bool
  default     = true
}
