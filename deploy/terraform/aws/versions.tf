# SPDX-License-Identifier: Apache-2.0
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

provider "aws" {
  region              = var.region
  allowed_account_ids = [var.account]
  default_tags {
    tags = { deployment = "tidemill-${var.name}" }
  }
}
