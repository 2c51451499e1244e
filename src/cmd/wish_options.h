// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

#include "wire/submit_json.h"

namespace tidemill::cli {

// What a job asks of whoever decides what runs next, as flags that go before its spec.
inline void AddWishOptions(CLI::App* command, WishEdits& wishes) {
  constexpr const char* kGroup = "In place of what the spec says";
  command->add_option("--queue", wishes.queue, "Where it waits")
      ->option_text("NAME")
      ->group(kGroup);
  command->add_option("--priority", wishes.priority, "In its queue; the higher is served first")
      ->option_text("N")
      ->group(kGroup);
  command->add_option("--deadline", wishes.deadline, "When it is to be done, as 6h from now")
      ->option_text("TIME")
      ->group(kGroup);
  command->add_option("--budget", wishes.budget, "Dollars that it may cost")
      ->option_text("N")
      ->group(kGroup);
  command->add_option("--max-parallel", wishes.max_parallel, "Items that run at a time, at most")
      ->option_text("N")
      ->group(kGroup);
  command->add_option("--after", wishes.after, "Jobs that must be over first; may be repeated")
      ->option_text("JOB")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(kGroup);
}

}  // namespace tidemill::cli
