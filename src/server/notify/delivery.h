// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/http.h"
#include "store/notify_store.h"

// What is sent to a receiver, and what its answer means: values in, values out.
namespace tidemill {

// "t=1700000000,v1=HEX": who has the secret sees that nobody else wrote the body, and when.
std::string SignatureOf(const std::string& secret, std::int64_t unix_s, const std::string& body);

// The call of a try. `secret` is the value; nothing: it is not signed.
HttpCall CallOf(const DueNotification& due, const std::string& target,
                const std::optional<std::string>& secret, std::int64_t unix_s);

// What became of a try: delivered by any 2xx; else it is tried again after 1 s, 2 s, 4 s and so on,
// at most an hour, and given up after 20 tries or 24 hours. What may not be called is given up at
// once.
TryEnd EndOf(const DueNotification& due, const Result<HttpResponse>& answer);

}  // namespace tidemill
