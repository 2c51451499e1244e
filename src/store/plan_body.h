// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "model/plan.h"

namespace tidemill {

// A plan as a store keeps it: a line for each row, "r 7 spot 12 0", and one for each machine that
// is held for a job, "m 7 spot-3". Names have no spaces and no line ends.
std::string PackPlan(const Plan& plan);
// What is not of this form is passed over.
Plan UnpackPlan(std::string_view body);

}  // namespace tidemill
