-- 0018: machines that their provider does not list any more, and when the last one never joined.
alter table machine add column missing_since timestamptz;
alter table pool add column never_joined_at timestamptz not null default 'epoch';
