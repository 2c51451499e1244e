-- 0001: jobs as chunks of bits, leases as the only other owner of an item, outcomes as blocks.

create table job (
  job_id        bigint generated always as identity primary key,
  project       text not null,
  submit_key    text not null,
  name          text not null,
  document      text not null,
  millicpus     bigint not null,
  memory_bytes  bigint not null,
  retries       int not null,
  state         smallint not null default 0,  -- JobState
  open          boolean not null,
  round         int not null default 0,
  parts         int not null default 0,
  chunks        int not null default 0,
  items         bigint not null default 0,
  created_at    timestamptz not null default clock_timestamp(),
  touched_at    timestamptz not null default clock_timestamp(),
  unique (project, submit_key)
) with (fillfactor = 70);
-- Jobs that are over outnumber the others; the servers' rounds look at the others only.
create index job_draft on job (touched_at) where state = 0;
create index job_live on job (job_id) where state in (1, 2, 4);

create table part (
  job_id  bigint not null references job on delete cascade,
  part    int not null,
  digest  bytea not null,
  primary key (job_id, part)
);

-- Free is the complement of done, leased and parked, so no row can lose an item; the checks keep
-- those three apart, so no row can double one, whatever the code that wrote it.
-- Half of each page is left empty: an update finds room beside the old row and touches no index.
create table chunk (
  job_id      bigint not null references job on delete cascade,
  chunk       int not null,
  first_item  bigint not null,
  round       int not null default 0,
  rolled      boolean not null default false,
  done        bit varying not null,
  failed      bit varying not null,
  leased      bit varying not null,
  parked      bit varying not null,
  lost1       bit varying not null,
  suspect     bit varying not null,
  has_free    boolean generated always as (bit_count(~ (done | leased | parked)) > 0) stored,
  all_done    boolean generated always as (bit_count(~ done) = 0) stored,
  over        boolean generated always as
                (bit_count(~ (done | parked)) = 0 and bit_count(done) > 0) stored,
  primary key (job_id, chunk),
  check (length(done) between 1 and 2048),
  check (bit_count(done & leased) = 0),
  check (bit_count(parked & (done | leased)) = 0),
  check (bit_count(failed & ~ done) = 0),
  check (bit_count(lost1 & suspect) = 0)
) with (fillfactor = 50);
create index chunk_with_free on chunk (job_id, chunk) where has_free;
create index chunk_not_done on chunk (job_id, chunk) where not all_done;
create index chunk_to_roll on chunk (job_id, chunk) where over and not rolled;

create table chunk_items (
  job_id  bigint not null references job on delete cascade,
  chunk   int not null,
  body    bytea not null,
  primary key (job_id, chunk)
);
-- It is packed already.
alter table chunk_items alter column body set storage external;

-- No index on expires_at: a heartbeat changes it, and must stay a cheap update.
create table agent_session (
  session_id    uuid primary key,
  machine       text not null,
  pool          text not null,
  millicpus     bigint not null,
  memory_bytes  bigint not null,
  state         smallint not null default 0,  -- SessionState
  expires_at    timestamptz not null,
  ended_at      timestamptz
) with (fillfactor = 50);
-- The reaper looks here: most sessions have been dead for up to a day.
create index agent_session_live on agent_session (session_id) where state < 2;

-- A row exists exactly while the lease owes something: an id that is not here is never believed.
create table lease (
  lease_id    uuid primary key,
  session_id  uuid not null,
  job_id      bigint not null,
  chunk       int not null,
  round       int not null,
  mine        bit varying not null check (bit_count(mine) > 0),
  granted_at  timestamptz not null default clock_timestamp(),
  foreign key (job_id, chunk) references chunk on delete cascade
) with (fillfactor = 70);
create index lease_of_session on lease (session_id);
create index lease_of_job on lease (job_id);

create table item_try (
  job_id    bigint not null references job on delete cascade,
  item      bigint not null,
  attempts  int not null default 0,
  lost      int not null default 0,
  primary key (job_id, item)
);

-- Keyed by chunk first: rolling a chunk up reads and deletes neighbours.
create table report (
  job_id    bigint not null,
  chunk     int not null,
  lease_id  uuid not null,
  seq       int not null,
  round     int not null,
  kind      smallint not null,  -- ReportKind
  settled   bit varying not null,
  ended     bit varying not null,
  body      bytea not null,
  primary key (job_id, chunk, lease_id, seq),
  check (bit_count(ended & ~ settled) = 0)
);
alter table report alter column body set storage external;

create table chunk_stat (
  job_id   bigint not null references job on delete cascade,
  chunk    int not null,
  round    int not null,
  ended    bit varying not null,
  block    bytea not null,
  summary  bytea not null,
  primary key (job_id, chunk, round)
);
alter table chunk_stat alter column block set storage external;

-- Servers read this one row a few times a second to learn that something new can be granted.
create table change (
  one  boolean primary key default true check (one),
  seq  bigint not null
);
insert into change (seq) values (0);
