-- 0013: jobs whose items arrive for months.

-- What makes an item of a job known: 16 bytes of a SHA-256. Days are counted from 1970.
create table item_once (
  job_id  bigint not null references job on delete cascade,
  mark    bytea not null,
  day     int not null,  -- it was last said
  primary key (job_id, mark)
);
create index item_once_day on item_once (day);

-- Calls that added items and had a key, and what they were answered.
create table item_call (
  job_id      bigint not null references job on delete cascade,
  mark        bytea not null,
  digest      bytea not null,
  first_item  bigint not null,  -- -1: it added nothing
  added       bigint not null,
  day         int not null,
  primary key (job_id, mark)
);
create index item_call_day on item_call (day);

-- What of a job is packed away: its chunks are not here any more, but in the ledger.
alter table job
  add column packed_items   bigint not null default 0,
  add column packed_failed  bigint not null default 0;  -- of these; all others have succeeded
drop index job_under_way;
create index job_under_way on job (project) include (items, packed_items)
  where state in (0, 1, 2, 4);

-- Of a chunk that was rolled up in an open job: when, and whether something in it failed.
alter table chunk
  add column over_at      timestamptz,
  add column over_failed  boolean not null default false;
update chunk c set over_at = clock_timestamp(), over_failed = bit_count(c.failed) > 0
  from job j where j.job_id = c.job_id and j.open and c.rolled;
create index chunk_to_pack on chunk (job_id, over_failed, over_at) where over_at is not null;

alter table part add column day int not null
  default floor(extract(epoch from clock_timestamp()) / 86400)::int;
