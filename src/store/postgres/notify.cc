// SPDX-License-Identifier: Apache-2.0
// Who is told of jobs, and what became of it.
#include <utility>

#include "store/postgres/postgres_store.h"
#include "store/postgres/rows.h"
#include "store/postgres/statements.h"

namespace tidemill {

const Statement kListUntold{"list_untold", "select " TIDEMILL_JOB_COLUMNS
                                           " from job where job_id > $1 and notify and state <> 0"
                                           " and (told_state <> state or told_round <> round)"
                                           " order by job_id limit $2"};
const Statement kListBudgets{"list_budgets", "select " TIDEMILL_JOB_COLUMNS
                                             " from job where job_id > $1 and notify and state = 1"
                                             " and budget >= 0 and told_budget <> round"
                                             " order by job_id limit $2"};
// Of each project the first few, so that the many of one do not stand before the few of another.
const Statement kTakeNotifications{
    "take_notifications",
    "update notification n set tries = tries + 1, due_at = clock_timestamp() + $4 * interval '1 us'"
    " where notification_id in ("
    "  select d.notification_id from ("
    "   select distinct project from notification"
    "   where state = 0 and due_at <= clock_timestamp()"
    "   and project <> all (string_to_array($3, ' '))) p"
    "  cross join lateral ("
    "   select o.notification_id from notification o"
    "   where o.project = p.project and o.state = 0 and o.due_at <= clock_timestamp()"
    "   order by o.tries, o.due_at limit $2 for update skip locked) d"
    "  limit $1)"
    " returning notification_id, job_id, project, event, url, secret, body, tries,"
    " (extract(epoch from clock_timestamp() - created_at) * 1000000)::bigint"};

namespace {

const Statement kMarkTold{"mark_told",
                          "update job set told_state = state, told_round = round"
                          " where job_id = $1 and state = $2 and round = $3"
                          " and (told_state <> state or told_round <> round)"};
const Statement kMarkToldBudget{"mark_told_budget",
                                "update job set told_budget = round"
                                " where job_id = $1 and state = $2 and round = $3 and state = 1"
                                " and told_budget <> round"};
// The job's row is locked: nobody else counts.
const Statement kAddNotification{
    "add_notification",
    "insert into notification"
    " (notification_id, job_id, number, project, round, event, url, secret, body)"
    " select $1, $2, c.count, $3, $4, $5, $6, $7, $8"
    " from (select count(*) from notification where job_id = $2) c where c.count < $9"};
const Statement kEndDelivered{
    "end_delivered",
    "update notification set state = 1, error = '', delivered_at = clock_timestamp()"
    " where notification_id = $1 and state <> 1"};
const Statement kEndTry{"end_try",
                        "update notification set state = $3, error = $4,"
                        " due_at = clock_timestamp() + $5 * interval '1 us'"
                        " where notification_id = $1 and tries = $2 and state = 0"};
const Statement kListNotifications{
    "list_notifications",
    "select notification_id, job_id, round, event, url, state, tries, error, created_at,"
    " due_at, coalesce(delivered_at, 'epoch') from notification where job_id = $1"
    " order by number"};

DueNotification ReadDue(Row& row) {
  DueNotification due;
  due.id = row.Uuid<NotificationId>();
  due.job = JobId{row.Big()};
  due.project = row.Text();
  due.event = static_cast<JobEvent>(row.Small());
  due.url = row.Text();
  due.secret = row.Text();
  due.body = row.Text();
  due.tries = row.Int();
  due.age = Duration(row.Big());
  return due;
}

Notification ReadNotification(Row& row) {
  Notification one;
  one.id = row.Uuid<NotificationId>();
  one.job = JobId{row.Big()};
  one.round = row.Int();
  one.event = static_cast<JobEvent>(row.Small());
  one.url = row.Text();
  one.state = static_cast<NotificationState>(row.Small());
  one.tries = row.Int();
  one.error = row.Text();
  one.created_ms = row.Time() / 1000;
  one.due_ms = row.Time() / 1000;
  one.delivered_ms = row.Time() / 1000;
  return one;
}

Result<bool> Mark(Transaction& transaction, const Statement& mark, const Job& seen,
                  const std::vector<NewNotification>& made) {
  TIDEMILL_TRY(
      const Rows marked,
      transaction.One(
          mark,
          Params().Big(seen.id.number).Int(static_cast<std::int32_t>(seen.state)).Int(seen.round)));
  if (marked.touched() == 0) return false;
  for (const NewNotification& one : made) {
    transaction.Send(kAddNotification, Params()
                                           .Uuid(one.id)
                                           .Big(seen.id.number)
                                           .Text(seen.project)
                                           .Int(seen.round)
                                           .Int(static_cast<std::int32_t>(one.event))
                                           .Text(one.url)
                                           .Text(one.secret)
                                           .Text(one.body)
                                           .Int(kNotificationsPerJob));
  }
  TIDEMILL_TRY_VOID(transaction.Commit());
  return true;
}

}  // namespace

Result<std::vector<Job>> PostgresStore::ListUntold(JobId after, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListUntold, Params().Big(after.number).Int(limit)));
  return ReadAll(rows, ReadJob);
}

Result<bool> PostgresStore::Tell(const Job& seen, const std::vector<NewNotification>& made) {
  return Transact<bool>(
      [&](Transaction& transaction) { return Mark(transaction, kMarkTold, seen, made); });
}

Result<std::vector<Job>> PostgresStore::ListBudgets(JobId after, int limit) {
  TIDEMILL_TRY(const Rows rows, Query(kListBudgets, Params().Big(after.number).Int(limit)));
  return ReadAll(rows, ReadJob);
}

Result<bool> PostgresStore::TellBudget(const Job& seen, const std::vector<NewNotification>& made) {
  return Transact<bool>(
      [&](Transaction& transaction) { return Mark(transaction, kMarkToldBudget, seen, made); });
}

Result<std::vector<DueNotification>> PostgresStore::TakeDue(const DueFilter& filter) {
  std::string but;  // names have no spaces
  for (const std::string& project : filter.but) but += (but.empty() ? "" : " ") + project;
  TIDEMILL_TRY(
      const Rows rows,
      Query(kTakeNotifications,
            Params().Int(filter.limit).Int(filter.each).Text(but).Big(filter.hold.count())));
  return ReadAll(rows, ReadDue);
}

Result<void> PostgresStore::EndTry(NotificationId id, std::int32_t tries, const TryEnd& end) {
  if (end.state == NotificationState::kDelivered) {
    TIDEMILL_TRY_VOID(Query(kEndDelivered, Params().Uuid(id)));
    return {};
  }
  TIDEMILL_TRY_VOID(Query(kEndTry, Params()
                                       .Uuid(id)
                                       .Int(tries)
                                       .Int(static_cast<std::int32_t>(end.state))
                                       .Text(end.error)
                                       .Big(end.again_in.count())));
  return {};
}

Result<std::vector<Notification>> PostgresStore::ListNotifications(JobId job) {
  TIDEMILL_TRY(const Rows rows, Query(kListNotifications, Params().Big(job.number)));
  return ReadAll(rows, ReadNotification);
}

}  // namespace tidemill
