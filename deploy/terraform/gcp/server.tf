# SPDX-License-Identifier: Apache-2.0
# One server. Its disk is of no worth: what lasts is in the database, the bucket and Secret Manager.
resource "google_compute_address" "private" {
  name         = "${local.prefix}-private"
  region       = local.region
  address_type = "INTERNAL"
  subnetwork   = local.subnet
}

resource "google_compute_address" "public" {
  count  = var.server_public ? 1 : 0
  name   = "${local.prefix}-public"
  region = local.region
}

locals {
  server_private = google_compute_address.private.address
  server_public  = var.server_public ? google_compute_address.public[0].address : local.server_private
  machine_url    = "https://${local.server_private}:8443"
  server_settings = {
    CLOUD           = "gcp"
    REGION          = local.region
    BUCKET          = local.bucket
    KEPT            = "${local.prefix}-"
    ADDRESSES       = join(" ", distinct([local.server_private, local.server_public]))
    MACHINE_URL     = local.machine_url
    SUMS_SHA256     = sha256(local.sums)
    DATABASE_HOST   = var.small ? "" : google_sql_database_instance.this[0].private_ip_address
    DATABASE_MASTER = var.small ? "" : google_sql_database_instance.this[0].name
    DATABASE_DISK   = var.small ? "/dev/disk/by-id/google-database" : ""
  }
}

# The script runs at each boot, and changes nothing that is as it should be.
resource "google_compute_instance" "server" {
  name                      = "${local.prefix}-server"
  zone                      = var.zone
  machine_type              = var.server_type
  allow_stopping_for_update = true
  metadata_startup_script = join("\n", concat(
    ["#!/bin/bash"],
    [for name, value in local.server_settings : "export ${name}='${value}'"],
    [file("${path.module}/../../image/server.sh")],
  ))
  boot_disk {
    initialize_params {
      image = "projects/debian-cloud/global/images/family/debian-12"
      size  = 10
    }
  }
  dynamic "attached_disk" {
    for_each = google_compute_disk.database[*].id
    content {
      source      = attached_disk.value
      device_name = "database"
    }
  }
  network_interface {
    subnetwork = local.subnet
    network_ip = local.server_private
    dynamic "access_config" {
      for_each = google_compute_address.public[*].address
      content {
        nat_ip = access_config.value
      }
    }
  }
  service_account {
    email  = google_service_account.server.email
    scopes = ["cloud-platform"] # the account's own rights decide
  }
  shielded_instance_config {
    enable_secure_boot = true
  }
  lifecycle {
    ignore_changes = [boot_disk[0].initialize_params[0].image] # a newer Debian alone is no reason
  }
  depends_on = [
    google_project_iam_member.server,
    google_secret_manager_secret_iam_member.kept,
    google_storage_bucket_iam_member.programs,
    google_storage_bucket_iam_member.work,
    google_storage_bucket_object.files,
    google_storage_bucket_object.programs,
    google_sql_database.this,
  ]
}

# The smallest form: PostgreSQL's disk, apart from the server's own.
resource "google_compute_disk" "database" {
  count = var.small ? 1 : 0
  name  = "${local.prefix}-database"
  zone  = var.zone
  type  = "pd-balanced"
  size  = var.database_gb
}
