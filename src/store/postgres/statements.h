// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/postgres/connection.h"

// Statements that must go by an index however large the tables are: plan_test.cc asks PostgreSQL.
// Each is defined beside the code that sends it.
namespace tidemill {

extern const Statement kFindCaller;
extern const Statement kFindBrowser;
extern const Statement kCheckPass;
extern const Statement kLockSessions;
extern const Statement kRenew;
extern const Statement kReadLeases;
extern const Statement kLockLeases;
extern const Statement kTakenReports;
extern const Statement kFindFree;
extern const Statement kFindWorn;
extern const Statement kAnyFreeBut;
extern const Statement kReadTries;
extern const Statement kFindDue;
extern const Statement kTakeDue;
extern const Statement kTriesToSettle;
extern const Statement kBlame;
extern const Statement kEndRests;
extern const Statement kListRecords;
extern const Statement kCountItems;
extern const Statement kListRunnable;
extern const Statement kListPackable;
extern const Statement kRenewMarks;
extern const Statement kFindMarks;
extern const Statement kForgetMarks;
extern const Statement kListSweepable;
extern const Statement kListMachines;
extern const Statement kListOpenReports;
extern const Statement kFindItemLease;
extern const Statement kLockLeasesOfSessions;
extern const Statement kLockExpired;
extern const Statement kLockToRoll;
extern const Statement kListUntold;
extern const Statement kListBudgets;
extern const Statement kTakeNotifications;
extern const Statement kSnapshotJobs;
extern const Statement kSnapshotMachines;

}  // namespace tidemill
