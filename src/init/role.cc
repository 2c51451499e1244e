// SPDX-License-Identifier: Apache-2.0
#include "init/role.h"

#include <string.h>

#include <algorithm>
#include <array>

#include "frame/json.h"

namespace tidemill::init {
namespace {

constexpr std::string_view kAwsPath = "/role";
constexpr std::string_view kGooglePath = "/computeMetadata/v1/";
constexpr std::string_view kScope = "https://www.googleapis.com/auth/cloud-platform";
// Its tools believe nobody who does not say so.
constexpr std::string_view kGoogleHeader = "Metadata-Flavor: Google";

constexpr std::array<std::string_view, 9> kOtherKeys = {"AWS_ACCESS_KEY_ID",
                                                        "AWS_SECRET_ACCESS_KEY",
                                                        "AWS_SESSION_TOKEN",
                                                        "AWS_PROFILE",
                                                        "AWS_DEFAULT_PROFILE",
                                                        "AWS_ROLE_ARN",
                                                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                                                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                                        "GOOGLE_APPLICATION_CREDENTIALS"};

void Wipe(std::string& text) {
  explicit_bzero(text.data(), text.size());
  text.clear();
}

bool CutPrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

HttpAnswer OfGoogle(std::string body, std::string_view type) {
  return {.status = 200, .body = std::move(body), .type = type, .header = kGoogleHeader};
}
HttpAnswer TextOfGoogle(std::string_view body) {
  return OfGoogle(std::string(body), "application/text");
}
HttpAnswer JsonOfGoogle(std::string body) { return OfGoogle(std::move(body), "application/json"); }

}  // namespace

void Role::Set(std::string_view document) {
  Wipe(document_);
  Wipe(token_);
  document_ = document;
  email_.clear();
  frame::JsonReader reader(document_);
  reader.Object([&](std::string_view name) {
    if (name == "access_token") return reader.Text(token_);
    if (name == "email") return reader.Text(email_);
    if (name == "expires_s") return reader.Whole(expires_s_);
    return reader.Skip();
  });
}

std::vector<std::string> Role::Variables(std::string_view url) const {
  if (!is_set() || url.empty()) return {};
  if (token_.empty()) {
    // Else a tool that finds nothing here would go on and become the machine.
    return {"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + std::string(url) + std::string(kAwsPath),
            "AWS_EC2_METADATA_DISABLED=true"};
  }
  CutPrefix(url, "http://");
  std::vector<std::string> variables;
  for (const char* name : {"GCE_METADATA_HOST=", "GCE_METADATA_IP=", "GCE_METADATA_ROOT="}) {
    variables.push_back(name + std::string(url));
  }
  return variables;
}

bool Role::IsFor(std::string_view path) {
  return path == kAwsPath || path.empty() || path == "/" || path.starts_with(kGooglePath);
}

HttpAnswer Role::Answer(const HttpRequest& request, std::int64_t now_s) const {
  if (!is_set()) return HttpProblem(404, "the job has no role");
  if (request.method != "GET") return HttpProblem(405, "use GET");
  if (!token_.empty()) return GoogleAnswer(request.path, now_s);
  if (request.path != kAwsPath) return HttpProblem(404, "the job has no role of Google");
  return {200, document_};
}

HttpAnswer Role::GoogleAnswer(std::string_view path, std::int64_t now_s) const {
  if (path.empty() || path == "/") return TextOfGoogle("computeMetadata/\n");
  if (!CutPrefix(path, kGooglePath)) return HttpProblem(404, "the job has no role of AWS");
  if (path == "project/project-id") {
    const std::size_t at = email_.find('@') + 1;
    return TextOfGoogle(email_.substr(at, email_.find('.', at) - at));
  }
  const bool is_account = CutPrefix(path, "instance/service-accounts/") &&
                          (CutPrefix(path, "default/") || CutPrefix(path, email_ + "/"));
  if (is_account && path == "email") return TextOfGoogle(email_);
  if (is_account && path == "scopes") return TextOfGoogle(kScope);
  if (is_account && path.empty()) {
    return JsonOfGoogle(R"({"aliases":["default"],"email":)" + frame::JsonText(email_) +
                        R"(,"scopes":[)" + frame::JsonText(kScope) + "]}");
  }
  if (!is_account || path != "token") return HttpProblem(404, "init does not know it");
  const std::int64_t left =
      std::max<std::int64_t>(static_cast<std::int64_t>(expires_s_) - now_s, 0);
  return JsonOfGoogle(R"({"access_token":)" + frame::JsonText(token_) + R"(,"expires_in":)" +
                      std::to_string(left) + R"(,"token_type":"Bearer"})");
}

bool NamesOtherKeys(std::string_view variable) {
  return std::find(kOtherKeys.begin(), kOtherKeys.end(), variable) != kOtherKeys.end();
}

}  // namespace tidemill::init
