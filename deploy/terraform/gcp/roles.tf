# SPDX-License-Identifier: Apache-2.0
# Two accounts: the server's makes machines, the machines' runs them. A machine's account has no right
# in Compute Engine at all: an agent that has lost its server for long powers its machine off, and the
# server takes it away when it is back.
resource "google_service_account" "server" {
  account_id   = "${local.prefix}-server"
  display_name = "tidemill server"
  depends_on   = [google_project_service.needed]
}

resource "google_service_account" "machines" {
  account_id   = "${local.prefix}-work"
  display_name = "tidemill machines"
  depends_on   = [google_project_service.needed]
}

locals {
  server_member  = "serviceAccount:${google_service_account.server.email}"
  machine_member = "serviceAccount:${google_service_account.machines.email}"
  objects_of     = "projects/_/buckets/${local.bucket}/objects/"
  is_bucket      = "resource.type == \"storage.googleapis.com/Bucket\""
  # By prefix, as conditions: what each may read and write.
  in_work     = join(" || ", [for p in ["tidemill/", "data/"] : "resource.name.startsWith(\"${local.objects_of}${p}\")"])
  in_server   = "resource.name.startsWith(\"${local.objects_of}server/\")"
  in_programs = "resource.name.startsWith(\"${local.objects_of}programs/\")"
  is_ca       = "resource.name == \"${local.objects_of}server/ca.pem\""
}

# What making and ending machines of a managed group takes, and no more.
resource "google_project_iam_custom_role" "server" {
  role_id = "tidemill_${replace(var.name, "-", "_")}_server"
  title   = "tidemill server ${var.name}"
  permissions = concat(
    [
      "compute.disks.create",
      "compute.disks.setLabels",
      "compute.globalOperations.get",
      "compute.images.useReadOnly",
      "compute.instanceGroupManagers.create",
      "compute.instanceGroupManagers.delete",
      "compute.instanceGroupManagers.get",
      "compute.instanceGroupManagers.list",
      "compute.instanceGroupManagers.update",
      "compute.instanceGroupManagers.use",
      "compute.instanceGroups.create",
      "compute.instanceGroups.delete",
      "compute.instanceGroups.get",
      "compute.instanceTemplates.create",
      "compute.instanceTemplates.delete",
      "compute.instanceTemplates.get",
      "compute.instanceTemplates.list",
      "compute.instanceTemplates.useReadOnly",
      "compute.instances.create",
      "compute.instances.delete",
      "compute.instances.get",
      "compute.instances.list",
      "compute.instances.setLabels",
      "compute.instances.setMetadata",
      "compute.instances.setServiceAccount",
      "compute.networks.get",
      "compute.networks.use",
      "compute.subnetworks.get",
      "compute.subnetworks.use",
      "compute.zoneOperations.get",
      "compute.zoneOperations.list",
    ],
    var.small ? [] : [
      "cloudsql.instances.get",
      "cloudsql.users.create",
      "cloudsql.users.list",
      "cloudsql.users.update",
    ],
  )
}

resource "google_project_iam_member" "server" {
  project = var.project
  role    = google_project_iam_custom_role.server.id
  member  = local.server_member
}

# The server gives machines their account, and no other; Google's own agent starts them with it.
resource "google_service_account_iam_member" "machines_used" {
  for_each = {
    server = local.server_member
    google = "serviceAccount:${data.google_project.this.number}@cloudservices.gserviceaccount.com"
  }
  service_account_id = google_service_account.machines.name
  role               = "roles/iam.serviceAccountUser"
  member             = each.value
}

resource "google_storage_bucket_iam_member" "work" {
  for_each = {
    server   = { member = local.server_member, where = "${local.is_bucket} || ${local.in_work} || ${local.in_server}" }
    machines = { member = local.machine_member, where = "${local.is_bucket} || ${local.in_work}" }
  }
  bucket = google_storage_bucket.this.name
  role   = "roles/storage.objectUser"
  member = each.value.member
  condition {
    title      = "work-${each.key}"
    expression = each.value.where
  }
}

resource "google_storage_bucket_iam_member" "programs" {
  for_each = {
    server   = { member = local.server_member, where = local.in_programs }
    machines = { member = local.machine_member, where = "${local.in_programs} || ${local.is_ca}" }
  }
  bucket = google_storage_bucket.this.name
  role   = "roles/storage.objectViewer"
  member = each.value.member
  condition {
    title      = "programs-${each.key}"
    expression = each.value.where
  }
}

resource "google_storage_bucket_iam_member" "data" {
  for_each = toset(var.data_buckets)
  bucket   = each.value
  role     = "roles/storage.objectUser"
  member   = local.machine_member
}

# Images: machines pull them, the server asks what a tag stands for.
resource "google_project_iam_member" "images" {
  for_each = { server = local.server_member, machines = local.machine_member }
  project  = var.project
  role     = "roles/artifactregistry.reader"
  member   = each.value
}

resource "google_pubsub_subscription_iam_member" "server" {
  subscription = google_pubsub_subscription.events.id
  role         = "roles/pubsub.subscriber"
  member       = local.server_member
}

# What must outlive the server's disk: the keys of secrets, the certificate's key, the first token.
resource "google_secret_manager_secret" "kept" {
  for_each  = toset(["secret-keys", "certificate-key", "admin-token"])
  secret_id = "${local.prefix}-${each.value}"
  replication {
    user_managed {
      replicas {
        location = local.region
      }
    }
  }
  depends_on = [google_project_service.needed]
}

resource "google_secret_manager_secret_iam_member" "kept" {
  for_each = {
    for pair in setproduct(
      keys(google_secret_manager_secret.kept),
      ["roles/secretmanager.secretAccessor", "roles/secretmanager.secretVersionAdder"],
    ) : join(":", pair) => { secret = pair[0], role = pair[1] }
  }
  secret_id = google_secret_manager_secret.kept[each.value.secret].id
  role      = each.value.role
  member    = local.server_member
}

resource "google_service_account_iam_member" "job_accounts" {
  for_each           = toset(var.job_accounts)
  service_account_id = "projects/-/serviceAccounts/${each.value}"
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.server_member
}
