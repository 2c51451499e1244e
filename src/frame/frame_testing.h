// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "frame/frame.h"

namespace tidemill::frame {

inline std::string PayloadOf(const std::string& frame) { return frame.substr(kHeaderBytes); }

}  // namespace tidemill::frame
