// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/deps.h"
#include "cmd/times.h"

namespace tidemill {

inline Result<void> UseTimes(AgentLimits& limits) {
  return SetTimes(TimesText(), "agent",
                  {{"ask_rest", &limits.ask_rest},
                   {"away_rest", &limits.away_rest},
                   {"device_rest", &limits.device_rest},
                   {"engine_outage", &limits.engine_outage},
                   {"fault_rest", &limits.fault_rest},
                   {"idle_container", &limits.idle_container},
                   {"longest_retry", &limits.longest_retry},
                   {"notice_grace", &limits.notice_grace},
                   {"notice_logs", &limits.notice_logs},
                   {"notice_save", &limits.notice_save},
                   {"notice_time", &limits.notice_time},
                   {"save_again", &limits.save_again},
                   {"store_outage", &limits.store_outage},
                   {"tell_every", &limits.tell_every},
                   {"tick", &limits.tick},
                   {"trouble_rest", &limits.trouble_rest}});
}

}  // namespace tidemill
