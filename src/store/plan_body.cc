// SPDX-License-Identifier: Apache-2.0
#include "store/plan_body.h"

#include <sstream>

namespace tidemill {

std::string PackPlan(const Plan& plan) {
  std::string body;
  for (const PlanRow& row : plan.rows) {
    body.append("r ").append(std::to_string(row.job.number)).append(" ").append(row.pool);
    body.append(" ").append(std::to_string(row.slots));
    body.append(" ").append(std::to_string(row.worn_slots)).append("\n");
  }
  for (const Reservation& held : plan.reserved) {
    body.append("m ").append(std::to_string(held.job.number)).append(" ");
    body.append(held.machine).append("\n");
  }
  return body;
}

Plan UnpackPlan(std::string_view body) {
  Plan plan;
  std::istringstream lines{std::string(body)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind;
    JobId job;
    words >> kind >> job.number;
    if (kind == "r") {
      PlanRow row{.job = job, .pool = {}, .slots = 0, .worn_slots = 0};
      if (words >> row.pool >> row.slots >> row.worn_slots) plan.rows.push_back(std::move(row));
    } else if (kind == "m") {
      Reservation held{.machine = {}, .job = job};
      if (words >> held.machine) plan.reserved.push_back(std::move(held));
    }
  }
  return plan;
}

}  // namespace tidemill
