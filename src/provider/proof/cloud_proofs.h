// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cloud/kept.h"
#include "cloud/web.h"
#include "cloud/world.h"
#include "provider/proof.h"
#include "provider/proof/google_identity.h"

namespace tidemill {

struct CloudProofOptions {
  // AWS's certificates of the regions in use, in PEM. Empty: no document of AWS is believed.
  std::string aws_certificates = {};
  // What Google's tokens must have been made for. Empty: none is believed.
  std::vector<std::string> audiences = {};
  WebUrl google_keys = {};
};

// Checks proofs of the clouds. Loop thread only.
class CloudProofs : public ProofChecker {
 public:
  CloudProofs(AsioLoop& loop, CloudWorld world, CloudProofOptions options);

  void Check(MachineProof proof, std::function<void(Result<ProvenMachine>)> done) override;

 private:
  void FetchKeys(std::function<void(Result<Lasting<GoogleKeys>>)> done);

  AsioLoop& loop_;
  const CloudWorld world_;
  const CloudProofOptions options_;
  Web web_;
  Kept<GoogleKeys> keys_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
