// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "plan/why.h"

namespace tidemill {
namespace {

constexpr std::array<std::string_view, kWhyCodes> kNames = {"paused",
                                                            "after",
                                                            "no_queue",
                                                            "queue_disabled",
                                                            "back_off",
                                                            "nothing_left",
                                                            "no_pools",
                                                            "pool_missing",
                                                            "pool_disabled",
                                                            "labels",
                                                            "devices",
                                                            "too_large",
                                                            "budget",
                                                            "max_parallel",
                                                            "running_limit",
                                                            "machines_limit",
                                                            "cost_limit",
                                                            "no_capacity",
                                                            "price_cap",
                                                            "protected",
                                                            "quota",
                                                            "pool_max",
                                                            "steps",
                                                            "no_machines",
                                                            "waits_for_machines",
                                                            "canary",
                                                            "image_pull",
                                                            "reserved",
                                                            "share",
                                                            "full",
                                                            "starting",
                                                            "machine_ordered",
                                                            "machine_booting",
                                                            "machine_draining",
                                                            "machine_gone",
                                                            "machine_disabled",
                                                            "machine_reserved",
                                                            "machine_full",
                                                            "machine_idle",
                                                            "machine_starting"};

}  // namespace

std::string_view WhyName(WhyCode code) { return kNames[static_cast<std::size_t>(code)]; }

}  // namespace tidemill
