// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/image.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/tls.h"

namespace tidemill {

// Which registries may be asked.
struct RegistryRules {
  // "host" with any port, or "host:port". These may be anywhere, also on this machine.
  std::vector<std::string> listed = {};
  bool any_public = true;  // and all others that have a public address
};
bool IsListed(const RegistryRules& rules, const Origin& origin);
// kInvalid: not HOST or HOST:PORT.
Result<void> CheckListed(const std::string& registry);

struct RegistryOptions {
  RegistryRules rules = {};
  std::shared_ptr<const TlsTrust> tls = {};  // null: whom the system believes when it starts
  // A person waits for it.
  std::chrono::milliseconds deadline{5'000};
  // Each has a connection; more are kExhausted.
  std::size_t most_at_once = 64;
};

// Asks registries what tags stand for, and what images ask of machines. Loop thread only. Nothing
// is kept from one question to the next.
class Registries {
 public:
  using Done = std::function<void(Result<std::string>)>;
  using ConfigDone = std::function<void(Result<ImageConfig>)>;

  Registries(AsioLoop& loop, RegistryOptions options);
  // Drops the questions under way: their `done` does not come.
  ~Registries();

  Registries(const Registries&) = delete;
  Registries& operator=(const Registries&) = delete;

  // The digest of what the image's tag stands for now. Calls `done` once, within the deadline,
  // maybe from inside. Otherwise:
  //   kNotFound     the registry has no such image, or does not tell whoever asks
  //   kNobody       it wants a login, or another one
  //   kUnavailable  it cannot be reached, or says nothing that makes sense
  //   kForbidden    it was not asked: the rules do not let us
  //   kExhausted    it was not asked: too many questions are under way
  // The reason is for people, names the registry, and never shows the login.
  void ResolveDigest(const ImageName& image, std::optional<RegistryLogin> login, Done done);

  // What the image of this digest says of itself; of an index: for linux on amd64. As above, but
  // its registry may send us to another server for it, which goes by the same rules.
  void ReadConfig(const ImageName& image, const std::string& digest,
                  std::optional<RegistryLogin> login, ConfigDone done);

  std::size_t under_way() const { return lookups_.size(); }

 private:
  class Lookup;
  struct Question;
  struct Answer;

  void Start(const ImageName& image, Question question, std::function<void(Result<Answer>)> done);
  bool MayAsk(const Origin& origin) const;
  // Which addresses of it may be connected to; null: all.
  std::function<bool(const std::string&)> MayConnect(const Origin& origin) const;

  AsioLoop& loop_;
  const RegistryOptions options_;
  std::map<Lookup*, std::unique_ptr<Lookup>> lookups_;
};

}  // namespace tidemill
