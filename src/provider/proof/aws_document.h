// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "provider/proof.h"

namespace tidemill {

// An instance identity document and its RSA signature, against AWS's certificates of its regions,
// in PEM one after the other. Says nothing of when: a document is the same for an instance's whole
// life, and whoever reads its metadata has it. Pure. kNobody: it proves nothing.
Result<ProvenMachine> CheckAwsDocument(const MachineProof& proof, const std::string& certificates);

}  // namespace tidemill
