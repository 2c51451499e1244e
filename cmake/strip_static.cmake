# SPDX-License-Identifier: Apache-2.0
# Copies the program FROM to TO without its symbols, with STRIP and READELF. One that needs a
# dynamic linker is an error: the wheel says that its programs run on any Linux.
execute_process(COMMAND ${READELF} --program-headers --wide ${FROM}
  OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
if(headers MATCHES "INTERP")
  message(FATAL_ERROR "${FROM} is not static; tidemill-server needs postgresql-server-dev-15")
endif()
get_filename_component(folder ${TO} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${STRIP} -o ${TO} ${FROM} COMMAND_ERROR_IS_FATAL ANY)
