// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "model/sync.h"

namespace tidemill {

// What a proof has shown.
struct ProvenMachine {
  std::string provider;
  std::string id;  // as ListedAt has it
  bool operator==(const ProvenMachine&) const = default;
};

// Whoever can tell whether a machine is what it says. That it is one of ours is another question.
class ProofChecker {
 public:
  virtual ~ProofChecker() = default;

  // Answers later, on the loop thread, once. Loop thread only.
  //   kNobody       it proves nothing; the reason is for the log of the machine
  //   kUnavailable  whom it must be compared with did not answer
  virtual void Check(MachineProof proof, std::function<void(Result<ProvenMachine>)> done) = 0;
};

}  // namespace tidemill
