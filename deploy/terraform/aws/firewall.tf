# SPDX-License-Identifier: Apache-2.0
# Who may connect to whom: people and machines to the server, the server to the database. Nobody
# connects to a machine.
resource "aws_security_group" "server" {
  name        = "${local.prefix}-server"
  description = "tidemill server"
  vpc_id      = local.vpc_id
}

resource "aws_security_group" "machines" {
  name        = "${local.prefix}-machines"
  description = "tidemill machines"
  vpc_id      = local.vpc_id
}

resource "aws_security_group" "database" {
  count       = var.small ? 0 : 1
  name        = "${local.prefix}-database"
  description = "tidemill database"
  vpc_id      = local.vpc_id
}

resource "aws_vpc_security_group_ingress_rule" "server_from_machines" {
  security_group_id            = aws_security_group.server.id
  description                  = "agents"
  referenced_security_group_id = aws_security_group.machines.id
  ip_protocol                  = "tcp"
  from_port                    = 8443
  to_port                      = 8443
}

resource "aws_vpc_security_group_ingress_rule" "server_from_people" {
  for_each          = toset(var.allow_from)
  security_group_id = aws_security_group.server.id
  description       = "people"
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 8443
  to_port           = 8443
}

resource "aws_vpc_security_group_ingress_rule" "database_from_server" {
  count                        = var.small ? 0 : 1
  security_group_id            = aws_security_group.database[0].id
  description                  = "server"
  referenced_security_group_id = aws_security_group.server.id
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
}

# Registries, object stores, packages, the clouds' APIs.
resource "aws_vpc_security_group_egress_rule" "server" {
  security_group_id = aws_security_group.server.id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}

resource "aws_vpc_security_group_egress_rule" "machines" {
  security_group_id = aws_security_group.machines.id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}
