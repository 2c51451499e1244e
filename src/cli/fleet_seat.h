// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "cli/context.h"
#include "cli/item_stream.h"
#include "frame/frame.h"
#include "wire/session_spec_json.h"

namespace tidemill::cli {

// A container on a machine of the fleet, for a person to work in: a job of one item. While it is
// held it tells the item that somebody is there (env/hold.h). Loop thread only.
class FleetSeat {
 public:
  // Called when the item is over, with the reason; once, if at all.
  using OnOver = std::function<void(const std::string& reason)>;

  FleetSeat(const Context& context, Random& random) : context_(context), random_(random) {}

  FleetSeat(const FleetSeat&) = delete;
  FleetSeat& operator=(const FleetSeat&) = delete;

  // Makes the job, and waits until its item runs; the person sees what it waits for. An exit code:
  // it did not come to that, which was said.
  std::optional<int> Take(const SessionSpec& spec);
  // Tells the item from now on that somebody is there, also after the connection was lost.
  void Keep(OnOver on_over);
  // Cancels the job, and says what becomes of the machine. What is under way may be interrupted.
  void Leave();

  const std::string& job() const { return job_; }
  ItemStreamAsk Ask(StreamAsk ask) const { return {.job = job_, .item = 0, .ask = std::move(ask)}; }

 private:
  std::optional<int> Submit(const SessionSpec& spec);
  std::optional<int> WaitUntilItRuns();
  void TellWhatItWaitsFor();
  void Begin(std::unique_ptr<ByteStream> keeper);
  void OnKeeper(std::string_view bytes);
  void Lost();
  void Over(const std::string& reason);

  const Context& context_;
  Random& random_;
  std::string job_;
  std::string told_;  // the code of what it waits for, as it was last told
  std::unique_ptr<ByteStream> keeper_;
  std::optional<frame::Reader> reader_;  // of the keeper
  OnOver on_over_;
  bool left_ = false;
};

}  // namespace tidemill::cli
