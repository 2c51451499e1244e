// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "net/http.h"
#include "server/deps.h"

namespace tidemill {

// Lets so many calls be under way at once, and so many more wait for their turn, so that calls of
// one kind cannot take all connections of the store. Loop thread only; outlives its calls.
class Gate {
 public:
  struct Limits {
    int under_way = 1;
    std::size_t waiting = 0;
  };
  explicit Gate(Limits limits) : limits_(limits) {}

  // Makes `call` now or later with a reply that must be used once, and hands that on to `reply`.
  // kExhausted: too many wait. One whose peer has gone by its turn is dropped: nobody would hear.
  template <typename T, typename Start>
  void Pass(const std::shared_ptr<HttpPeer>& peer, Start start, Reply<T> reply) {
    if (queue_.size() >= limits_.waiting && under_way_ >= limits_.under_way) {
      reply(Fail(Code::kExhausted, "this server has too many calls under way"));
      return;
    }
    // Holds on to the peer, never to the connection.
    queue_.push_back([this, peer, start = std::move(start), reply = std::move(reply)]() mutable {
      if (peer->gone) return;
      ++under_way_;
      start(Reply<T>([this, reply = std::move(reply)](Result<T> result) {
        --under_way_;
        reply(std::move(result));
        Next();
      }));
    });
    Next();
  }

  bool idle() const { return under_way_ == 0 && queue_.empty(); }

 private:
  void Next();

  const Limits limits_;
  int under_way_ = 0;
  bool in_next_ = false;
  std::deque<std::function<void()>> queue_;
};

}  // namespace tidemill
