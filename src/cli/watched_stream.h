// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_stream.h"
#include "base/loop.h"

namespace tidemill::cli {

// A stream that ends when nothing has gone through it for some time, or when it is told to. Its
// user hears the reason as that of any other end. Loop thread only.
class WatchedStream : public ByteStream {
 public:
  // Shared with whoever may break it.
  struct Watch {
    TimePoint used;
    std::function<void(const std::string&)> on_end;
    ByteStream* stream = nullptr;  // null: it is gone, or has ended

    void Break(const std::string& reason) {
      if (stream == nullptr) return;
      std::exchange(stream, nullptr)->Close();
      const auto call = on_end;  // it may destroy the stream
      if (call) call(reason);
    }
  };

  // Zero: it may be idle for ever.
  WatchedStream(Loop& loop, std::unique_ptr<ByteStream> inner, Duration idle,
                const std::string& idle_reason)
      : loop_(loop), inner_(std::move(inner)) {
    watch_->used = loop.Now();
    watch_->stream = inner_.get();
    if (idle > Duration::zero()) Look(loop, watch_, idle, idle_reason);
  }
  ~WatchedStream() override { watch_->stream = nullptr; }

  const std::shared_ptr<Watch>& watch() const { return watch_; }

  void Start(Events events) override {
    watch_->on_end = events.on_end;
    inner_->Start({.on_bytes =
                       [this, on_bytes = std::move(events.on_bytes)](std::string_view bytes) {
                         watch_->used = loop_.Now();
                         on_bytes(bytes);
                       },
                   .on_sent = std::move(events.on_sent),
                   .on_end =
                       [watch = watch_](const std::string& reason) {
                         watch->stream = nullptr;
                         watch->on_end(reason);
                       }});
  }
  void Send(std::string_view bytes) override {
    watch_->used = loop_.Now();
    inner_->Send(bytes);
  }
  std::size_t unsent() const override { return inner_->unsent(); }
  void Hold(bool hold) override { inner_->Hold(hold); }
  void Finish() override {
    watch_->stream = nullptr;
    inner_->Finish();
  }
  void Close() override {
    watch_->stream = nullptr;
    inner_->Close();
  }

 private:
  static void Look(Loop& loop, const std::weak_ptr<Watch>& weak, Duration idle,
                   const std::string& reason) {
    const auto watch = weak.lock();
    if (!watch) return;
    const Duration left = watch->used + idle - loop.Now();
    if (left <= Duration::zero()) return watch->Break(reason);
    loop.After(left, [&loop, weak, idle, reason] { Look(loop, weak, idle, reason); });
  }

  Loop& loop_;
  const std::unique_ptr<ByteStream> inner_;
  const std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
};

}  // namespace tidemill::cli
