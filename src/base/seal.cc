// SPDX-License-Identifier: Apache-2.0
#include "base/seal.h"

#include <openssl/evp.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/wipe.h"

namespace tidemill {
namespace {

constexpr char kVersion = 1;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
// A file of keys is written by hand, or one line at a time.
constexpr std::size_t kKeysMost = 100;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

int Size(std::string_view text) {
  TIDEMILL_CHECK(text.size() <= INT_MAX);
  return static_cast<int>(text.size());
}

// A cipher that has its key, its nonce and what is bound to it. Fails only without memory, or if
// the library was built without it.
Cipher Begin(const SealInput& input, bool encrypt) {
  TIDEMILL_CHECK(input.key.size() == kSealKeyBytes);
  TIDEMILL_CHECK(input.nonce.size() == kNonceBytes);
  Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  TIDEMILL_CHECK(cipher != nullptr);
  TIDEMILL_CHECK(EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, Bytes(input.key),
                                   Bytes(input.nonce), encrypt ? 1 : 0) == 1);
  int size = 0;
  TIDEMILL_CHECK(
      EVP_CipherUpdate(cipher.get(), nullptr, &size, Bytes(input.beside), Size(input.beside)) == 1);
  return cipher;
}

std::string RandomBytes(Random& random, std::size_t count) {
  std::string bytes;
  while (bytes.size() < count) {
    const std::uint64_t number = random.Next();
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  bytes.resize(count);
  return bytes;
}

bool IsKeyId(std::string_view id) {
  return !id.empty() && id.size() <= kSealKeyIdBytes &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

// What stands in front of the nonce. It is bound to the value, as the context is.
std::string HeaderOf(std::string_view id) {
  TIDEMILL_CHECK(IsKeyId(id));
  return std::string({kVersion, static_cast<char>(id.size())}).append(id);
}

std::string_view Trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlank) + 1 - begin);
}

// Nothing for a line without a key.
Result<std::optional<SealKey>> ParseKey(std::string_view line) {
  line = Trimmed(line);
  if (line.empty() || line.front() == '#') return std::nullopt;
  const std::size_t end = line.find_first_of(" \t");
  SealKey key{.id = std::string(line.substr(0, end)), .bytes = ""};
  if (end == std::string_view::npos || !IsKeyId(key.id)) {
    return Fail(
        Code::kInvalid,
        "must be an id (letters, digits, '_' and '-', at most 32), a space, and a key of 32 "
        "bytes in base64; make one: tidemill-server secret-key");
  }
  auto bytes = DecodeBase64(Trimmed(line.substr(end)));
  if (!bytes) return Fail(Code::kInvalid, "the key '" + key.id + "' is not base64");
  if (bytes->size() != kSealKeyBytes) {
    return Fail(Code::kInvalid, "the key '" + key.id + "' has " + std::to_string(bytes->size()) +
                                    " bytes and must have 32");
  }
  key.bytes = *std::move(bytes);
  return key;
}

}  // namespace

std::string EncryptGcm(const SealInput& input, std::string_view plain) {
  const Cipher cipher = Begin(input, true);
  std::string out(plain.size() + kTagBytes, '\0');
  int size = 0;
  TIDEMILL_CHECK(EVP_EncryptUpdate(cipher.get(), Bytes(out), &size, Bytes(plain), Size(plain)) ==
                 1);
  TIDEMILL_CHECK(static_cast<std::size_t>(size) == plain.size());
  TIDEMILL_CHECK(EVP_EncryptFinal_ex(cipher.get(), Bytes(out) + size, &size) == 1);
  TIDEMILL_CHECK(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                                     Bytes(out) + plain.size()) == 1);
  return out;
}

Result<std::string> DecryptGcm(const SealInput& input, std::string_view encrypted) {
  if (encrypted.size() < kTagBytes) return Fail(Code::kInvalid, "it is too short");
  const std::string_view body = encrypted.substr(0, encrypted.size() - kTagBytes);
  std::string tag(encrypted.substr(body.size()));
  const Cipher cipher = Begin(input, false);
  std::string plain(body.size(), '\0');
  int size = 0;
  TIDEMILL_CHECK(EVP_DecryptUpdate(cipher.get(), Bytes(plain), &size, Bytes(body), Size(body)) ==
                 1);
  TIDEMILL_CHECK(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) ==
                 1);
  if (EVP_DecryptFinal_ex(cipher.get(), Bytes(plain) + size, &size) != 1) {
    Wipe(plain);
    return Fail(Code::kInvalid, "it was changed, or sealed for something else");
  }
  return plain;
}

Result<KeyRing> KeyRing::Parse(std::string_view text) {
  KeyRing ring;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    auto key = ParseKey(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string line = "line " + std::to_string(number);
    if (!key) return While(line, std::move(key).error());
    if (!*key) continue;
    if (ring.Find((*key)->id) != nullptr) {
      return Fail(Code::kInvalid, line + ": the key '" + (*key)->id + "' is there twice");
    }
    if (ring.keys_.size() >= kKeysMost) {
      return Fail(Code::kInvalid, line + ": there are more than 100 keys; remove old ones");
    }
    ring.keys_.push_back(**std::move(key));
  }
  if (ring.keys_.empty()) {
    return Fail(Code::kInvalid, "there is no key in it; make one: tidemill-server secret-key");
  }
  return ring;
}

KeyRing::~KeyRing() {
  for (SealKey& key : keys_) Wipe(key.bytes);
}

const SealKey* KeyRing::Find(std::string_view id) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [id](const SealKey& key) { return key.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

std::string MakeKeyLine(Random& random) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string line = "k";
  for (int i = 0; i < 8; ++i) line += kDigits[random.Below(16)];
  std::string bytes = RandomBytes(random, kSealKeyBytes);
  line.append(" ").append(EncodeBase64(bytes)).append("\n");
  Wipe(bytes);
  return line;
}

std::string Seal(const SealKey& key, std::string_view plain, std::string_view context) {
  SystemRandom random;
  const std::string nonce = RandomBytes(random, kNonceBytes);
  std::string sealed = HeaderOf(key.id);
  const std::string beside = sealed + std::string(context);
  sealed += nonce;
  return sealed + EncryptGcm({.key = key.bytes, .nonce = nonce, .beside = beside}, plain);
}

Result<std::string> Unseal(const KeyRing& ring, std::string_view sealed, std::string_view context) {
  constexpr std::size_t kBeforeId = 2;
  if (sealed.size() < kBeforeId) return Fail(Code::kInvalid, "it is too short");
  if (sealed[0] != kVersion) return Fail(Code::kInvalid, "it was sealed by a newer server");
  const std::size_t id_bytes = static_cast<unsigned char>(sealed[1]);
  const std::string_view id = sealed.substr(kBeforeId, id_bytes);
  if (!IsKeyId(id) || sealed.size() < kBeforeId + id_bytes + kNonceBytes + kTagBytes) {
    return Fail(Code::kInvalid, "it is too short");
  }
  const SealKey* key = ring.Find(id);
  if (key == nullptr) {
    return Fail(Code::kNotFound, "it is sealed with the key '" + std::string(id) +
                                     "', which is not in the key file");
  }
  const std::size_t header_bytes = kBeforeId + id_bytes;
  const std::string beside = std::string(sealed.substr(0, header_bytes)).append(context);
  const SealInput input{
      .key = key->bytes, .nonce = sealed.substr(header_bytes, kNonceBytes), .beside = beside};
  return DecryptGcm(input, sealed.substr(header_bytes + kNonceBytes));
}

}  // namespace tidemill
