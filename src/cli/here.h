// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "model/one_item.h"
#include "model/spec.h"
#include "net/asio_loop.h"

namespace tidemill::cli {

// How an item is run on this machine.
struct HereFlags {
  std::string engine = "docker";
  std::string out;                   // takes its outputs; empty: ./out/JOB-ITEM
  std::vector<std::string> secrets;  // NAME=FILE
  std::vector<std::string> volumes;  // NAME=FOLDER
  std::vector<std::string> devices;  // as tidemill-agent --device has them
  bool shell = false;                // a terminal in its place
};

struct HereWork {
  OneItem item;                       // without its secrets and its folder
  std::string code = {};              // the archive that its spec names; empty: none
  std::optional<Outcome> fleet = {};  // what became of it there, if it is from there
};

// Runs the item by an agent of its own, as the fleet does; what it writes goes to standard output,
// all else to standard error. Gives the exit code of the command; see ExitOfEnd. Nothing is left
// behind but its outputs.
int RunHere(AsioLoop& loop, const Console& console, const Surroundings& around,
            const HereFlags& flags, HereWork work);

}  // namespace tidemill::cli
