# SPDX-License-Identifier: Apache-2.0
output "server" {
  description = "Where people find the server."
  value       = "https://${local.server_public}:8443"
}

output "objects" {
  description = "The bucket; inputs and outputs of jobs belong below data/."
  value       = "s3://${local.bucket}"
}

output "queue" {
  description = "Where new objects below data/in/ are told."
  value       = aws_sqs_queue.events.id
}

output "machine_role" {
  description = "Roles of jobs must trust this one."
  value       = aws_iam_role.machines.arn
}

output "token_command" {
  description = "Shows the first admin token, once the server is up."
  value       = "aws ssm get-parameter --region ${var.region} --name /tidemill/${var.name}/admin-token --with-decryption --query Parameter.Value --output text"
}

output "ca_command" {
  description = "Fetches the certificate that vouches for the server."
  value       = "aws s3 cp --region ${var.region} s3://${local.bucket}/server/ca.pem ca.pem"
}

output "tidemill_yaml" {
  description = "Pools and queues, for tidemill apply."
  value       = local.tidemill_yaml
}
