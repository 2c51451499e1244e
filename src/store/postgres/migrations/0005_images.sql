-- 0005: which image a job's tag stands for. A job of before is pinned by the first machine that
-- pulls its image.
alter table job add column image_digest text not null default '';
