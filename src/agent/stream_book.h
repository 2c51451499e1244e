// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/catalog.h"
#include "agent/deps.h"
#include "agent/slots.h"
#include "agent/stream_carrier.h"
#include "agent/work.h"
#include "model/stream.h"

namespace tidemill {

// The streams into what runs on a machine: takes up those that people ask for, or says why not.
// They disturb no item, and nothing waits for them. Loop thread only. Nothing survives a restart.
class StreamBook {
 public:
  // People are few; what each holds is below a MiB.
  static constexpr std::size_t kMost = 64;
  // A server tells of a stream until somebody has it, or nobody waits for it any more. Who was not
  // told of one for so long is not told again.
  static constexpr Duration kSeenFor = std::chrono::minutes(2);
  static constexpr std::size_t kSeenMost = 1024;

  // The agent's own; all of it outlives this.
  struct Agents {
    const AgentDeps& deps;
    const AgentOptions& options;
    const SessionPass& pass;  // as it is at each moment
    const Work& work;
    const Catalog& catalog;
    Slots& slots;
  };
  // `add` adds what the catalog does not know to what is run.
  using AddToRun = std::function<void(JobId, ItemRun&)>;
  StreamBook(Agents agents, AddToRun add) : agent_(agents), add_(std::move(add)) {}

  // Those that were not told before.
  void Take(const std::vector<AskedStream>& asked);

 private:
  bool IsNew(StreamId id);
  void TakeUp(const AskedStream& asked);
  // For people; empty: it can be.
  std::string WhyNot(const AskedStream& asked) const;
  void Join(const AskedStream& asked, const StreamAsk& ask, std::unique_ptr<ByteStream> person);
  StreamStart StartOf(const StreamAsk& ask, const Attempt& attempt) const;
  // As the item's own program has it; empty if that cannot be made anew.
  std::vector<std::string> EnvOf(const Attempt& attempt) const;

  struct Seen {
    StreamId id;
    TimePoint at;  // the last time
  };

  const Agents agent_;
  const AddToRun add_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::deque<Seen> seen_;  // the latest last
  std::size_t connecting_ = 0;
  std::map<StreamId, std::shared_ptr<StreamCarrier>> open_;
};

}  // namespace tidemill
