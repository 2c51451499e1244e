// SPDX-License-Identifier: Apache-2.0
#include "provider/proof/aws_document.h"

#include <algorithm>

#include "base/bytes.h"
#include "cloud/rs256.h"
#include "provider/proof/claims.h"

namespace tidemill {
namespace {

// As metadata gives it, Base64 is broken into lines.
std::string WithoutLines(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  return text;
}

}  // namespace

Result<ProvenMachine> CheckAwsDocument(const MachineProof& proof, const std::string& certificates) {
  const auto signature = DecodeBase64(WithoutLines(proof.signature));
  if (!signature || !IsSignedRs256(certificates, proof.document, *signature)) {
    return Fail(Code::kNobody, "no certificate of AWS that this server has signed the document");
  }
  TIDEMILL_TRY(const Claims claims, Claims::Of(proof.document));
  TIDEMILL_TRY(const std::string id, claims.Text("instanceId"));
  return ProvenMachine{"aws", id};
}

}  // namespace tidemill
