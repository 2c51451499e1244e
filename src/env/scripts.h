// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// Programs in Python that run while an image is built, and are not in it.
namespace tidemill {

// `resolve.py FILE`: what a list of packages means, a pin of pip's a line. Of the standard library,
// and pip.
std::string_view PipScript();

// `conda.py resolve FILE`: what a conda file means, as a lock of rattler's with pip's pins as
// comments. `conda.py build LOCK`: installs just that. With py-rattler, which is to conda's
// packages what pip is to Python's.
std::string_view CondaScript();

}  // namespace tidemill
