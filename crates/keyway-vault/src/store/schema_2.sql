-- Ages of claims count the time in which the machine runs; the wall clock may be set meanwhile.
-- Milliseconds since the boot that is named beside them.
ALTER TABLE grants ADD COLUMN claim_boot TEXT;
ALTER TABLE grants ADD COLUMN claimed_uptime INTEGER;
-- Requests with this generation's refresh token that got no answer.
ALTER TABLE grants ADD COLUMN lost_answers INTEGER NOT NULL DEFAULT 0;
-- No process claims before this: the authorization server asked to wait.
ALTER TABLE grants ADD COLUMN postponed_boot TEXT;
ALTER TABLE grants ADD COLUMN postponed_uptime INTEGER;
