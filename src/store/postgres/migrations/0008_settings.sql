-- 0008: what the machines of a pool are, queues, and specs that are kept.

-- 0 and '' are what nobody has said; -1 is no limit.
alter table pool
  add column provider         text not null default '',
  add column shape_millicpus  bigint not null default 0,
  add column shape_memory     bigint not null default 0,
  add column shape_devices    text not null default '',
  add column spot             boolean not null default false,
  add column price            bigint not null default 0,  -- millionths of a dollar an hour
  add column on_demand        bigint not null default 0,
  add column size_min         bigint not null default 0,
  add column size_max         bigint not null default 0,
  add column size_unit        int not null default 0,     -- SizeUnit
  add column max_price        int not null default -1,    -- percent of on_demand
  add column idle_us          bigint not null default 300000000,
  add column boot_limit_us    bigint not null default 600000000,
  add column labels           text not null default '',   -- FormatLabels
  add column steps            text not null default '',   -- FormatSteps
  add column disabled         boolean not null default false,
  add column options          text not null default '';   -- JSON, for its provider

create table queue (
  project       text not null references project,
  name          text not null,
  priority      int not null,
  share         int not null,
  machines_max  bigint not null,  -- -1: no limit, as in the next two
  cost_max      bigint not null,  -- millionths of a dollar an hour
  running_max   bigint not null,
  disabled      boolean not null,
  primary key (project, name)
);

-- A pool that a queue names cannot go.
create table queue_pool (
  project  text not null,
  queue    text not null,
  place    int not null,  -- in the order in which they are used
  pool     text not null,
  primary key (project, queue, place),
  foreign key (project, queue) references queue on delete cascade,
  foreign key (project, pool) references pool
);
create index queue_pool_of_pool on queue_pool (project, pool);

-- A version never changes.
create table kept_spec (
  project     text not null references project,
  name        text not null,
  version     int not null,
  document    text not null,
  made_by     text not null,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (project, name, version)
);
