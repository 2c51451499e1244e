# SPDX-License-Identifier: Apache-2.0
terraform {
  required_version = ">= 1.5"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 6.0"
    }
  }
}

provider "google" {
  project        = var.project
  region         = local.region
  zone           = var.zone
  default_labels = { deployment = local.prefix }
}

resource "google_project_service" "needed" {
  for_each = toset(concat(
    [
      "artifactregistry.googleapis.com",
      "compute.googleapis.com",
      "iam.googleapis.com",
      "iamcredentials.googleapis.com",
      "pubsub.googleapis.com",
      "secretmanager.googleapis.com",
      "storage.googleapis.com",
    ],
    var.small ? [] : ["servicenetworking.googleapis.com", "sqladmin.googleapis.com"],
  ))
  service            = each.value
  disable_on_destroy = false # others in the project may need it
}
