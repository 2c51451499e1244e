# SPDX-License-Identifier: Apache-2.0
# Without a public address. The server makes its own user with a password that is nowhere else
# (deploy/image/server.sh), so that none is in Terraform's state.
resource "google_compute_global_address" "database" {
  count         = local.own_network && !var.small ? 1 : 0
  name          = "${local.prefix}-database"
  network       = local.network
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 20
}

resource "google_service_networking_connection" "database" {
  count                   = local.own_network && !var.small ? 1 : 0
  network                 = local.network
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.database[0].name]
}

resource "google_sql_database_instance" "this" {
  count               = var.small ? 0 : 1
  name                = local.prefix
  region              = local.region
  database_version    = "POSTGRES_16"
  deletion_protection = var.keep_data
  settings {
    tier                        = var.database_type
    edition                     = "ENTERPRISE"
    availability_type           = var.database_standby ? "REGIONAL" : "ZONAL"
    disk_type                   = "PD_SSD"
    disk_size                   = var.database_gb
    disk_autoresize             = true
    disk_autoresize_limit       = var.database_gb * 5
    deletion_protection_enabled = var.keep_data
    ip_configuration {
      ipv4_enabled    = false
      private_network = local.network
      ssl_mode        = "ENCRYPTED_ONLY"
    }
    location_preference {
      zone = var.zone
    }
    backup_configuration {
      enabled                        = true
      point_in_time_recovery_enabled = true
    }
  }
  depends_on = [google_service_networking_connection.database]
}

resource "google_sql_database" "this" {
  count           = var.small ? 0 : 1
  name            = "tidemill"
  instance        = google_sql_database_instance.this[0].name
  deletion_policy = "ABANDON" # goes with its instance; the server's user owns what is in it
}
