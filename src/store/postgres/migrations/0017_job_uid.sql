-- 0017: what distinguishes a job from those of other deployments, see Job::uid.
alter table job add column uid text not null default '';
