-- 0014: who is to be told of a job, what was told already, and what became of it.

-- Its spec may have a `notify`; who tells reads it. Few jobs have one, and only they are looked at.
alter table job
  add column notify       boolean generated always as (document like '%"notify":%') stored,
  add column told_state   smallint not null default -1,
  add column told_round   int not null default -1,
  add column told_budget  int not null default -1;  -- the round
create index job_untold on job (job_id)
  where notify and state <> 0 and (told_state <> state or told_round <> round);
create index job_budget on job (job_id)
  where notify and state = 1 and budget >= 0 and told_budget <> round;

create table notification (
  notification_id  uuid primary key,
  job_id           bigint not null references job on delete cascade,
  number           int not null,  -- in its job
  project          text not null,
  round            int not null,
  event            smallint not null,  -- JobEvent
  url              text not null,
  secret           text not null,
  body             text not null,
  state            smallint not null default 0,  -- NotificationState
  tries            int not null default 0,
  error            text not null default '',
  created_at       timestamptz not null default clock_timestamp(),
  due_at           timestamptz not null default clock_timestamp(),
  delivered_at     timestamptz,
  unique (job_id, number)
);
-- Those that are over outnumber the others.
create index notification_due on notification (project, tries, due_at) where state = 0;
