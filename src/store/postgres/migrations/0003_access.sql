-- 0003: who may do what.

create table project (
  name              text primary key,
  calls_per_second  int not null,
  items_max         bigint not null,
  log_bytes         bigint not null,
  created_at        timestamptz not null default clock_timestamp()
);
insert into project (name, calls_per_second, items_max, log_bytes)
  select p, 200, 1000000000, 104857600 from (select 'default' union select project from job) n (p);

create table pool (
  project          text not null references project,
  name             text not null,
  no_capabilities  boolean not null default false,
  read_only_root   boolean not null default false,
  no_network       boolean not null default false,
  user_namespace   boolean not null default false,
  firewall         boolean not null default false,
  primary key (project, name)
);
insert into pool (project, name) select name, 'default' from project;

-- Of a token nothing is kept but its hash. A project of '' means all of them.
create table token (
  token_id    uuid primary key,
  kind        smallint not null,  -- TokenKind
  hash        bytea not null unique,
  name        text not null,
  project     text not null,
  role        smallint not null,  -- Role
  pool        text not null,
  uses_left   int,
  made_by     text not null,
  created_at  timestamptz not null default clock_timestamp(),
  expires_at  timestamptz not null,
  used_at     timestamptz,
  revoked_at  timestamptz
);

-- A session counts once, however often its join is said.
create table join_use (
  token_id    uuid not null references token on delete cascade,
  session_id  uuid not null,
  primary key (token_id, session_id)
);

create table browser (
  hash        bytea primary key,
  token_id    uuid not null references token on delete cascade,
  expires_at  timestamptz not null
);
create index browser_of_token on browser (token_id);

create table secret (
  project     text not null references project,
  name        text not null,
  sealed      bytea not null,
  updated_at  timestamptz not null default clock_timestamp(),
  updated_by  text not null,
  primary key (project, name)
);

create table audit (
  audit_id  bigint generated always as identity primary key,
  at        timestamptz not null default clock_timestamp(),
  project   text not null,
  who       text not null,
  token     text not null,
  address   text not null,
  action    text not null,
  target    text not null,
  allowed   boolean not null
);
create index audit_of_project on audit (project, audit_id);
-- Rows come by time, so the oldest are found by their pages.
create index audit_by_time on audit using brin (at);

-- A session's token and, once it is half an hour old, the one that takes its place as soon as it is
-- used. Both as hashes; '' is no token's hash.
alter table agent_session
  add column project      text not null default 'default',
  add column machine_key  bytea not null default '',
  add column token        bytea not null default '',
  add column next_token   bytea not null default '',
  add column token_at     timestamptz not null default clock_timestamp(),
  add column address      text not null default '';
create index agent_session_machine on agent_session (project, pool, machine) where state < 2;

create index job_of_project on job (project, job_id);
-- What a project's limit of items is held against.
create index job_under_way on job (project) include (items) where state in (0, 1, 2, 4);
-- What can be granted, by project.
create index job_live_of_project on job (project, job_id) where state in (1, 2, 4);
