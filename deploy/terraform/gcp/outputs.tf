# SPDX-License-Identifier: Apache-2.0
output "server" {
  description = "Where people find the server."
  value       = "https://${local.server_public}:8443"
}

output "objects" {
  description = "The bucket; inputs and outputs of jobs belong below data/."
  value       = "gs://${local.bucket}"
}

output "subscription" {
  description = "Where new objects below data/in/ are told."
  value       = google_pubsub_subscription.events.id
}

output "machine_account" {
  description = "The service account of machines."
  value       = google_service_account.machines.email
}

output "token_command" {
  description = "Shows the first admin token, once the server is up."
  value       = "gcloud secrets versions access latest --project ${var.project} --secret ${local.prefix}-admin-token"
}

output "ca_command" {
  description = "Fetches the certificate that vouches for the server."
  value       = "gcloud storage cp gs://${local.bucket}/server/ca.pem ca.pem"
}

output "tidemill_yaml" {
  description = "Pools and queues, for tidemill apply."
  value       = local.tidemill_yaml
}
