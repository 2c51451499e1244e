# SPDX-License-Identifier: Apache-2.0
# Compiles for aarch64 on another machine, with Debian's cross compiler and the libraries that
# tools/aarch64 fetches. Only static programs come out of it: their tests are not run.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(cache "$ENV{XDG_CACHE_HOME}")
if(NOT cache)
  set(cache "$ENV{HOME}/.cache")
endif()
set(root ${cache}/tidemill/aarch64)
if(NOT EXISTS ${root}/complete)
  message(FATAL_ERROR "no libraries for aarch64 in ${root}: run tools/aarch64 first")
endif()
set(CMAKE_FIND_ROOT_PATH ${root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# The compiler's own C library stays in front of theirs.
set(CMAKE_CXX_FLAGS_INIT
  "-isystem ${root}/usr/include -isystem ${root}/usr/include/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${root}/usr/lib/aarch64-linux-gnu")
