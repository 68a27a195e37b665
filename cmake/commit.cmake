cmake_minimum_required(VERSION 3.25)
# Writes the commit of SOURCE as a C++ string into FILE; "unknown" outside a checkout.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT "\"@commit@\"\n" @ONLY)
