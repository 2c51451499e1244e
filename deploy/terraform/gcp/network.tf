# SPDX-License-Identifier: Apache-2.0
# Machines have no public address. The way out is Cloud NAT, which is billed by the machines that use
# it: none at rest. Google's own services are reached without it.
data "google_project" "this" {
  project_id = var.project
}

locals {
  prefix      = "tidemill-${var.name}"
  region      = regex("^(.*)-[a-z]$", var.zone)[0]
  own_network = var.network == null
  network     = local.own_network ? google_compute_network.this[0].id : var.network.network
  subnet      = local.own_network ? google_compute_subnetwork.this[0].id : var.network.subnet
}

resource "google_compute_network" "this" {
  count                   = local.own_network ? 1 : 0
  name                    = local.prefix
  auto_create_subnetworks = false
  depends_on              = [google_project_service.needed]
}

resource "google_compute_subnetwork" "this" {
  count                    = local.own_network ? 1 : 0
  name                     = local.prefix
  network                  = google_compute_network.this[0].id
  region                   = local.region
  ip_cidr_range            = var.network_cidr
  private_ip_google_access = true
}

resource "google_compute_router" "this" {
  count   = local.own_network ? 1 : 0
  name    = local.prefix
  network = google_compute_network.this[0].id
  region  = local.region
}

resource "google_compute_router_nat" "this" {
  count                              = local.own_network ? 1 : 0
  name                               = local.prefix
  router                             = google_compute_router.this[0].name
  region                             = local.region
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}

# Who may connect to whom, by account: people and machines to the server. Nobody connects to a machine:
# a network without rules lets nothing in.
resource "google_compute_firewall" "server_from_machines" {
  name                    = "${local.prefix}-agents"
  network                 = local.network
  source_service_accounts = [google_service_account.machines.email]
  target_service_accounts = [google_service_account.server.email]
  allow {
    protocol = "tcp"
    ports    = ["8443"]
  }
}

resource "google_compute_firewall" "server_from_people" {
  count                   = length(var.allow_from) == 0 ? 0 : 1
  name                    = "${local.prefix}-people"
  network                 = local.network
  source_ranges           = var.allow_from
  target_service_accounts = [google_service_account.server.email]
  allow {
    protocol = "tcp"
    ports    = ["8443"]
  }
}
