// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// A container on a machine of the fleet, held for somebody who works in it. The machine costs as
// long as it is held, so whatever holds it ends by itself when nobody is there any more. All are
// words for /bin/sh, which is all that they need of an image.
namespace tidemill {

// How long it is held without anybody: a connection that broke comes back before, and a lid that
// was shut over the weekend does not.
inline constexpr int kHeldSeconds = 600;

// Waits, until nobody has kept it for so long.
std::vector<std::string> HoldWords(int seconds = kHeldSeconds);
// Keeps it for as long as this runs in the same container.
std::vector<std::string> KeepWords();

// Jupyter, for the container's loopback alone and with `folder` as its own, in the place of
// HoldWords: begins as soon as it is told its token, and ends when nothing was done in it for
// `idle_seconds`, and no kernel was busy.
std::vector<std::string> HeldJupyterWords(const std::string& folder, int idle_seconds);
// Tells it the token, which it reads from its standard input.
std::vector<std::string> TellTokenWords();

}  // namespace tidemill
