# SPDX-License-Identifier: Apache-2.0
variable "name" {
  description = "What this deployment is called; names of all that is made begin with tidemill-NAME."
  type        = string
  default     = "main"
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,19}$", var.name))
    error_message = "At most 20 of a-z, 0-9 and -, beginning with a letter."
  }
}

variable "region" {
  description = "AWS region."
  type        = string
}

variable "account" {
  description = "Number of the AWS account; nothing is done in another one."
  type        = string
  validation {
    condition     = can(regex("^[0-9]{12}$", var.account))
    error_message = "An account has twelve digits."
  }
}

variable "small" {
  description = "The server carries its own PostgreSQL on a volume of its own; there is no RDS."
  type        = bool
  default     = false
}

variable "programs" {
  description = "Folder with tidemill-server, tidemill-agent, tidemill-init and tidemill for Linux on x86-64."
  type        = string
}

variable "identity_certificates" {
  description = "File with AWS's certificate (RSA, in PEM) that instance identity documents of the region are signed with; AWS publishes them in EC2's user guide."
  type        = string
}

variable "allow_from" {
  description = "Addresses, as CIDR blocks, from which people reach the server; none by default."
  type        = list(string)
  default     = []
}

variable "server_type" {
  description = "Instance type of the server (x86-64)."
  type        = string
  default     = "t3.small"
}

variable "database_type" {
  description = "Instance class of the database; not used if small."
  type        = string
  default     = "db.t4g.small"
}

variable "database_gb" {
  description = "Disk of the database, or of PostgreSQL on the server if small."
  type        = number
  default     = 20
}

variable "database_standby" {
  description = "Whether the database has a standby in another zone."
  type        = bool
  default     = false
}

variable "network" {
  description = "An existing network to use; null makes one. machine_subnets need a way to the internet, or endpoints for S3, EC2, Auto Scaling, SSM, STS and ECR. database_subnets: two zones at least."
  type = object({
    vpc_id           = string
    server_subnet    = string
    machine_subnets  = list(string)
    database_subnets = optional(list(string), [])
  })
  default = null
}

variable "network_cidr" {
  description = "Addresses of the network that is made."
  type        = string
  default     = "10.77.0.0/16"
}

variable "machine_image" {
  description = "AMI of the CPU pool's machines; null: Debian 12, set up at boot."
  type        = string
  default     = null
}

variable "gpu_image" {
  description = "AMI of the GPU pool's machines, with driver and toolkit, such as one that deploy/image made; null: AWS's deep learning base image, set up at boot."
  type        = string
  default     = null
}

variable "cpu_pool" {
  description = "The spot pool without accelerators. Types are of one shape: cpus and memory are what the smallest gives to items."
  type = object({
    types     = optional(list(string), ["c7i.4xlarge", "c7a.4xlarge", "c6i.4xlarge", "c6a.4xlarge"])
    cpus      = optional(number, 16)
    memory    = optional(string, "29GiB")
    disk_gb   = optional(number, 100)
    max       = optional(number, 20)
    price     = optional(number, 0.30)
    on_demand = optional(number, 0.714)
  })
  default = {}
}

variable "gpu_pool" {
  description = "The spot pool with accelerators, as cpu_pool."
  type = object({
    types     = optional(list(string), ["g6.xlarge", "g5.xlarge"])
    cpus      = optional(number, 4)
    memory    = optional(string, "14GiB")
    gpus      = optional(number, 1)
    disk_gb   = optional(number, 150)
    max       = optional(number, 4)
    price     = optional(number, 0.40)
    on_demand = optional(number, 1.006)
  })
  default = {}
}

variable "data_buckets" {
  description = "Other buckets of this account that items may read and write."
  type        = list(string)
  default     = []
}

variable "job_roles" {
  description = "ARNs of roles that jobs may take (role: in a spec). Each must trust the server's role."
  type        = list(string)
  default     = []
  validation {
    condition     = alltrue([for arn in var.job_roles : can(regex("^arn:[a-z-]+:iam::[0-9]{12}:role/[^*]+$", arn))])
    error_message = "Whole ARNs of roles, without wild cards."
  }
}

variable "keep_data" {
  description = "Refuses to remove a bucket with objects in it and the database; false to take a trial down."
  type        = bool
  default     = true
}

variable "server_public" {
  description = "Whether the server has a public address. false only in a network with another way out."
  type        = bool
  default     = true
}
