// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cloud/aws_profile.h"
#include "cloud/kept.h"
#include "cloud/sigv4.h"
#include "cloud/web.h"
#include "cloud/world.h"

namespace tidemill {

// The keys of AWS, from where its own tools find them and in their order: the environment, a web
// identity, the shared files, the container's endpoint, the instance metadata. Keeps them and
// fetches them anew in time. Loop thread only. Nothing survives a restart.
class AwsCredentials {
 public:
  using Done = std::function<void(Result<AwsKeys>)>;

  AwsCredentials(AsioLoop& loop, CloudWorld world);
  // Calls under way are dropped: their `done` does not come.
  ~AwsCredentials();

  // Calls `done` once, never from inside Get.
  //   kNobody       no place has any; the reason names them all
  //   kInvalid      a place is wrong: a file, a variable, an answer
  //   kForbidden    AWS refuses the role
  //   kUnavailable  no place has any, but one did not answer; or AWS did not
  void Get(Done done);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// What follows is for the places alone, and for their tests.

// What one place has.
struct AwsLook {
  std::optional<Lasting<AwsKeys>> keys = {};
  std::string missing = {};  // if it has none: where was looked, and why there is none
  bool no_answer = false;    // it may have some later
};
using AwsLooked = std::function<void(Result<AwsLook>)>;

// A call to be made for keys.
struct AwsKeyCall {
  WebUrl url = {};
  HttpCall call = {};
};

AwsLook LookInEnvironment(const CloudWorld& world);
// The keys that stand in it.
Result<AwsLook> LookInProfile(const CloudWorld& world, const AwsProfile& profile);
// To take on the role of a profile.
Result<AwsKeyCall> RoleCall(const CloudWorld& world, const AwsProfile& profile,
                            const AwsKeys& keys);
// Nothing: no such endpoint is set. kInvalid: it is one to which keys must not be entrusted.
Result<std::optional<AwsKeyCall>> ContainerCall(const CloudWorld& world);
// Nothing: no web identity is set.
Result<std::optional<AwsKeyCall>> WebIdentityCall(const CloudWorld& world);
// `action` is what STS was asked to do.
Result<Lasting<AwsKeys>> ParseStsAnswer(const HttpResponse& answer, const std::string& action);
inline constexpr char kAssumeRole[] = "AssumeRole";
inline constexpr char kAssumeRoleWithWebIdentity[] = "AssumeRoleWithWebIdentity";

}  // namespace tidemill
