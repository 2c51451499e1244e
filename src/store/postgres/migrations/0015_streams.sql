-- 0015: who wants into the container of an item. Servers read it with the change row, tell agents.
create table asked_stream (
  stream_id   uuid primary key,
  number      bigint generated always as identity,  -- the order in which they came
  session_id  uuid not null,  -- who had the item's lease then
  job_id      bigint not null references job on delete cascade,
  item        bigint not null,
  ask         text not null,
  until       timestamptz not null
);
