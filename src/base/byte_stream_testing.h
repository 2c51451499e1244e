// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_stream.h"

namespace tidemill {

// A stream whose other side is a test. The test's end outlives the stream.
struct PlayedStream {
  std::string sent;  // all that the stream was given to send
  std::size_t unsent = 0;
  bool started = false;
  bool held = false;
  bool finished = false;
  bool closed = false;  // or destroyed
  ByteStream::Events events = {};

  // What the other side says. By a copy: it may destroy the stream.
  void Say(std::string_view bytes) {
    const auto call = events.on_bytes;
    call(bytes);
  }
  void End(const std::string& reason) {
    const auto call = events.on_end;
    call(reason);
  }
  // The other side has taken all.
  void TakeAll() {
    unsent = 0;
    const auto call = events.on_sent;
    call();
  }
};

class PlayedByteStream : public ByteStream {
 public:
  explicit PlayedByteStream(std::shared_ptr<PlayedStream> play) : play_(std::move(play)) {}
  ~PlayedByteStream() override { play_->closed = true; }

  void Start(Events events) override {
    play_->events = std::move(events);
    play_->started = true;
  }
  void Send(std::string_view bytes) override {
    play_->sent += bytes;
    play_->unsent += bytes.size();
  }
  std::size_t unsent() const override { return play_->unsent; }
  void Hold(bool hold) override { play_->held = hold; }
  void Finish() override { play_->finished = true; }
  void Close() override { play_->closed = true; }

 private:
  const std::shared_ptr<PlayedStream> play_;
};

}  // namespace tidemill
