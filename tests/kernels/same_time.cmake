# The estimate of a call is the same whether matrix products are made exactly, quickly or not at all.
#   cmake -DTOOL=... "-DCALL=gemm n=64 --m 5" -P same_time.cmake
separate_arguments(_call UNIX_COMMAND "${CALL}")
foreach(_products none fast exact)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env FLYDSL_EMULATOR_MATRIX=${_products} "${TOOL}" time ${_call}
    RESULT_VARIABLE _result OUTPUT_VARIABLE _output ERROR_VARIABLE _error)
  if(NOT _result EQUAL 0 OR NOT _output MATCHES "[0-9]+[.][0-9]+ +[0-9]+  ")
    message(FATAL_ERROR "${_products}: ${_output}${_error}")
  endif()
  if(NOT DEFINED _first)
    set(_first "${_output}")
  elseif(NOT _output STREQUAL _first)
    message(FATAL_ERROR "without products ${_first}and ${_products} ${_output}")
  endif()
endforeach()
# What the tool does by itself is to leave them out.
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=FLYDSL_EMULATOR_MATRIX "${TOOL}" time ${_call} OUTPUT_VARIABLE _output)
if(NOT _output STREQUAL _first)
  message(FATAL_ERROR "without products ${_first}and by itself ${_output}")
endif()
