# SPDX-License-Identifier: Apache-2.0
# One bucket:
#   tidemill/  logs, ledgers, code and checkpoints (tidemill-server --objects)
#   data/      inputs and outputs of jobs; a new object below data/in/ is a message in the queue
#   programs/  what machines and server run; only Terraform writes here
#   server/    the certificate and tidemill.yaml; only server and Terraform write here
# Names of ARNs are written out, so that a plan shows every policy whole.
locals {
  bucket     = "${local.prefix}-${var.account}-${var.region}"
  bucket_arn = "arn:aws:s3:::${local.bucket}"
  queue      = "${local.prefix}-events"
  queue_arn  = "arn:aws:sqs:${var.region}:${var.account}:${local.queue}"
  programs   = toset(["tidemill-server", "tidemill-agent", "tidemill-init", "tidemill"])
  files = {
    "aws.pem"                 = var.identity_certificates
    "setup.sh"                = "${path.module}/../../image/setup.sh"
    "tidemill-agent.service"  = "${path.module}/../../systemd/tidemill-agent.service"
    "tidemill-server.service" = "${path.module}/../../systemd/tidemill-server.service"
  }
}

resource "aws_s3_bucket" "this" {
  bucket        = local.bucket
  force_destroy = !var.keep_data
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket                  = aws_s3_bucket.this.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

# Whoever speaks clear text to the bucket is refused, whatever their role may.
resource "aws_s3_bucket_policy" "tls_only" {
  bucket = aws_s3_bucket.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "TlsOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [local.bucket_arn, "${local.bucket_arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
  depends_on = [aws_s3_bucket_public_access_block.this]
}

# Parts of uploads that were never finished are billed, and shown nowhere.
resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = aws_s3_bucket.this.id
  rule {
    id     = "parts"
    status = "Enabled"
    filter {
      prefix = ""
    }
    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }
}

resource "aws_s3_object" "programs" {
  for_each    = local.programs
  bucket      = aws_s3_bucket.this.id
  key         = "programs/${each.key}"
  source      = "${var.programs}/${each.key}"
  source_hash = filesha256("${var.programs}/${each.key}")
}

resource "aws_s3_object" "files" {
  for_each = merge(
    { SHA256SUMS = local.sums },
    { for name, path in local.files : name => file(path) },
  )
  bucket  = aws_s3_bucket.this.id
  key     = "programs/${each.key}"
  content = each.value
}

resource "aws_s3_object" "pools" {
  bucket  = aws_s3_bucket.this.id
  key     = "server/tidemill.yaml"
  content = local.tidemill_yaml
}

resource "aws_sqs_queue" "events" {
  name                       = local.queue
  message_retention_seconds  = 1209600 # the longest there is: a server may be away for long
  visibility_timeout_seconds = 300
  receive_wait_time_seconds  = 20
  sqs_managed_sse_enabled    = true
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    maxReceiveCount     = 10
  })
}

resource "aws_sqs_queue" "dead" {
  name                      = "${local.queue}-dead"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
}

# Only this bucket of this account: without both, anybody's bucket could fill the queue.
resource "aws_sqs_queue_policy" "events" {
  queue_url = aws_sqs_queue.events.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "BucketSends"
      Effect    = "Allow"
      Principal = { Service = "s3.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = local.queue_arn
      Condition = {
        ArnEquals    = { "aws:SourceArn" = local.bucket_arn }
        StringEquals = { "aws:SourceAccount" = var.account }
      }
    }]
  })
}

resource "aws_s3_bucket_notification" "events" {
  bucket = aws_s3_bucket.this.id
  queue {
    queue_arn     = aws_sqs_queue.events.arn
    events        = ["s3:ObjectCreated:*"]
    filter_prefix = "data/in/"
  }
  depends_on = [aws_sqs_queue_policy.events]
}
