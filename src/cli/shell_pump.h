// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "frame/frame.h"
#include "frame/stream.h"

// A shell in an item's container, as bytes: what is typed here becomes frames, and frames become
// what is shown. Pure.
namespace tidemill::cli {

// What is typed, as ssh has it: at the begin of a line "~." leaves, and "~~" is one '~'.
class ShellKeys {
 public:
  // What of it is meant for the program. Nothing from "~." on.
  std::string Pass(std::string_view typed);
  // A '~' after which nothing came.
  std::string Rest();
  bool left() const { return place_ == Place::kLeft; }

 private:
  enum class Place { kLineBegin, kTilde, kInLine, kLeft };
  Place place_ = Place::kLineBegin;
};

// How a shell ended.
struct ShellEnd {
  enum class Kind {
    kOver,      // as `over` says
    kLeft,      // from here, by "~."
    kLost,      // its connection, for `reason`
    kNoOutput,  // what it wrote could not be written here, for `reason`
  };
  Kind kind = Kind::kOver;
  frame::Over over = {};
  std::string reason = {};
};

class ShellPump {
 public:
  // Writes all of it before it returns; else it says why not.
  using Write = std::function<std::optional<std::string>(std::string_view)>;

  // `has_keys`: what is typed comes from a keyboard, and not from a file or a program.
  ShellPump(bool has_keys, Write out, Write errors)
      : has_keys_(has_keys), out_(std::move(out)), errors_(std::move(errors)) {}

  // The frames for what was typed. None for no bytes: they would be the end of the input.
  std::string Type(std::string_view bytes);
  // Those for the end of the input.
  std::string EndInput();
  // What the other side sent.
  void Take(std::string_view bytes);
  // The other side will send nothing more.
  void Lose(const std::string& reason);

  // Set once, and nothing is written nor sent from then on.
  const std::optional<ShellEnd>& end() const { return end_; }

 private:
  void TakeFrame(const frame::Frame& frame);
  void WriteTo(const Write& write, std::string_view bytes);
  void End(ShellEnd end);

  const bool has_keys_;
  const Write out_;
  const Write errors_;
  ShellKeys keys_;
  frame::Reader reader_{frame::Reader::Side::kPerson};
  std::optional<ShellEnd> end_;
};

// What a person hears of an end, if anything, and the exit code that goes with it.
struct ShellFarewell {
  int exit = 0;
  std::string line = {};  // empty: nothing, the program has said what there was to say
  std::string next = {};  // what to do now, likewise
};
// `program` is what was to be started.
ShellFarewell FarewellOf(const ShellEnd& end, const std::string& job, std::int64_t item,
                         const std::string& program);

}  // namespace tidemill::cli
