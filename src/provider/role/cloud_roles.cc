// SPDX-License-Identifier: Apache-2.0
#include "provider/role/cloud_roles.h"

#include <algorithm>
#include <utility>

#include "cloud/aws_profile.h"
#include "cloud/google_api.h"
#include "wire/cloud_json.h"
#include "wire/role_json.h"

namespace tidemill {
namespace {

// The longest that AWS gives to a server that is a role itself, and Google to anybody.
constexpr std::int64_t kLifeS = 60 * 60;
// Jobs whose agents have not asked for an hour have none any more, or will ask again.
constexpr std::int64_t kUnusedMs = 60 * 60 * 1000;
constexpr std::chrono::seconds kCallTimeout{20};
// What AWS takes as the name of a session.
constexpr std::size_t kSessionBytes = 64;

std::string RegionOf(const CloudWorld& world) {
  const auto profile = LoadAwsProfile(world);
  const std::string region = AwsRegion(world, profile ? *profile : AwsProfile{});
  return region.empty() ? "us-east-1" : region;
}

// As AWS takes it, whose records show it: the names of jobs have no other signs than it takes. The
// number is at their end.
std::string SessionName(const std::string& job) {
  constexpr std::string_view kFirst = "tidemill-";
  const std::size_t most = kSessionBytes - kFirst.size();
  return std::string(kFirst) + job.substr(job.size() > most ? job.size() - most : 0);
}

AwsAction AssumeRole(const RoleAsk& ask, const std::string& region) {
  return {.service = "sts",
          .region = region,
          .name = "AssumeRole",
          .params = {{"RoleArn", ask.role},
                     {"RoleSessionName", SessionName(ask.job)},
                     {"ExternalId", "tidemill/" + ask.project},
                     {"DurationSeconds", std::to_string(kLifeS)}}};
}

Result<Lasting<RoleKeys>> KeysOfAws(const XmlElement& root) {
  const std::string place = "AssumeRoleResult/Credentials/";
  const AwsRoleAnswer answer{.access_key = root.At(place + "AccessKeyId"),
                             .secret_key = root.At(place + "SecretAccessKey"),
                             .token = root.At(place + "SessionToken"),
                             .expiration = root.At(place + "Expiration")};
  const auto expires_ms = ParseCloudTime(answer.expiration);
  if (answer.access_key.empty() || answer.secret_key.empty() || !expires_ms) {
    return Fail(Code::kInvalid, "the answer of STS has no whole credentials");
  }
  return Lasting<RoleKeys>{
      {.document = FormatAwsRole(answer), .secrets = {answer.secret_key, answer.token}},
      expires_ms};
}

// What does not pass by itself is for a person to mend.
Error ForPeople(const RoleAsk& ask, Error error) {
  const bool passes = error.code == Code::kUnavailable || error.code == Code::kUnknown ||
                      error.code == Code::kExhausted;
  error.code = passes ? Code::kUnavailable : Code::kInvalid;
  error.reason = "the keys of role " + ask.role + " cannot be had: " + error.reason;
  return error;
}

}  // namespace

CloudRoles::CloudRoles(AsioLoop& loop, Random& random, CloudWorld world)
    : loop_(loop),
      world_(std::move(world)),
      region_(RegionOf(world_)),
      aws_(loop, random, world_),
      google_(loop, world_),
      web_(loop, {.tls = world_.tls}) {}

void CloudRoles::Keys(const RoleAsk& ask, std::function<void(Result<RoleKeys>)> done) {
  const std::int64_t now = world_.now_ms();
  ForgetUnused();
  One& one = kept_[ask];
  one.used_ms = now;
  if (one.kept == nullptr) {
    one.kept = std::make_unique<Kept<Given>>(
        loop_, world_.now_ms, [this, ask](auto fetched) { Fetch(ask, std::move(fetched)); });
  }
  one.kept->Get([this, ask, done = std::move(done)](Result<Given> given) {
    if (!given) return done(tl::unexpected(ForPeople(ask, given.error())));
    const std::int64_t left_ms = *given->expires_ms - world_.now_ms() - KeptTimes::kRenewEarlyMs;
    given->value.ask_again = std::chrono::seconds(std::max<std::int64_t>(left_ms / 1000, 0));
    done(std::move(given->value));
  });
}

void CloudRoles::ForgetUnused() {
  const std::int64_t before = world_.now_ms() - kUnusedMs;
  std::erase_if(kept_, [before](const auto& entry) { return entry.second.used_ms < before; });
}

void CloudRoles::Fetch(const RoleAsk& ask, std::function<void(Result<Lasting<Given>>)> done) {
  Done take = [done = std::move(done)](Result<Given> given) {
    if (!given) return done(tl::unexpected(given.error()));
    const auto expires_ms = given->expires_ms;
    done(Lasting<Given>{*std::move(given), expires_ms});
  };
  CloudOf(ask.role) == RoleCloud::kGoogle ? AskGoogle(ask, std::move(take))
                                          : AskAws(ask, std::move(take));
}

void CloudRoles::AskAws(const RoleAsk& ask, Done done) {
  aws_.Call(AssumeRole(ask, region_), [done = std::move(done)](const Result<XmlElement>& answer) {
    if (!answer) return done(tl::unexpected(answer.error()));
    done(KeysOfAws(*answer));
  });
}

void CloudRoles::AskGoogle(const RoleAsk& ask, Done done) {
  google_.Get([this, ask, done = std::move(done)](const Result<std::string>& token) {
    if (!token) return done(tl::unexpected(token.error()));
    SendToGoogle(ask, *token, done);
  });
}

void CloudRoles::SendToGoogle(const RoleAsk& ask, const std::string& token, Done done) {
  const auto root = GoogleApiRoot(world_, kGoogleIamCredentials);
  if (!root) return done(tl::unexpected(root.error()));
  HttpCall call{.method = "POST",
                .target = root->target + "/v1/projects/-/serviceAccounts/" + ask.role +
                          ":generateAccessToken",
                .content_type = "application/json",
                .body = FormatGenerateToken(kLifeS),
                .timeout = kCallTimeout};
  call.headers.emplace_back("Authorization", "Bearer " + token);
  web_.Send(
      root->origin, std::move(call), {},
      [role = ask.role, done = std::move(done)](const Result<HttpResponse>& got) {
        if (!got) return done(tl::unexpected(got.error()));
        if (got->status != 200) {
          return done(Fail(
              got->status >= 500 || got->status == 429 ? Code::kUnavailable : Code::kForbidden,
              "Google answers " + std::to_string(got->status) + ", " + GoogleMessage(got->body)));
        }
        const auto made = ParseGeneratedToken(got->body);
        if (!made) return done(tl::unexpected(made.error()));
        done(Given{{.document = FormatGoogleRole(role, *made), .secrets = {made->token}},
                   made->expires_ms});
      });
}

}  // namespace tidemill
