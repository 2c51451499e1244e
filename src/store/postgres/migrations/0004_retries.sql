-- 0004: items that are tried again: when, with how much, where; and what jobs learn of it.

-- A new kind of place for an item: it was tried before and waits for its retry. Computed columns
-- cannot be changed, only made anew; the index goes with its column.
alter table chunk drop column has_free;
alter table chunk add column resting bit varying;
alter table chunk
  alter column resting type bit varying using (done & ~ done),
  alter column resting set not null;
alter table chunk
  add column has_free boolean generated always as
    (bit_count(~ (done | leased | parked | resting)) > 0) stored,
  add check (bit_count(resting & (done | leased | parked)) = 0);
create index chunk_with_free on chunk (job_id, chunk) where has_free;

-- An item rests exactly if it has a due_at.
alter table item_try
  add column chunk         int,
  add column memory_bytes  bigint not null default 0,
  add column steps         int not null default 0,
  add column due_at        timestamptz,
  add column blamed_on     uuid not null default '00000000-0000-0000-0000-000000000000';
update item_try t set chunk = c.chunk from chunk c
  where c.job_id = t.job_id and t.item >= c.first_item and t.item < c.first_item + length(c.done);
alter table item_try alter column chunk set not null;
-- Those due longest first.
create index item_try_due on item_try (job_id, due_at, item) where due_at is not null;

alter table lease
  add column memory_bytes  bigint not null default 0,
  add column tried         boolean not null default false;

-- A job of before is as its spec would be read today, but not on trial any more.
alter table job
  add column memory_max     bigint not null default 0,
  add column retry_wait_ms  bigint not null default 1000,
  add column canary         int not null default 20,
  add column devices        text not null default '',
  add column memory_now     bigint not null default 0,
  add column trial          boolean not null default false;
update job set memory_now = memory_bytes;

-- No index on these: heartbeats change them.
alter table agent_session
  add column devices   text not null default '',
  add column attempts  bigint not null default 0,
  add column blamed    bigint not null default 0,
  add column aside     text not null default '';
