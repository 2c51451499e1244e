-- 0009: what jobs wish, who leads, machines, plans and money.

-- -1 is no limit. What a job of before wishes is nothing. `after_met` are those of `after_jobs`
-- that need not be waited for any more.
alter table job
  add column queue         text not null default '',
  add column priority      int not null default 0,
  add column max_parallel  bigint not null default -1,
  add column deadline_ms   bigint not null default -1,  -- after it was made
  add column budget        bigint not null default -1,  -- millionths of a dollar
  add column labels        text not null default '',    -- FormatLabels
  add column after_jobs    bigint[] not null default '{}',
  add column after_met     bigint[] not null default '{}',
  add column owner         text not null default '';

-- When a job last had a lease, to the minute.
create table served (
  job_id  bigint primary key references job on delete cascade,
  at      timestamptz not null
) with (fillfactor = 50);

-- Suspects that are free: a plan may want them on machines that stay, and they are few.
alter table chunk add column has_worn boolean generated always as
  (bit_count(suspect & ~ (done | leased | parked | resting)) > 0) stored;
create index chunk_with_worn on chunk (job_id, chunk) where has_worn;

-- What only the leader writes: what a provider said when it last refused, and how far machines are
-- numbered.
alter table pool
  add column word_until    timestamptz,
  add column word_tried    int not null default 0,
  add column word_quota    bigint not null default -1,  -- -1: it has not said
  add column word_text     text not null default '',
  add column next_number   bigint not null default 0,
  add column never_joined  int not null default 0;

-- One row. `plan_seq` grows with each plan that differs from the one before.
create table leader (
  one       boolean primary key default true check (one),
  epoch     bigint not null,
  holder    text not null,
  until     timestamptz not null,
  plan_seq  bigint not null
);
insert into leader (epoch, holder, until, plan_seq) values (0, '', 'epoch', 0);

-- Those that were ordered are numbered from 0 up, those that came by themselves from -1 down.
create table machine (
  project         text not null,
  pool            text not null,
  number          bigint not null,
  name            text not null,
  state           smallint not null,  -- MachineState
  since           timestamptz not null,
  price           bigint not null,    -- millionths of a dollar an hour
  billed_from     timestamptz not null,
  put_down_until  timestamptz not null,
  joined_at       timestamptz,
  idle_since      timestamptz,
  ordered         boolean not null,
  ending          boolean not null default false,
  session_id      uuid not null default '00000000-0000-0000-0000-000000000000',  -- the last one
  primary key (project, pool, number),
  foreign key (project, pool) references pool on delete cascade
) with (fillfactor = 70);
create unique index machine_name on machine (project, pool, name) where state < 4;
-- What the leader looks at each second: machines that are gone outnumber the others.
create index machine_live on machine (project, pool, number)
  where state < 4 or put_down_until < since;
create index machine_gone on machine (since) where state = 4;

create table plan (
  project  text primary key,
  body     bytea not null  -- see store/postgres/plan_body.h
);

-- Of a job (project ''), or what no job is to pay of a project (job 0).
create table spend (
  job_id   bigint not null,
  project  text not null,
  account  smallint not null,  -- Account
  time_us  bigint not null,
  micros   bigint not null,    -- millionths of a dollar
  primary key (job_id, project, account)
) with (fillfactor = 50);

-- What each server has heard of the items of a job, in its life.
create table job_time (
  job_id        bigint not null references job on delete cascade,
  server        text not null,
  items         bigint not null,
  seconds       double precision not null,
  squares       double precision not null,
  lost_seconds  double precision not null,
  primary key (job_id, server)
) with (fillfactor = 50);
