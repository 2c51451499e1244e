// SPDX-License-Identifier: Apache-2.0
#include "cloud/imds.h"

#include <utility>

#include "wire/cloud_json.h"

namespace tidemill {
namespace {

// Somewhere else than at AWS nobody answers, and each program that looks waits for so long, twice.
constexpr std::chrono::seconds kImdsTimeout{1};
constexpr WebTries kImdsTries{.most = 2, .wait = std::chrono::milliseconds(100)};
constexpr char kRoles[] = "/latest/meta-data/iam/security-credentials/";
constexpr char kImdsTokenTtlS[] = "21600";

struct Looking {
  Web& web;
  Origin origin;
  AwsLooked looked;
  std::string token = {};

  std::string Place() const { return "the instance metadata at http://" + Authority(origin); }

  void Missing(const std::string& why, bool no_answer) {
    looked(AwsLook{.keys = {}, .missing = Place() + " (" + why + ")", .no_answer = no_answer});
  }
};
using LookingPtr = std::shared_ptr<Looking>;

// Calls `next` with the body of a 200; what else may come ends the look.
void Ask(const LookingPtr& look, HttpCall call, std::function<void(std::string)> next) {
  call.timeout = kImdsTimeout;
  if (!look->token.empty()) call.headers.emplace_back("X-aws-ec2-metadata-token", look->token);
  look->web.Send(look->origin, std::move(call), kImdsTries,
                 [look, next = std::move(next)](Result<HttpResponse> got) {
                   if (!got) return look->Missing(got.error().reason, true);
                   if (got->status == 200) return next(std::move(got->body));
                   if (got->status == 404) return look->Missing("the machine has no role", false);
                   look->Missing("it answers " + std::to_string(got->status), got->status >= 500);
                 });
}

void OnKeys(const LookingPtr& look, const std::string& body) {
  auto keys = ParseAwsKeys(body);
  if (!keys) return look->looked(While(look->Place(), keys.error()));
  look->looked(
      AwsLook{.keys = Lasting<AwsKeys>{{keys->id, keys->secret, keys->token}, keys->expires_ms}});
}

void OnRoles(const LookingPtr& look, const std::string& body) {
  const std::string role(Trim(std::string_view(body).substr(0, body.find('\n'))));
  if (role.empty()) return look->Missing("the machine has no role", false);
  Ask(look, {.target = kRoles + PercentEncode(role)},
      [look](const std::string& keys) { OnKeys(look, keys); });
}

}  // namespace

Result<std::optional<Origin>> MetadataOrigin(const CloudWorld& world) {
  const std::string disabled = world.Variable("AWS_EC2_METADATA_DISABLED");
  if (disabled == "true" || disabled == "True" || disabled == "TRUE") {
    return std::optional<Origin>();
  }
  std::string url = world.Variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (url.empty()) {
    const std::string mode = world.Variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    url = mode == "IPv6" || mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  }
  auto origin = ParseUrl(url);
  if (!origin) return While("AWS_EC2_METADATA_SERVICE_ENDPOINT", origin.error());
  if (!origin->tls && !IsNear(origin->host)) {
    return Fail(Code::kInvalid,
                "AWS_EC2_METADATA_SERVICE_ENDPOINT: http:// is only for this "
                "machine and the addresses of AWS");
  }
  return std::optional(*std::move(origin));
}

void LookInMetadata(Web& web, const Origin& origin, AwsLooked looked) {
  const auto look = std::make_shared<Looking>(Looking{web, origin, std::move(looked)});
  HttpCall call{.method = "PUT", .target = "/latest/api/token"};
  call.headers.emplace_back("X-aws-ec2-metadata-token-ttl-seconds", kImdsTokenTtlS);
  Ask(look, std::move(call), [look](const std::string& token) {
    look->token = Trim(token);
    if (look->token.empty() || !IsSafeField("token", look->token)) {
      return look->Missing("its token is malformed", false);
    }
    Ask(look, {.target = kRoles}, [look](const std::string& roles) { OnRoles(look, roles); });
  });
}

}  // namespace tidemill
