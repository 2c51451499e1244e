// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "logs/shelf/item_log.h"
#include "logs/shelf/job_search.h"
#include "model/chunk.h"
#include "model/job.h"
#include "model/outcome.h"
#include "store/store.h"

namespace tidemill {

// What the store knows of an item that helps to find its log.
struct LogLead {
  Job job = {};
  ItemState state = ItemState::kWaiting;
  bool was_lost = false;               // with a machine, once or more: packs of several have it
  std::vector<Outcome> outcomes = {};  // of its attempts, the newest last
};
// kNotFound: the job has no such item.
Result<LogLead> FindLogLead(Store& store, JobId job, std::int64_t item);

// Which attempt is meant by what a person asks for, and which pack has its end.
struct LogWish {
  std::optional<std::int32_t> round = {};
  std::optional<std::int32_t> attempt = {};
};
struct LogChoice {
  std::optional<std::int32_t> round = {};
  std::optional<std::int32_t> attempt = {};
  std::string last_pack = {};  // empty: look at all
  bool has_end = false;        // the attempt is over, and has written something
  bool silent = false;         // it is over, and has written nothing
};
LogChoice ChooseLog(const LogLead& lead, const LogWish& wish);

struct SearchLead {
  Job job = {};
  std::shared_ptr<const ItemSet> items = {};  // null: all
};
Result<SearchLead> FindSearchLead(Store& store, JobId job, std::optional<ItemState> state);

}  // namespace tidemill
