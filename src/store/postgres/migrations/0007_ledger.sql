-- 0007: what of a job's record is in the object store. Nothing is, of what was there before: a
-- server that has an object store writes it by and by.
alter table job add column ledger_chunks int not null default 0;
alter table job add column ledger_state smallint not null default -1;
alter table job add column ledger_round int not null default -1;
create index job_ledger on job (job_id)
  where state <> 0
    and (ledger_chunks < chunks or ledger_state <> state or ledger_round <> round);
alter table chunk_stat add column ledgered boolean not null default false;
create index chunk_stat_ledger on chunk_stat (job_id, chunk, round) where not ledgered;
