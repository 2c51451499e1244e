// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/tls.h"

namespace tidemill {

// What is asked of the system elsewhere, so that a test can say what it is.
struct CloudWorld {
  std::map<std::string, std::string, std::less<>> environment = {};
  std::function<std::int64_t()> now_ms = {};  // since 1970; never null
  // Whom to believe that it is the server of an https URL. Null: whom the system believes.
  std::shared_ptr<const TlsTrust> tls = {};

  // Empty if it is not set, which is the same to all that read one.
  std::string Variable(std::string_view name) const;
  // "~/x" in the folder of who runs us. Other paths stay as they are.
  std::string InHome(std::string_view path) const;
};

// Of this process, as it is now.
CloudWorld SystemWorld();

// A small file whole. Blocks, for as long as a local disk takes for some KiB. kNotFound: there is
// none. kInvalid: it cannot be read, or is longer than a file of keys can be.
Result<std::string> ReadKeyFile(const std::string& path);

// Without the white space around it.
std::string_view Trim(std::string_view text);

}  // namespace tidemill
