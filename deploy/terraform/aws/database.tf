# SPDX-License-Identifier: Apache-2.0
# The password of the master user is made and kept by RDS. The server makes a user of its own with it
# (files/server.sh), so that no password is in Terraform's state.
resource "aws_db_subnet_group" "this" {
  count      = var.small ? 0 : 1
  name       = local.prefix
  subnet_ids = local.database_subnets
  lifecycle {
    precondition {
      condition     = length(local.database_subnets) >= 2
      error_message = "network.database_subnets: RDS needs subnets in two zones at least. Or set small = true."
    }
  }
}

resource "aws_db_parameter_group" "this" {
  count  = var.small ? 0 : 1
  name   = "${local.prefix}-16"
  family = "postgres16"
  parameter {
    name  = "rds.force_ssl"
    value = "1"
  }
}

resource "aws_db_instance" "this" {
  count                       = var.small ? 0 : 1
  identifier                  = local.prefix
  engine                      = "postgres"
  engine_version              = "16"
  instance_class              = var.database_type
  allocated_storage           = var.database_gb
  max_allocated_storage       = var.database_gb * 5
  storage_type                = "gp3"
  storage_encrypted           = true
  db_name                     = "tidemill"
  username                    = "master"
  manage_master_user_password = true
  multi_az                    = var.database_standby
  db_subnet_group_name        = aws_db_subnet_group.this[0].name
  parameter_group_name        = aws_db_parameter_group.this[0].name
  vpc_security_group_ids      = [aws_security_group.database[0].id]
  publicly_accessible         = false
  backup_retention_period     = 7
  copy_tags_to_snapshot       = true
  auto_minor_version_upgrade  = true
  deletion_protection         = var.keep_data
  skip_final_snapshot         = !var.keep_data
  final_snapshot_identifier   = "${local.prefix}-last"
}
