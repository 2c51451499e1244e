// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"

namespace tidemill {

// What a kernel can hold rules for.
struct FirewallKinds {
  bool ip6 = true;     // IPv6 beside IPv4
  bool bridge = true;  // frames that a bridge hands from one port to another
};

// What `nft -f -` reads to put our tables in place of those that were there, in one step. From the
// interface `bridge`:
//   - nothing new reaches the machine itself, at whatever address or port
//   - nothing reaches link-local addresses, where clouds have their metadata service, but DNS
//   - nothing goes back into the bridge
// All else passes, as far as we are concerned: private ranges too. The chains are our own and hook
// into the kernel by themselves, so they depend on none of Docker's, and name the interface by its
// name, so they outlive it.
std::string FirewallRules(std::string_view bridge, FirewallKinds kinds);

// Where `nft` is, in the folders of an administrator; empty: it is not installed.
std::string FindNft();

// Runs `nft -f -` with these rules on its standard input, and waits. The reason of a failure is
// what it says itself.
Result<void> RunNft(const std::string& nft, const std::string& rules, std::chrono::seconds timeout);

// Keeps the rules in the kernel, where somebody may flush them. Loop thread only. They stay when
// this is gone: containers of another agent may be behind them.
class Firewall {
 public:
  struct Options {
    std::string bridge;    // what the rules are about
    std::string engine;    // the socket of whoever has made it
    std::string nft = {};  // the program; empty: it is looked for
  };
  Firewall(AsioLoop& loop, Options options);
  // Waits for an nft under way.
  ~Firewall();

  // Puts the rules there, whether they are there or not, and looks whether the bridge is: that of
  // an Engine in another network namespace cannot be shut from here. `done` is never called from
  // inside, and not after this is gone.
  void Apply(std::function<void()> done);
  // As Engine::open_network has it.
  const std::string& open() const { return open_; }

 private:
  void Run();

  // Constant after construction.
  const Options options_;
  // Loop thread only.
  std::string open_ = "nobody has looked yet";
  std::vector<std::function<void()>> waiting_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  ThreadPool pool_;
};

}  // namespace tidemill
