# SPDX-License-Identifier: Apache-2.0
# cmake -DLIST=file -DOUT=file.cc -P: writes the SQL files that LIST names, one a line, into a
# C++ source that defines kMigrations and kMigrationCount.
set(piece_bytes_max 12000)  # some compilers stop at 16 KB a literal
set(begin "R\"tidemill_sql(")
set(end ")tidemill_sql\"")

file(STRINGS ${LIST} files)
set(rows "")
set(count 0)
foreach(file IN LISTS files)
  get_filename_component(base ${file} NAME_WE)
  string(REGEX MATCH "^0*([0-9]+)_(.*)$" ignored ${base})
  set(number ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_2})
  file(READ ${file} sql)
  string(FIND "${sql}" "${end}" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${file} holds ${end}")
  endif()
  set(literals "")
  string(LENGTH "${sql}" left)
  while(left GREATER piece_bytes_max)
    string(SUBSTRING "${sql}" 0 ${piece_bytes_max} piece)
    string(FIND "${piece}" "\n" cut REVERSE)
    if(cut EQUAL -1)
      message(FATAL_ERROR "${file} has a line of more than ${piece_bytes_max} bytes")
    endif()
    math(EXPR cut "${cut} + 1")
    string(SUBSTRING "${sql}" 0 ${cut} piece)
    string(SUBSTRING "${sql}" ${cut} -1 sql)
    string(APPEND literals "\n${begin}${piece}${end}")
    string(LENGTH "${sql}" left)
  endwhile()
  string(APPEND literals "\n${begin}${sql}${end}")
  string(APPEND rows "    {${number}, \"${name}\",${literals}},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE ${OUT} "// Generated from the .sql files; do not edit.
#include \"store/postgres/migrations.h\"

namespace tidemill {

const Migration kMigrations[] = {
${rows}};
const int kMigrationCount = ${count};

}  // namespace tidemill
")
