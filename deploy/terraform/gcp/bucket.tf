# SPDX-License-Identifier: Apache-2.0
# One bucket:
#   tidemill/  logs, ledgers, code and checkpoints (tidemill-server --objects)
#   data/      inputs and outputs of jobs; a new object below data/in/ is a message
#   programs/  what machines and server run; only Terraform writes here
#   server/    the certificate and tidemill.yaml; only server and Terraform write here
locals {
  bucket   = "${local.prefix}-${var.project}"
  programs = toset(["tidemill-server", "tidemill-agent", "tidemill-init", "tidemill"])
  files = {
    "setup.sh"                = "${path.module}/../../image/setup.sh"
    "tidemill-agent.service"  = "${path.module}/../../systemd/tidemill-agent.service"
    "tidemill-server.service" = "${path.module}/../../systemd/tidemill-server.service"
  }
}

resource "google_storage_bucket" "this" {
  name                        = local.bucket
  location                    = local.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = !var.keep_data
  # Parts of uploads that were never finished are billed, and shown nowhere.
  lifecycle_rule {
    condition {
      age = 7
    }
    action {
      type = "AbortIncompleteMultipartUpload"
    }
  }
  depends_on = [google_project_service.needed]
}

resource "google_storage_bucket_object" "programs" {
  for_each = local.programs
  bucket   = google_storage_bucket.this.name
  name     = "programs/${each.key}"
  source   = "${var.programs}/${each.key}"
}

resource "google_storage_bucket_object" "files" {
  for_each = merge(
    { SHA256SUMS = local.sums },
    { for name, path in local.files : name => file(path) },
  )
  bucket  = google_storage_bucket.this.name
  name    = "programs/${each.key}"
  content = each.value
}

resource "google_storage_bucket_object" "pools" {
  bucket  = google_storage_bucket.this.name
  name    = "server/tidemill.yaml"
  content = local.tidemill_yaml
}

data "google_storage_project_service_account" "gcs" {
  depends_on = [google_project_service.needed]
}

resource "google_pubsub_topic" "events" {
  name       = "${local.prefix}-events"
  depends_on = [google_project_service.needed]
}

# Only Cloud Storage's own account of this project may say what is new.
resource "google_pubsub_topic_iam_binding" "events" {
  topic   = google_pubsub_topic.events.id
  role    = "roles/pubsub.publisher"
  members = ["serviceAccount:${data.google_storage_project_service_account.gcs.email_address}"]
}

resource "google_pubsub_subscription" "events" {
  name                       = "${local.prefix}-events"
  topic                      = google_pubsub_topic.events.id
  ack_deadline_seconds       = 300
  message_retention_duration = "604800s" # a week: a server may be away for long
  expiration_policy {
    ttl = "" # never
  }
}

resource "google_storage_notification" "events" {
  bucket             = google_storage_bucket.this.name
  topic              = google_pubsub_topic.events.id
  payload_format     = "JSON_API_V1"
  event_types        = ["OBJECT_FINALIZE"]
  object_name_prefix = "data/in/"
  depends_on         = [google_pubsub_topic_iam_binding.events]
}
