-- 0006: whose logs somebody reads as they come. Servers read it with the change row, tell agents.
create table followed (
  job_id  bigint primary key references job on delete cascade,
  until   timestamptz not null
);
