// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

// What the clouds say of keys and tokens. Their answers grow: what is not needed is passed over.
// All give kInvalid for what is not as it should be; the reason shows nothing of the answer, which
// is a secret.
namespace tidemill {

// As 2026-05-01T12:03:44Z, with a fraction or without, in milliseconds since 1970.
std::optional<std::int64_t> ParseCloudTime(std::string_view text);

// From a container's endpoint or the instance metadata of AWS.
struct AwsKeysAnswer {
  std::string id;
  std::string secret;
  std::string token;
  std::optional<std::int64_t> expires_ms;
};
Result<AwsKeysAnswer> ParseAwsKeys(std::string_view body);

// GetAuthorizationToken of ECR.
struct EcrTokenAnswer {
  std::string token;  // base64 of user and password
  std::int64_t expires_ms = 0;
};
Result<EcrTokenAnswer> ParseEcrToken(std::string_view body);
// What one of AWS's services says is wrong: "AccessDeniedException: not authorized". The body's
// beginning if it is not of that form.
std::string AwsJsonMessage(std::string_view body);

// From Google's metadata server, or for an assertion.
struct GoogleTokenAnswer {
  std::string token;
  std::int64_t lasts_s = 0;
};
Result<GoogleTokenAnswer> ParseGoogleToken(std::string_view body);
// What Google says is wrong, with the code of OAuth if it has one.
std::string GoogleMessage(std::string_view body);

// A file of Google's with keys.
struct GoogleKeyFile {
  std::string type;  // "service_account" or "authorized_user"; others are not understood
  // Of a service account.
  std::string email;
  std::string private_key;  // PEM
  std::string private_key_id;
  std::string token_uri;
  // Of a person.
  std::string client_id;
  std::string client_secret;
  std::string refresh_token;
};
Result<GoogleKeyFile> ParseGoogleKeyFile(std::string_view text);

// When EC2 takes a spot machine away, in milliseconds since 1970: {"action":"terminate","time":..}.
Result<std::int64_t> ParseSpotAction(std::string_view body);
// The body of deleteInstances of a managed instance group.
std::string FormatDeleteInstances(std::string_view instance);

// The two parts of a JSON Web Token that are signed.
struct GoogleClaims {
  std::string email;
  std::string scope;
  std::string audience;
  std::int64_t from_s = 0;
  std::int64_t until_s = 0;
};
std::string FormatGoogleClaims(const GoogleClaims& claims);
std::string FormatRs256Header(std::string_view key_id);

}  // namespace tidemill
