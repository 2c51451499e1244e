// SPDX-License-Identifier: Apache-2.0
// The places in which keys are looked for, as far as no server is asked.
#include <utility>

#include "base/digest.h"
#include "cloud/aws_credentials.h"
#include "cloud/xml.h"
#include "wire/cloud_json.h"

namespace tidemill {
namespace {

// Whoever rotates the keys of a file writes it anew.
constexpr std::int64_t kFileLastsMs = 10 * 60 * 1000;
constexpr std::chrono::seconds kContainerTimeout{2};
constexpr std::chrono::seconds kStsTimeout{10};
constexpr char kStsVersion[] = "2011-06-15";
constexpr char kFormType[] = "application/x-www-form-urlencoded; charset=utf-8";

AwsLook Missing(std::string why) { return {.keys = {}, .missing = std::move(why)}; }

// What a profile can also say, and what we do not do.
Result<void> CheckProfile(const AwsProfile& profile) {
  for (const char* name : {"mfa_serial", "sso_session", "sso_start_url", "credential_process"}) {
    if (profile.Setting(name).empty()) continue;
    return Fail(Code::kInvalid,
                "profile '" + profile.name + "' has " + name +
                    ", which is not supported; `aws configure export-credentials --format env` "
                    "prints keys that are");
  }
  return {};
}

Result<std::string> ContainerToken(const CloudWorld& world) {
  const std::string file = world.Variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  std::string token = world.Variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (!file.empty()) {
    TIDEMILL_TRY(const std::string text, ReadKeyFile(file));
    token = Trim(text);
  }
  if (!IsSafeField("Authorization", token)) {
    return Fail(Code::kInvalid, "the token for the container's endpoint is malformed");
  }
  return token;
}

std::string FormOf(const HttpFields& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    if (!form.empty()) form += '&';
    form.append(name).append("=").append(PercentEncode(value));
  }
  return form;
}

Result<WebUrl> StsUrl(const CloudWorld& world, const AwsProfile& profile) {
  const std::string region = AwsRegion(world, profile);
  std::string url = AwsEndpoint(world, profile, "STS");
  if (url.empty()) {
    if (!region.empty() && !IsAwsRegion(region)) {
      return Fail(Code::kInvalid, "'" + region + "' is not a region of AWS");
    }
    url = region.empty() ? "https://sts.amazonaws.com"
                         : "https://sts." + region + "." + AwsDomain(region);
  }
  auto parsed = ParseWebUrl(url);
  if (!parsed) return While("the endpoint of STS", parsed.error());
  if (!parsed->origin.tls && !IsNear(parsed->origin.host)) {
    return Fail(Code::kInvalid, "the endpoint of STS must be https://");
  }
  return parsed;
}

}  // namespace

AwsLook LookInEnvironment(const CloudWorld& world) {
  AwsKeys keys{.id = world.Variable("AWS_ACCESS_KEY_ID"),
               .secret = world.Variable("AWS_SECRET_ACCESS_KEY"),
               .token = world.Variable("AWS_SESSION_TOKEN")};
  if (keys.id.empty() || keys.secret.empty()) {
    const std::string name = keys.id.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY";
    return Missing("the environment (" + name + " is not set)");
  }
  return {.keys = Lasting<AwsKeys>{std::move(keys), {}}};
}

Result<AwsLook> LookInProfile(const CloudWorld& world, const AwsProfile& profile) {
  AwsKeys keys{.id = profile.Setting("aws_access_key_id"),
               .secret = profile.Setting("aws_secret_access_key"),
               .token = profile.Setting("aws_session_token")};
  TIDEMILL_TRY_VOID(CheckProfile(profile));
  if (keys.id.empty() && keys.secret.empty()) {
    return Missing("profile '" + profile.name + "' in " + profile.credentials_file + " and " +
                   profile.config_file +
                   (profile.exists ? " (it has no aws_access_key_id)" : " (there is none)"));
  }
  if (keys.id.empty() || keys.secret.empty()) {
    return Fail(Code::kInvalid, "profile '" + profile.name +
                                    "' has only one of aws_access_key_id "
                                    "and aws_secret_access_key");
  }
  return AwsLook{.keys = Lasting<AwsKeys>{std::move(keys), world.now_ms() + kFileLastsMs}};
}

Result<std::optional<AwsKeyCall>> ContainerCall(const CloudWorld& world) {
  const std::string relative = world.Variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = world.Variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::optional<AwsKeyCall>();
  if (!relative.empty() && relative[0] != '/') {
    return Fail(Code::kInvalid, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with '/'");
  }
  AwsKeyCall made;
  auto url = ParseWebUrl(relative.empty() ? full : "http://169.254.170.2" + relative);
  if (!url) return While("the container's endpoint", url.error());
  made.url = *std::move(url);
  if (!made.url.origin.tls && !IsNear(made.url.origin.host)) {
    return Fail(Code::kInvalid, "AWS_CONTAINER_CREDENTIALS_FULL_URI has the host '" +
                                    made.url.origin.host +
                                    "': over http:// only this machine and the link-local "
                                    "addresses of AWS may hand out keys");
  }
  made.call.target = made.url.target;
  made.call.timeout = kContainerTimeout;
  made.call.headers.emplace_back("Accept", "application/json");
  TIDEMILL_TRY(const std::string token, ContainerToken(world));
  if (!token.empty()) made.call.headers.emplace_back("Authorization", token);
  return std::optional(std::move(made));
}

Result<std::optional<AwsKeyCall>> WebIdentityCall(const CloudWorld& world) {
  const std::string file = world.Variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  const std::string role = world.Variable("AWS_ROLE_ARN");
  if (file.empty()) return std::optional<AwsKeyCall>();
  if (role.empty()) {
    return Fail(Code::kInvalid, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
  }
  const auto token = ReadKeyFile(file);
  if (!token) return Fail(Code::kInvalid, token.error().reason);
  // For its region and endpoint; a profile that is wrong is told when it is its turn.
  const auto profile = LoadAwsProfile(world);
  AwsKeyCall made;
  TIDEMILL_TRY(made.url, StsUrl(world, profile ? *profile : AwsProfile{}));
  const std::string session = world.Variable("AWS_ROLE_SESSION_NAME");
  made.call.method = "POST";
  made.call.target = made.url.target;
  made.call.content_type = kFormType;
  made.call.timeout = kStsTimeout;
  made.call.body = FormOf({{"Action", kAssumeRoleWithWebIdentity},
                           {"Version", kStsVersion},
                           {"RoleArn", role},
                           {"RoleSessionName", session.empty() ? "tidemill" : session},
                           {"WebIdentityToken", std::string(Trim(*token))}});
  return std::optional(std::move(made));
}

Result<AwsKeyCall> RoleCall(const CloudWorld& world, const AwsProfile& profile,
                            const AwsKeys& keys) {
  AwsKeyCall made;
  TIDEMILL_TRY_VOID(CheckProfile(profile));
  TIDEMILL_TRY(made.url, StsUrl(world, profile));
  const std::string session = profile.Setting("role_session_name");
  HttpFields form{{"Action", kAssumeRole},
                  {"Version", kStsVersion},
                  {"RoleArn", profile.Setting("role_arn")},
                  {"RoleSessionName", session.empty() ? "tidemill" : session}};
  const std::string external = profile.Setting("external_id");
  if (!external.empty()) form.emplace_back("ExternalId", external);
  made.call = {.method = "POST", .body = FormOf(form), .timeout = kStsTimeout};
  const std::string region = AwsRegion(world, profile);
  AwsSigned signature = SignAws(
      {.method = "POST",
       .host = Authority(made.url.origin),
       .path = made.url.target,
       .headers = {{"Content-Type", kFormType}},
       .payload = Hex(Sha256(made.call.body))},
      keys, {.region = region.empty() ? "us-east-1" : region, .service = "sts"}, world.now_ms());
  made.call.target = std::move(signature.target);
  made.call.headers = std::move(signature.headers);
  return made;
}

Result<Lasting<AwsKeys>> ParseStsAnswer(const HttpResponse& answer, const std::string& action) {
  if (answer.status != 200) {
    const Code code = answer.status >= 500 ? Code::kUnavailable : Code::kForbidden;
    return Fail(code, "STS answers " + std::to_string(answer.status) + ", " +
                          ParseAwsXmlError(answer.body).Text());
  }
  const auto root = ParseXml(answer.body);
  if (!root) return Fail(Code::kInvalid, "the answer of STS is not XML");
  const std::string place = action + "Result/Credentials/";
  Lasting<AwsKeys> keys{{.id = root->At(place + "AccessKeyId"),
                         .secret = root->At(place + "SecretAccessKey"),
                         .token = root->At(place + "SessionToken")},
                        ParseCloudTime(root->At(place + "Expiration"))};
  const bool is_whole = !keys.value.id.empty() && !keys.value.secret.empty() && keys.expires_ms &&
                        IsSafeField("X-Amz-Security-Token", keys.value.token) &&
                        IsSafeField("Authorization", keys.value.id);
  if (!is_whole) return Fail(Code::kInvalid, "the answer of STS has no whole credentials");
  return keys;
}

}  // namespace tidemill
