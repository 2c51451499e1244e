// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "frame/frame.h"

namespace tidemill::init {

// The stream to the agent. Never blocks. What is not yet sent is kept without a limit: whoever puts
// frames looks at unsent_bytes() first.
class AgentLink {
 public:
  explicit AgentLink(int socket) : socket_(socket) {}

  int socket() const { return socket_; }
  std::size_t unsent_bytes() const { return unsent_.size() - sent_; }

  // Sent with the next Flush.
  void Put(std::string_view frame) { unsent_.append(frame); }
  // Sends what the socket takes. False: the agent is gone.
  bool Flush();
  // Takes what has come, once; Next then has it. False: the agent is gone.
  bool Receive();
  std::optional<frame::Frame> Next() { return reader_.Next(); }
  bool broken() const { return reader_.broken(); }
  // Wipes the frames that Next gave.
  void Forget() { reader_.Forget(); }

 private:
  const int socket_;
  std::string unsent_;
  std::size_t sent_ = 0;  // of `unsent_`
  frame::Reader reader_{frame::Reader::Side::kInit};
};

}  // namespace tidemill::init
