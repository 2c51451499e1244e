// SPDX-License-Identifier: Apache-2.0
#include "cli/port_tunnel.h"

#include <utility>

#include "frame/stream.h"

namespace tidemill::cli {

PortTunnel::PortTunnel(std::unique_ptr<ByteStream> here, std::unique_ptr<ByteStream> item,
                       std::function<void()> over)
    : here_(std::move(here)), item_(std::move(item)), over_(std::move(over)) {
  here_->Start({.on_bytes = [this](std::string_view bytes) { Give(bytes); },
                .on_sent =
                    [this] {
                      if (here_->unsent() < kGoOnBytes) item_->Hold(false);
                    },
                .on_end = [this](const std::string&) { End(); }});
  item_->Start({.on_bytes = [this](std::string_view bytes) { Take(bytes); },
                .on_sent =
                    [this] {
                      if (item_->unsent() < kGoOnBytes) here_->Hold(false);
                    },
                .on_end = [this](const std::string&) { End(); }});
}

void PortTunnel::Give(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, frame::kStreamBytes);
    item_->Send(frame::EncodeGive(0, piece));
    bytes.remove_prefix(piece.size());
  }
  if (item_->unsent() > kHoldBytes) here_->Hold(true);
}

void PortTunnel::Take(std::string_view bytes) {
  reader_.Feed(bytes);
  while (const auto frame = reader_.Next()) {
    if (frame->kind == frame::Kind::kOver) return End();
    if (frame->kind == frame::Kind::kOutput) here_->Send(frame->payload);
  }
  if (reader_.broken()) return End();
  if (here_->unsent() > kHoldBytes) item_->Hold(true);
}

// What has come goes out on either side.
void PortTunnel::End() {
  here_->Finish();
  item_->Finish();
  const auto over = over_;  // it may destroy us
  over();
}

}  // namespace tidemill::cli
