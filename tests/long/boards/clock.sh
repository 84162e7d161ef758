#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command with the clock of the board that it is on: clock.sh FOLDER COMMAND [ARGUMENTS...]. FOLDER has a file for each board whose clock
# is wrong, named like the board, which says what the clock shows, as libfaketime takes it. It is read again and again, so the clock can jump.
folder=$1
shift
clock=$folder/$(hostname)
if [ -f "$clock" ]; then
  for library in /usr/lib/*/faketime/libfaketimeMT.so.1; do export LD_PRELOAD="$library"; done
  # Time since the start is right on such a board, too.
  export FAKETIME_TIMESTAMP_FILE="$clock" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1
fi
exec "$@"
