// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/byte_stream.h"
#include "base/result.h"
#include "cli/client.h"
#include "model/stream.h"

// A stream into the container of an item that runs, through the server: frames of frame/stream.h,
// of which this is the person's side.
namespace tidemill::cli {

// Of one item.
struct ItemStreamAsk {
  std::string job;  // as render-7, or its number
  std::int64_t item = 0;
  StreamAsk ask = {};
};

// `done` is as of Client::Upgrade. kConflict: the item does not run, or its machine lets nobody in.
void OpenItemStream(Client& client, const ItemStreamAsk& ask, Client::StreamDone done);
// The same, and runs the client's loop until it is there.
Result<std::unique_ptr<ByteStream>> AwaitItemStream(Client& client, const ItemStreamAsk& ask);

}  // namespace tidemill::cli
