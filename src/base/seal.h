// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"

// Keeps values secret in a store that others can read: AES-256-GCM with keys from a file. What is
// sealed cannot be read or changed without the key, nor be moved to another place: it opens only
// with the context that it was sealed for.
//
//   sealed │ version: 1 │ length of the key's id: 1 │ id │ nonce: 12 │ value, encrypted │ tag: 16
namespace tidemill {

// The nonce is random, so one key is good for 2^32 values; a project has some hundred.
struct SealKey {
  std::string id;     // letters, digits, '_' and '-', at most kSealKeyIdBytes
  std::string bytes;  // kSealKeyBytes of them
};
inline constexpr std::size_t kSealKeyBytes = 32;
inline constexpr std::size_t kSealKeyIdBytes = 32;

// The keys of a file, of which each line is `ID BASE64`, a comment that begins with '#', or empty.
// The first key seals; all open. So a new key is put in front, and an old one is taken away when
// nothing is sealed with it any more.
class KeyRing {
 public:
  // kInvalid, with the number of the line and no part of a key.
  static Result<KeyRing> Parse(std::string_view text);
  ~KeyRing();
  KeyRing(KeyRing&&) = default;
  KeyRing(const KeyRing&) = delete;
  KeyRing& operator=(const KeyRing&) = delete;

  const SealKey& first() const { return keys_.front(); }
  // Null if there is none of this id.
  const SealKey* Find(std::string_view id) const;

 private:
  KeyRing() = default;
  std::vector<SealKey> keys_;  // at least one
};

// A line for a key file, with a new key. A real one needs a SystemRandom.
std::string MakeKeyLine(Random& random);

// `context` says what the value is: as "project 7, secret x".
std::string Seal(const SealKey& key, std::string_view plain, std::string_view context);
//   kNotFound  the key that it was sealed with is not in the ring; the reason names it
//   kInvalid   it is no sealed value, was changed, or was sealed for another context
Result<std::string> Unseal(const KeyRing& ring, std::string_view sealed, std::string_view context);

// The bare cipher: the encrypted bytes and the tag. A nonce must never be used twice with one key.
struct SealInput {
  std::string_view key;     // kSealKeyBytes
  std::string_view nonce;   // 12 bytes
  std::string_view beside;  // what is bound to it and not encrypted
};
std::string EncryptGcm(const SealInput& input, std::string_view plain);
// kInvalid: something was changed.
Result<std::string> DecryptGcm(const SealInput& input, std::string_view encrypted);

}  // namespace tidemill
