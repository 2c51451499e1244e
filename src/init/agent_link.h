// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/frame.h"

namespace tidemill::init {

// The stream to the agent, and what must not be lost if it is cut. Never blocks. What is not yet
// sent is kept without a limit: whoever puts frames looks at unsent_bytes() first.
class AgentLink {
 public:
  // A run that init has.
  struct Have {
    std::uint64_t number = 0;
    std::string tag;
  };

  // `path` is where an agent listens, after this one is gone too; null: there is no other. It must
  // outlive this.
  AgentLink(int socket, const char* path) : path_(path), socket_(socket) { reader_.emplace(kSide); }

  // -1: it is cut.
  int socket() const { return socket_; }
  bool connected() const { return socket_ >= 0; }
  std::size_t unsent_bytes() const { return unsent_.size() - sent_; }

  // Sent with the next Flush.
  void Put(std::string_view frame) { unsent_.append(frame); }
  // The same, and again after a cut, until it is heard.
  void PutEnd(const Have& run, const frame::End& end);
  void Heard(std::uint64_t number);
  // How many Ends nobody has heard.
  std::size_t unheard() const { return unheard_.size(); }

  // Sends what the socket takes. False: the agent is gone.
  bool Flush();
  // Takes what has come, once; Next then has it. False: the agent is gone.
  bool Receive();
  std::optional<frame::Frame> Next() { return reader_->Next(); }
  bool broken() const { return reader_->broken(); }
  // Wipes the frames that Next gave.
  void Forget() { reader_->Forget(); }

  // The agent is gone, and with it what was not sent of streams. False: for good.
  bool Lose();
  // Tries to reach an agent again and tells it what there is: `runs`, which have not ended, and all
  // Ends that were not heard. False: nobody is there yet.
  bool Return(const std::vector<Have>& runs);

 private:
  static constexpr frame::Reader::Side kSide = frame::Reader::Side::kInit;
  struct Unheard {
    Have run;
    std::string frame;
  };

  // Cuts off the frames of `unsent_` that are wholly sent.
  void DropSent();
  // Cuts out those that are of streams: to another agent these say nothing.
  void DropStreams();
  int Connect() const;
  // Those of `unheard_` that are not in `unsent_`.
  std::string SentButUnheard() const;

  const char* const path_;
  int socket_;
  std::string unsent_;    // whole frames
  std::size_t sent_ = 0;  // of `unsent_`
  std::deque<Unheard> unheard_;
  std::optional<frame::Reader> reader_;
};

}  // namespace tidemill::init
