// SPDX-License-Identifier: Apache-2.0
#include "server/http/api.h"

#include <utility>

namespace tidemill {

Api::Api(Server& server, Random& random, Log& log, ApiOptions options)
    : state_{server,
             random,
             log,
             options,
             Gate(options.people),
             Gate(options.agents),
             JobNames(server.jobs())} {
  AddAgentRoutes(router_, state_);
  AddJobRoutes(router_, state_);
  AddItemRoutes(router_, state_);
  AddMachineRoutes(router_, state_);
  AddHealthRoutes(router_, state_);
}

}  // namespace tidemill
