// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cloud/world.h"

namespace tidemill::cli {

enum Exit : int {
  kDone = 0,
  kFailed = 1,  // the job, or an item that was waited for
  kWrongUse = 2,
  kNoSuchThing = 3,
  kNotAllowed = 4,
  kNoServer = 5,
  kCancelled = 6,
  kInterrupted = 130,
};

enum class Colour { kPlain, kBold, kDim, kRed, kGreen, kYellow };

// The text in a colour, or as it is if `on` is false.
std::string Paint(bool on, Colour colour, std::string_view text);

// Where a command's words go, and what it knows of whoever reads them. One thread.
struct Console {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  bool out_terminal = false;
  bool err_terminal = false;
  bool colours = false;  // on standard output
  // A line is no wider, also where nobody has told us: into a file or a pipe.
  std::size_t columns = 100;
  bool json = false;   // the same facts, for programs
  bool quiet = false;  // only the id

  void Line(std::string_view text) const;
  void ErrLine(std::string_view text) const;
  std::string Painted(Colour colour, std::string_view text) const;
};

// What a command may know of the process it runs in; only main() asks the system for it.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string&)> env;
  std::function<std::int64_t()> now_ms;  // since 1970
  std::int64_t zone_s = 0;               // the time zone, seconds east of UTC
  std::function<CloudWorld()> world;     // what clouds and their stores find of us
  std::string executable;                // our own path
  std::string version;

  // A variable that is set and not empty.
  std::optional<std::string> Env(const std::string& name) const;
};

}  // namespace tidemill::cli
