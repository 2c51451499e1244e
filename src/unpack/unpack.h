// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/zstd_stream.h"
#include "unpack/names.h"

namespace tidemill {

// Unpacks a tar archive that zstd has packed, made by anybody, into a folder that is there, empty,
// and nobody else's. Nothing outside of it is touched, whatever the archive says; on an error what
// was written stays for the caller to remove. Files become readable by all and writable by nobody,
// their owner is who runs this. Gives how many bytes the files have. Blocks; any thread.
//
// kInvalid: the archive is wrong, or more than the limits allow. kExhausted: the disk is full.
Result<std::int64_t> UnpackTarZstd(ByteRead packed, const std::string& folder,
                                   const UnpackLimits& limits = {});

// Removes a folder that was so unpacked, whole or not. Blocks; any thread.
void RemoveUnpacked(const std::string& folder);

}  // namespace tidemill
