// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace tidemill {

std::string Sha256(std::string_view bytes) {
  std::string digest(32, '\0');
  unsigned size = 0;
  // Fails only without memory, or if the library was built without SHA-256.
  TIDEMILL_CHECK(EVP_Digest(bytes.data(), bytes.size(),
                            reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
                            nullptr) == 1);
  TIDEMILL_CHECK(size == digest.size());
  return digest;
}

}  // namespace tidemill
