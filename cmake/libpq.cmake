# SPDX-License-Identifier: Apache-2.0
# The target `libpq`: Debian's shared library, or in a program that is linked with -static (one
# with the property TIDEMILL_STATIC) its static one and what that needs. TIDEMILL_STATIC_LIBPQ says
# whether the static one can be had: two parts of it are in the package postgresql-server-dev-15.
find_package(PostgreSQL REQUIRED)

find_library(TIDEMILL_LIBPQ_A libpq.a)
string(REGEX MATCH "^[0-9]+" version "${PostgreSQL_VERSION_STRING}")
foreach(part pgcommon_shlib pgport_shlib)
  find_library(TIDEMILL_LIB_${part} lib${part}.a PATHS /usr/lib/postgresql/${version}/lib)
  list(APPEND parts ${TIDEMILL_LIB_${part}})
endforeach()

set(TIDEMILL_STATIC_LIBPQ OFF)
if(TIDEMILL_LIBPQ_A AND TIDEMILL_LIB_pgcommon_shlib AND TIDEMILL_LIB_pgport_shlib)
  set(TIDEMILL_STATIC_LIBPQ ON)
else()
  message(STATUS "tidemill-server is not static: postgresql-server-dev-${version} is missing")
endif()

# Debian has no static libraries of Kerberos and LDAP, which its libpq refers to.
add_library(libpq_absent STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/libpq_absent.cc)
add_library(libpq_static INTERFACE)
target_link_libraries(libpq_static INTERFACE ${TIDEMILL_LIBPQ_A} ${parts} libpq_absent ssl crypto)

add_library(libpq INTERFACE)
target_include_directories(libpq INTERFACE ${PostgreSQL_INCLUDE_DIRS})
set(is_static $<BOOL:$<TARGET_PROPERTY:TIDEMILL_STATIC>>)
target_link_libraries(libpq INTERFACE
  $<${is_static}:libpq_static> $<$<NOT:${is_static}>:PostgreSQL::PostgreSQL>)
