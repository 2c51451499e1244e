// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "init/http.h"

namespace tidemill::init {

// The keys of the job's role in a cloud, where that cloud's own tools look for them: AWS's ask a
// URL that a variable names, and Google's ask what they take for the machine's metadata server.
class Role {
 public:
  // From now on: JSON, see RoleKeys. Those before it are wiped.
  void Set(std::string_view document);
  bool is_set() const { return !document_.empty(); }

  // The variables by which programs find it; `url` is the door's.
  std::vector<std::string> Variables(std::string_view url) const;
  // Whether a request is for it, and what it is answered. The time is in seconds since 1970.
  static bool IsFor(std::string_view path);
  HttpAnswer Answer(const HttpRequest& request, std::int64_t now_s) const;

 private:
  HttpAnswer GoogleAnswer(std::string_view path, std::int64_t now_s) const;

  std::string document_;
  // Of Google alone.
  std::string token_;
  std::string email_;
  std::uint64_t expires_s_ = 0;
};

// Whether an inherited variable names keys, which must not win over those of a role: an image may
// have been made with some, and a process without a container has its agent's.
bool NamesOtherKeys(std::string_view variable);

}  // namespace tidemill::init
