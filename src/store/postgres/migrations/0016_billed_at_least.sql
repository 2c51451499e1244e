-- 0016: the minimum that the provider of a pool bills for a machine.
alter table pool add column billed_at_least_us bigint not null default 60000000;
