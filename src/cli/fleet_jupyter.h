// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "cli/context.h"
#include "cli/fleet_seat.h"
#include "cli/port_tunnel.h"
#include "net/loopback_listener.h"

namespace tidemill::cli {

// Jupyter in a container of the fleet, as a port of this machine's loopback. Loop thread only.
class FleetJupyter {
 public:
  // Connections at a time: a browser has six, and one for each kernel that it shows. The next ones
  // are closed at once; a container carries no more streams.
  static constexpr std::size_t kConnectionsMost = 28;

  FleetJupyter(const Context& context, FleetSeat& seat, int port, std::string token)
      : context_(context), seat_(seat), port_(port), token_(std::move(token)) {}

  FleetJupyter(const FleetJupyter&) = delete;
  FleetJupyter& operator=(const FleetJupyter&) = delete;

  // Until it ends there, or the person interrupts it here. The exit code.
  int Run(const std::string& image);

 private:
  // Nothing, or the exit code of what went wrong, which was said.
  std::optional<int> TellToken();
  std::optional<int> WaitUntilItListens();
  std::optional<int> Listen();
  void Carry(std::unique_ptr<ByteStream> here);
  StreamAsk PortAsk() const;

  const Context& context_;
  FleetSeat& seat_;
  const int port_;
  const std::string token_;
  std::unique_ptr<LoopbackListener> listener_;
  std::list<std::unique_ptr<PortTunnel>> tunnels_;
  std::size_t opening_ = 0;
  std::optional<std::string> over_;
};

}  // namespace tidemill::cli
