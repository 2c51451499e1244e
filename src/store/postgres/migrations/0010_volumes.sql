-- 0010: what a pool lends to jobs.

alter table pool
  add column volumes  text not null default '';  -- FormatVolumes
