// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/times.h"
#include "provider/aws/aws_provider.h"
#include "server/deps.h"
#include "server/http/service.h"
#include "server/notify/notifier.h"

namespace tidemill {

// The times of a server and of the providers in it.
struct ServerTimes {
  ServerLimits limits = {};
  Duration aws_unordered = kUnordered;
  Duration certificate_look = ServiceOptions().certificate_look;
  Duration notify_hold = Notifier::Options().hold;
  Duration stream_look = StreamDesk::kLookTime;
};

inline Result<ServerTimes> ReadServerTimes() {
  ServerTimes times;
  TIDEMILL_TRY_VOID(SetTimes(TimesText(), "server",
                             {{"aws_unordered", &times.aws_unordered},
                              {"blame_every", &times.limits.blame_every},
                              {"certificate_look", &times.certificate_look},
                              {"insist_after", &times.limits.insist_after},
                              {"leader_silence", &times.limits.leader_silence},
                              {"list_limit", &times.limits.list_limit},
                              {"notify_hold", &times.notify_hold},
                              {"pack_every", &times.limits.pack_every},
                              {"plan_every", &times.limits.plan_every},
                              {"reap_every", &times.limits.reap_every},
                              {"stream_look", &times.stream_look},
                              {"tidy_every", &times.limits.tidy_every}}));
  return times;
}

}  // namespace tidemill
