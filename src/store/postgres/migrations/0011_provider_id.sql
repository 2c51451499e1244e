-- 0011: what a provider calls a machine, which it proves when it joins.

alter table machine add column provider_id text not null default '';
create index machine_provider_id on machine (project, pool, provider_id)
  where state < 4 and provider_id <> '';
