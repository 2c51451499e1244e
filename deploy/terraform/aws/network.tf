# SPDX-License-Identifier: Apache-2.0
# One public subnet a zone, and no NAT gateway: that would cost more at rest than the server does.
# Machines have public addresses while they run, and nobody may connect to them.
data "aws_availability_zones" "here" {
  state = "available"
  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

data "aws_subnet" "server" {
  count = local.own_network ? 0 : 1
  id    = var.network.server_subnet
}

locals {
  prefix      = "tidemill-${var.name}"
  own_network = var.network == null
  zones       = slice(data.aws_availability_zones.here.names, 0, min(3, length(data.aws_availability_zones.here.names)))

  vpc_id           = local.own_network ? aws_vpc.this[0].id : var.network.vpc_id
  server_subnet    = local.own_network ? aws_subnet.machines[0].id : var.network.server_subnet
  server_zone      = local.own_network ? local.zones[0] : data.aws_subnet.server[0].availability_zone
  machine_subnets  = local.own_network ? aws_subnet.machines[*].id : var.network.machine_subnets
  database_subnets = local.own_network ? aws_subnet.database[*].id : var.network.database_subnets
}

resource "aws_vpc" "this" {
  count                = local.own_network ? 1 : 0
  cidr_block           = var.network_cidr
  enable_dns_hostnames = true
  tags                 = { Name = local.prefix }
}

resource "aws_internet_gateway" "this" {
  count  = local.own_network ? 1 : 0
  vpc_id = aws_vpc.this[0].id
  tags   = { Name = local.prefix }
}

resource "aws_subnet" "machines" {
  count                   = local.own_network ? length(local.zones) : 0
  vpc_id                  = aws_vpc.this[0].id
  availability_zone       = local.zones[count.index]
  cidr_block              = cidrsubnet(var.network_cidr, 4, count.index)
  map_public_ip_on_launch = true
  tags                    = { Name = "${local.prefix}-machines-${local.zones[count.index]}" }
}

# No route leads out of these.
resource "aws_subnet" "database" {
  count             = local.own_network && !var.small ? length(local.zones) : 0
  vpc_id            = aws_vpc.this[0].id
  availability_zone = local.zones[count.index]
  cidr_block        = cidrsubnet(var.network_cidr, 8, 240 + count.index)
  tags              = { Name = "${local.prefix}-database-${local.zones[count.index]}" }
}

resource "aws_route_table" "machines" {
  count  = local.own_network ? 1 : 0
  vpc_id = aws_vpc.this[0].id
  tags   = { Name = "${local.prefix}-machines" }
}

resource "aws_route" "internet" {
  count                  = local.own_network ? 1 : 0
  route_table_id         = aws_route_table.machines[0].id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this[0].id
}

resource "aws_route_table_association" "machines" {
  count          = local.own_network ? length(local.zones) : 0
  subnet_id      = aws_subnet.machines[count.index].id
  route_table_id = aws_route_table.machines[0].id
}

# Free, and keeps the traffic to the bucket off the internet.
resource "aws_vpc_endpoint" "s3" {
  count           = local.own_network ? 1 : 0
  vpc_id          = aws_vpc.this[0].id
  service_name    = "com.amazonaws.${var.region}.s3"
  route_table_ids = [aws_route_table.machines[0].id]
  tags            = { Name = "${local.prefix}-s3" }
}
