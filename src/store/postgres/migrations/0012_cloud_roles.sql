-- 0012: who the jobs of a project may be to a cloud.

alter table project
  add column cloud_roles  text not null default '';  -- FormatCloudRoles
