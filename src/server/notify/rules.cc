// SPDX-License-Identifier: Apache-2.0
#include "server/notify/rules.h"

#include <algorithm>
#include <string_view>

#include "wire/notify_json.h"

namespace tidemill {
namespace {

// "localhost", "localhost.", "a.LocalHost".
bool IsThisMachinesName(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (host.ends_with('.')) host.pop_back();
  return host == "localhost" || host.ends_with(".localhost");
}

}  // namespace

bool MayNotify(const NotifyRules& rules, const std::string& address) {
  return IsPublicAddress(address) ||
         std::any_of(rules.allowed.begin(), rules.allowed.end(),
                     [&address](const NetBlock& block) { return IsIn(address, block); });
}

Result<void> CheckNotify(const NotifyRules& rules, const std::string& document) {
  TIDEMILL_TRY(const std::vector<NotifyTarget> targets, ParseNotify(document));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    TIDEMILL_TRY(const NotifyUrl url, ParseNotifyUrl(targets[i].url));
    const std::string address = IsThisMachinesName(url.host) ? "127.0.0.1" : AddressOf(url.host);
    if (address.empty() || MayNotify(rules, address)) continue;
    return Fail(Code::kInvalid, "spec.notify[" + std::to_string(i) + "].url: " + url.host +
                                    " is not on the Internet, and servers call nobody else "
                                    "unless they are started with --notify-allow NETWORK");
  }
  return {};
}

}  // namespace tidemill
