# SPDX-License-Identifier: Apache-2.0
# cmake -D OUT=<file> -D "PARTS=<file> <file> ..." -P parts.cmake: a source that holds these files as strings (parts.h).
separate_arguments(PARTS)
set(text "// Made of parts/*.inc by parts.cmake.\nnamespace shoal::convert::cpp {\nextern const char* const kPartFiles[];\nextern const int kPartFileCount;\nconst char* const kPartFiles[] = {\n")
foreach(part IN LISTS PARTS)
  file(READ ${part} content)
  string(APPEND text "R\"part(${content})part\",\n")
endforeach()
list(LENGTH PARTS count)
string(APPEND text "};\nconst int kPartFileCount = ${count};\n}\n")
file(WRITE ${OUT} "${text}")
