// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/device.h"
#include "wire/json.h"

namespace tidemill::json {

// Kinds of devices: how many of each, or {"count":1,"model":"A10G","memory":"20GiB",
// "version":"12.2"}, or {"ids":["0","2"]}, or "all", which is at least one and the machine to
// oneself. None if the field is absent.
Result<Devices> ReadDevices(const Fields& fields, std::string_view name, Whole count);

// {"nvidia.com/gpu":2}
std::string DevicesText(const Devices& devices);

}  // namespace tidemill::json
