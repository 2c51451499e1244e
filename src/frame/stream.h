// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frame/frame.h"

// Streams into a container: a program beside its items, on a terminal or on pipes, or a connection
// to a port of the container's loopback. In the header of their frames stands the stream's number,
// which the agent chooses and never uses twice in one container.
//
//   init ◀──Open───── agent    begins it
//        ◀──Give─────          bytes for its input; none: that was all of it
//        ◀──Resize───          of its terminal
//        ◀──Hold─────          1: send no output from here on; 0: go on
//        ◀──Close────          nobody is there any more: init ends it, and says Over
//        ──Output───▶          what it wrote, or what came from the port
//        ──Errors───▶          what a program without a terminal wrote to its stderr
//        ──Full─────▶          1: send no Give from here on; 0: go on
//        ──Over─────▶          once, the last of each stream
//
// A stream ends at the latest with the items that were running when it was opened: what comes next
// in the container finds nobody there. It does not outlive a cut of the frames' own stream either.
//
// Between the agent and the person who asked for a stream the same frames go over a connection of
// the stream's own, all with number 0: Give and Resize one way, Output, Errors and Over the other.
// That connection holds back by itself.
namespace tidemill::frame {

// Streams of one container at a time: a few people, and a browser's connections to a notebook.
inline constexpr std::size_t kStreamsMost = 32;
// Of one Give, Output or Errors.
inline constexpr std::size_t kStreamBytes = 32 * 1024;
// What may be under way towards a stream that is Full: the agent stops on hearing of it.
inline constexpr std::size_t kStreamUnwrittenMost = 1024 * 1024;

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  bool operator==(const TerminalSize&) const = default;
};

struct Open {
  std::uint16_t port = 0;  // not 0: of the container's loopback; the rest says nothing then
  bool terminal = false;
  TerminalSize size = {};
  Run program = {};  // its argv and env; all else says nothing
};

// Nothing for what DecodeOpen would not take.
//
//   payload │ flags: 4 │ port: 4 │ rows: 4 │ columns: 4 │ of a program: as of a Run
std::optional<std::string> EncodeOpen(std::uint64_t number, const Open& open);
// The strings are those of the payload.
std::optional<Open> DecodeOpen(std::string_view payload);

// At most kStreamBytes; what is over is not in the frame.
std::string EncodeGive(std::uint64_t number, std::string_view bytes);
std::string EncodeOutput(std::uint64_t number, std::string_view bytes);
std::string EncodeErrors(std::uint64_t number, std::string_view bytes);

std::string EncodeResize(std::uint64_t number, TerminalSize size);
std::optional<TerminalSize> DecodeResize(std::string_view payload);

std::string EncodeHold(std::uint64_t number, bool hold);
std::string EncodeFull(std::uint64_t number, bool full);
// Of a Hold or a Full.
std::optional<bool> DecodeFlag(std::string_view payload);

std::string EncodeClose(std::uint64_t number);

// How a stream ended.
struct Over {
  std::int32_t exit = 0;   // of its program: its exit code, or 128 and what killed it
  std::int32_t error = 0;  // errno: it could not be started, or the port not be connected to
  bool with_item = false;  // because the item beside it has ended, and not by itself
  bool operator==(const Over&) const = default;
};
std::string EncodeOver(std::uint64_t number, const Over& over);
std::optional<Over> DecodeOver(std::string_view payload);

}  // namespace tidemill::frame
