// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/client.h"
#include "wire/cost_json.h"

namespace tidemill::cli {

// What a job costs; nothing if the server does not say: it is older, or does not plan.
std::optional<JobCost> FetchCost(Client& client, const std::string& job);

// Each is empty if there is nothing to say; a job that only ran where nothing costs anything has no
// dollars.
// "$184.12 so far, $0.0012 an item, $2.10 lost to interruptions"
std::string SpentText(const JobCost& cost);
// "2 h 10 min left (1 h 58 min to 2 h 31 min)"
std::string TimeLeftText(const JobCost& cost);
// "$331.00 by the end ($310.00 to $390.00)"
std::string EndCostText(const JobCost& cost);
// "812 work for it; its pools have 3 ordered, 2 booting, 812 joined"
std::string MachinesText(const JobCost& cost);
// "3 ordered, 2 booting, 812 joined, 1 draining", without those that are none.
std::string CountsText(const MachineCounts& machines);

// For tidemill show: a name and a text each.
std::vector<std::pair<std::string, std::string>> CostLines(const JobCost& cost);

}  // namespace tidemill::cli
