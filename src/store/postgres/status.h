// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/session.h"

namespace tidemill {

// What an agent said of its machine, as agent_session.status has it; all numbers are varints:
//
//   version, now 3 │ enforces: 0 or 1 │ bytes, engine
//     │ jobs, then for each: job, running, millicpus, memory_bytes, bytes, trouble,
//       bytes, what it waits for, items, then for each: item, permille, bytes, note
//     │ bytes, type │ bytes, zone │ spot: 0 or 1
//
// Never empty. A number below zero is written as zero. Of all texts together only the first few
// hundred bytes are kept, and of all items that say how far they are the first few: the row is
// written with many heartbeats. Version 2, which ended with the jobs, and version 1, which
// ended each of them with its trouble, are still read.
std::string PackStatus(const MachineStatus& status);
// Nothing for what another program has written: people then see that nothing is known.
std::optional<MachineStatus> UnpackStatus(std::string_view bytes);

}  // namespace tidemill
