// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/zstd_stream.h"

namespace tidemill::cli {

// What is in the gzip file that `from` gives, piece by piece; several behind each other are one.
// kInvalid: it is no such file, or it ends too early.
ByteRead Gunzip(ByteRead from);

}  // namespace tidemill::cli
