// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/byte_stream.h"
#include "base/result.h"
#include "model/session.h"
#include "model/stream.h"

namespace tidemill {

// An agent's way to the server where somebody waits for a stream. Loop thread only.
class StreamLink {
 public:
  using Done = std::function<void(Result<std::unique_ptr<ByteStream>>)>;

  virtual ~StreamLink() = default;
  // Connects the stream: frames of frame/stream.h, of which this is the carrier's side. `done`
  // comes once, never from inside. kNotFound: nobody waits for it any more, on any server.
  virtual void Connect(const SessionPass& pass, StreamId stream, Done done) = 0;
  // Tells the one who waits why there is none; if that does not get through, he waits for nothing.
  virtual void Refuse(const SessionPass& pass, StreamId stream, const std::string& reason) = 0;
};

}  // namespace tidemill
