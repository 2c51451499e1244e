// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of the agent's streams: people who are played.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/stream_link.h"
#include "base/byte_stream_testing.h"
#include "base/loop.h"
#include "frame/stream.h"

namespace tidemill {

// Connects each stream with a person whom the test plays.
class TestStreamLink : public StreamLink {
 public:
  explicit TestStreamLink(Loop& loop) : loop_(loop) {}

  void Connect(const SessionPass& pass, StreamId stream, Done done) override {
    last_pass = pass;
    connects.push_back(stream);
    loop_.After(Duration::zero(), [this, stream, done = std::move(done)] {
      if (while_connecting) while_connecting();
      if (error) return done(tl::unexpected(*error));
      auto& person = people[stream] = std::make_shared<PlayedStream>();
      done(std::make_unique<PlayedByteStream>(person));
    });
  }
  void Refuse(const SessionPass& pass, StreamId stream, const std::string& reason) override {
    last_pass = pass;
    refused[stream] = reason;
  }

  std::function<void()> while_connecting;
  std::optional<Error> error;  // of each Connect
  SessionPass last_pass;
  std::vector<StreamId> connects;
  std::map<StreamId, std::shared_ptr<PlayedStream>> people;
  std::map<StreamId, std::string> refused;

 private:
  Loop& loop_;
};

// What a person has got.
struct PersonSaw {
  std::string output;
  std::string errors;
  std::optional<frame::Over> over;
  bool broken = false;
};

inline PersonSaw SawBy(const PlayedStream& person) {
  PersonSaw seen;
  frame::Reader reader(frame::Reader::Side::kPerson);
  reader.Feed(person.sent);
  while (const auto frame = reader.Next()) {
    seen.broken |= seen.over.has_value();  // that is the last
    if (frame->kind == frame::Kind::kOutput) seen.output += frame->payload;
    if (frame->kind == frame::Kind::kErrors) seen.errors += frame->payload;
    if (frame->kind == frame::Kind::kOver) seen.over = frame::DecodeOver(frame->payload);
  }
  seen.broken |= reader.broken();
  return seen;
}

}  // namespace tidemill
