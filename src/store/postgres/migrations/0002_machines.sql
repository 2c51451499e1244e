-- 0002: machines as people see them, and why a job is paused.

-- No index on these either: every heartbeat changes seen_at.
alter table agent_session
  add column joined_at  timestamptz not null default clock_timestamp(),
  add column seen_at    timestamptz not null default clock_timestamp(),
  add column status     bytea;  -- see store/postgres/status.h; null until the agent says something

-- Only a paused job has one, and only if no person paused it.
alter table job add column reason text not null default '';
