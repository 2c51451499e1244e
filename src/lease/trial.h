// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "model/outcome.h"

namespace tidemill {

// What has become of the first attempts at a job's items, until it is known whether they can
// succeed at all. Attempts that ended through no doing of the item are not told to it.
class TrialTally {
 public:
  enum class Verdict {
    kOpen,
    kPassed,  // one has succeeded, or they fail in different ways: people want to see the rest
    kAlike,   // all have failed, with one cause and one exit code
  };

  void AddSucceeded() { succeeded_ = true; }
  void AddFailed(const Outcome& outcome);
  // `enough` attempts decide.
  Verdict Judge(int enough) const;
  // Of a job that is judged kAlike by so many: what people are told, with what to do next.
  std::string Why(JobId job, int enough) const;

 private:
  bool succeeded_ = false;
  bool alike_ = true;
  int failed_ = 0;
  Outcome first_;
};

}  // namespace tidemill
